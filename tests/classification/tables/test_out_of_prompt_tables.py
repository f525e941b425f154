"""Tables 5, 15 and 16: counted by hand on a small run, by label category."""

import pytest
from msgspec import structs
from msgspec.structs import replace

from eyechart.errors import ReportError
from eyechart.reports.tables.registry import tables

# Images of S+, S- and N: Wrong, Abstain and, since "ferret" is in "black-footed ferret", Partial.
OUTSIDE = {0: "a beast", 2: "I don't know", 11: "ferret"}
MAPPED = {"a beast": 356, "I don't know": 7, "ferret": 359}


@pytest.fixture
def asked(session):
    """A closed world with three answers out of the prompt, one of which CW+ maps rightly besides N's."""
    made = session()
    made.closed_world(made.right(OUTSIDE))
    made.closed_world_plus(made.right(OUTSIDE), MAPPED)
    return made


def test_table_5_has_the_rate_of_each_category(asked):
    (row,) = asked.rows("T5")
    shown = [row[cell] for cell in ("A", "S", "S+", "S-", "M", "M+", "M-", "N")]
    assert shown == ["16.67", "16.67", "10.00", "50.00", "0.00", "0.00", "0.00", "50.00"]
    assert (row["Model"], row["A n"], row["S n"]) == ("hf[toybox-mllm]", "18", "12")
    assert float(row["A low"]) < 16.67 < float(row["A high"])


def test_table_15_counts_and_maps(asked):
    rows = {row["Category"]: row for row in asked.rows("T15")}
    counts = {name: (row["Images"], row["OOP #"], row["mapped #"]) for name, row in rows.items()}
    assert counts == {
        "A": ("18", "3", "2"), "S": ("12", "2", "1"), "S+": ("10", "1", "1"), "S-": ("2", "1", "0"),
        "M": ("4", "0", "0"), "M+": ("2", "0", "0"), "M-": ("2", "0", "0"), "N": ("2", "1", ""),
    }  # fmt: skip
    assert (rows["A"]["OOP %"], rows["A"]["mapped %"], rows["N"]["mapped %"]) == ("16.67", "66.67", "")


def test_table_16_has_the_kinds(asked):
    (row,) = asked.rows("T16")
    assert [row[kind] for kind in ("Partial", "IN", "Abstain", "Wrong")] == ["33.33", "0.00", "33.33", "33.33"]
    assert row["OOP"] == "3"
    assert float(row["Wrong low"]) < 33.33 < float(row["Wrong high"])


def test_table_16_says_which_names_it_needs(asked):
    assert "IN needs class names" not in asked.notes("T16")
    asked.records[:] = [
        structs.replace(record, variant={**record.variant, "names": "mill (e55fe991)"}) for record in asked.records
    ]
    assert "IN needs class names that differ from OpenAI's, as the published ones: --eye-names=kisel." in asked.notes(
        "T16"
    )


def test_the_tables_have_the_numbers_of_the_records(asked):
    closed, plus = asked.records
    (rates,), (kinds,) = asked.rows("T5"), asked.rows("T16")
    shown = {"oop": rates["A"], "oop_partial": kinds["Partial"], "oop_wrong": kinds["Wrong"]}
    found = {m.name: m.value for m in closed.metrics if (m.labels, m.subset_text) == ("ReGT", "all")}
    assert shown == {name: f"{100 * found[name]:.2f}" for name in shown}
    (mapped,) = [m for m in plus.metrics if m.printed_key == ("oop_mapped", "ReGT", "all")]
    assert f"{100 * mapped.value:.2f}" == asked.rows("T15")[0]["mapped %"]


def test_an_error_is_no_answer_and_an_unread_one_is_in_no_way_outside(session):
    made = session()
    made.closed_world(made.right(OUTSIDE), errors={3: "refused"})
    (row,) = made.rows("T5")
    assert (row["A"], row["A n"], row["S+ n"]) == ("17.65", "17", "9")  # 3 of 17


def test_the_model_with_the_fewest_outside_comes_first(session):
    made = session()
    made.closed_world(made.right(OUTSIDE))
    made.closed_world(made.right({0: "a beast"}), model="hf[other]")
    assert [row["Model"] for row in made.rows("T5")] == ["hf[other]", "hf[toybox-mllm]"]
    assert [row["Model"] for row in made.rows("T16")] == ["hf[other]", "hf[toybox-mllm]"]


def test_several_ways_of_asking_are_told_apart(session):
    made = session()
    made.closed_world(made.right(OUTSIDE))
    made.closed_world(made.right(), images_per_request="5")
    assert [row["Model"] for row in made.rows("T5")] == ["hf[toybox-mllm], CW (a)", "hf[toybox-mllm], CW (b)"]
    assert "CW (b): answer name" in made.notes("T5")


def test_of_several_encoders_table_15_takes_the_best(asked):
    asked.closed_world_plus(asked.right(OUTSIDE), MAPPED | {"I don't know": 357}, text_encoder="sentence[other]")
    rows = {row["Category"]: row for row in asked.rows("T15")}
    assert (rows["A"]["mapped #"], rows["S-"]["mapped #"]) == ("3", "1")
    assert "text_encoder sentence[other]" in asked.notes("T15")


def test_table_15_shows_what_was_mapped_and_says_what_was_not(asked):
    asked.closed_world(asked.right(), images_per_request="5")
    assert len(asked.rows("T15")) == 8
    assert (
        "Not mapped: imagenet/val/hf[toybox-mllm]@images_per_request=5. Map them with: pytest -k closed_world_plus"
        in asked.notes("T15")
    )


def test_table_15_without_any_mapping_has_dashes(session):
    made = session()
    made.closed_world(made.right(OUTSIDE))
    assert {row["mapped #"] for row in made.rows("T15")} == {""}
    assert made.rows("T15")[0]["OOP #"] == "3"


def test_under_the_original_labels_alone_there_is_a_table_all_the_same(session):
    made = session(labels=("ImGT",))
    made.closed_world(made.right(OUTSIDE))
    (row,) = made.rows("T5")
    assert (row["labels"], row["A"], row["S-"]) == ("ImGT", "16.67", "")


def test_what_the_numbers_rest_on_stands_beneath(asked):
    for name in ("T5", "T15", "T16"):
        said = asked.notes(name)
        assert "parser lenient, parser_version json_answers 2, prompt closed_world_json (0123abcd)" in said
        assert "Label sets, and images without labels: ImGT" in said
    assert "count as correct under ReGT" in asked.notes("T15")


@pytest.mark.parametrize("name", ["T5", "T15", "T16"])
def test_without_a_closed_world_the_remedy_is_told(session, name):
    made = session()
    made.open_world(made.right())
    with pytest.raises(ReportError, match=rf"{name} needs .*open_world under ImGT, ReGT\. .*pytest -k closed_world"):
        tables(name, made.pool())


def test_answers_without_the_column_are_refused(session):
    made = session()
    made.classifier(made.right())
    made.records = [replace(made.records[0], protocol="closed_world")]
    with pytest.raises(ReportError, match=r"has no column out_of_prompt, .*\. Run the case again"):
        tables("T5", made.pool())

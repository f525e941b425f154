"""Table 6, and which of a model's answers in words stand in Table 4 and Figures 3 and 9."""

import pytest

from eyechart.errors import ReportError
from eyechart.reports.tables.registry import tables
from eyechart.reports.tables.render import to_markdown


def test_table_6_has_each_protocol_with_its_change_from_closed_world(text_protocols):
    rows = {row["Protocol"]: row for row in text_protocols.rows("T6")}
    assert list(rows) == ["OW", "CW+", "CW"]
    assert [row["A"] for row in rows.values()] == ["88.24", "94.12", "88.24"]  # 15, 16 and 15 of 17
    assert [row["A Δ"] for row in rows.values()] == ["+0.0", "+5.9", ""]
    assert [rows["OW"][f"{cell} Δ"] for cell in ("S+", "S-", "M-")] == ["+0.0", "+50.0", "-50.0"]


def test_the_changes_of_table_6_are_paired(text_protocols):
    rows = {row["Protocol"]: row for row in text_protocols.rows("T6")}
    assert (rows["CW+"]["A Δ n"], rows["CW+"]["ImGT Δ n"]) == ("17", "17")
    low, high = (float(rows["CW+"][f"A Δ {end}"]) for end in ("low", "high"))
    assert low < 5.9 < high
    assert (rows["CW+"]["ImGT"], rows["CW+"]["ImGT Δ"]) == ("70.59", "+5.9")  # 11 and 12 of 17


def test_table_6_puts_weak_models_first_and_one_without_closed_world_has_no_change(text_protocols):
    text_protocols.open_world([7] * 18, model="hf[caption]")
    rows = text_protocols.rows("T6")
    assert [row["Model"] for row in rows] == ["hf[caption]"] + ["hf[toybox-mllm]"] * 3
    assert rows[0]["A Δ"] == ""


def test_table_6_shows_the_best_encoder_and_says_so(text_protocols):
    text_protocols.open_world(text_protocols.right(), text_encoder="sentence[other]", text_templates="80")
    rows = {row["Protocol"]: row for row in text_protocols.rows("T6")}
    assert (len(rows), rows["OW"]["A"]) == (3, "100.00")
    assert "text_encoder sentence[other]" in text_protocols.notes("T6")
    assert "the most accurate under ReGT is shown" in text_protocols.notes("T6")


def test_table_6_compares_what_was_asked_alike(text_protocols):
    text_protocols.open_world(text_protocols.right(), images_per_request="10")
    text_protocols.closed_world(text_protocols.right({0: 7}), images_per_request="10")
    text_protocols.closed_world(text_protocols.right(), images_per_request="5")  # alone of its kind
    changes = [(row["Protocol"], row["A Δ"]) for row in text_protocols.rows("T6")]
    assert [change for _, change in changes] == ["+0.0", "+5.9", "", "+5.9", ""]
    assert [task[:2] for task, _ in changes] == ["OW", "CW", "CW", "OW", "CW"]


def test_table_6_under_the_original_labels_alone(session):
    made = session(labels=("ImGT",))
    made.closed_world(made.right())
    made.open_world(made.right({0: 7}))
    ow, cw = made.rows("T6")
    assert (ow["ImGT"], ow["ImGT Δ"], cw["ImGT"]) == ("64.71", "-5.9", "70.59")
    assert "A" not in ow


def test_what_table_6_rests_on_stands_beneath(text_protocols):
    said = text_protocols.notes("T6")
    assert "CW: answer name, epochs 1, image_order random, images_per_request 1" in said
    assert "parser_version json_answers 2" in said
    assert "Bonett and Price for Δ" in said


def test_one_protocol_alone_is_refused_with_the_remedy(session):
    made = session()
    made.closed_world(made.right())
    with pytest.raises(ReportError, match=r'closed_world under ImGT, ReGT\. .*pytest -k "closed_world or open_world"'):
        tables("T6", made.pool())


def test_means_over_repeats_stand_in_no_table_of_single_answers(session):
    made = session()
    made.multiple_choice("original+random", [made.right(), made.right({0: 7})])
    for name in ("T2", "T4", "F3", "F9"):
        with pytest.raises(ReportError, match=name):
            tables(name, made.pool())


def test_mills_table_names_the_protocol(text_protocols):
    text_protocols.mcq(text_protocols.right())
    written = "".join(map(to_markdown, tables("mill-imagenet", text_protocols.pool())))
    for task in ("(CW)", "(CW+)", "(OW)", "(MCQ)"):
        assert f"hf[toybox-mllm] {task}" in written.replace("\\", "")

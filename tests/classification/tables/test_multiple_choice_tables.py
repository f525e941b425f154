"""Tables 7, 19 and 17: means over repeats with Student's interval, in the published order."""

import pytest

from eyechart.classification.protocols.multiple_choice import CLOSED_WORLD, SETTINGS
from eyechart.errors import ReportError
from eyechart.reports.overview.write_overview import overview_tables as overview
from eyechart.reports.tables.registry import tables
from eyechart.reports.tables.render import to_markdown
from eyechart.statistics.intervals import t_interval

ROWS = [*SETTINGS, f"{CLOSED_WORLD} (CW)"]
CELLS = ("ImGT", "A", "S", "S+", "S-", "M", "M+", "M-")


def ask_every_setting(made):
    """Every setting with two repeats, one of them with a wrong answer on S+, and a closed world, wrong on S-."""
    for setting in reversed(SETTINGS):
        made.multiple_choice(setting, [made.right(), made.right({0: 7})])
    made.closed_world(made.right({2: 7}))
    return made


@pytest.fixture(scope="module")
def asked(module_session):
    """These answers, which tests share."""
    return ask_every_setting(module_session())


@pytest.fixture
def growing(session):
    """The same, to which a test adds others."""
    return ask_every_setting(session())


def test_repeats_alone_are_no_part_of_mills_table(session):
    made = session()
    made.multiple_choice("ImGT + random", [made.right(), made.right()])
    with pytest.raises(ReportError, match="mill-imagenet needs one answer an image about the benchmark imagenet"):
        tables("mill-imagenet", made.pool())
    assert [table.title.partition(": ")[2] for table in overview(made.pool())][-2:] == ["outcomes", "every metric"]


def test_table_19_has_the_settings_in_the_published_order(asked):
    assert [row["Distractors"] for row in asked.rows("T19")] == ROWS


def test_table_7_leaves_out_neighbours_in_text_space(asked):
    assert [row["Distractors"] for row in asked.rows("T7")] == [row for row in ROWS if "BERT" not in row]


def test_a_setting_is_written_as_it_is_published_however_it_was_typed(session):
    made = session()
    made.multiple_choice("second+text", [made.right(), made.right()])
    assert made.rows("T19")[0]["Distractors"] == "ReGT + confBERT(ReGT)"
    assert "ReGT + confBERT(ReGT): text_encoder sentence[minilm]" in made.notes("T19")
    assert "Not in these runs: ImGT + random; " in made.notes("T19")


def test_a_mean_stands_with_students_interval(asked):
    row = asked.rows("T19")[0]
    low, high = t_interval([1, 16 / 17])
    assert [row[name] for name in ("A", "A n", "A low", "A high")] == [
        "97.06", "17", f"{100 * low:.2f}", f"{100 * high:.2f}"
    ]  # fmt: skip
    assert (row["S+"], row["M"]) == ("95.00", "100.00")
    written = to_markdown(tables("T19", asked.pool())[0])
    assert f"97.06 ±{50 * (high - low):.2f}" in written


def test_the_last_row_is_closed_world_with_wilsons_interval(asked):
    row = asked.rows("T19")[-1]
    assert [row[cell] for cell in CELLS] == [
        "70.59", "94.12", "91.67", "100.00", "50.00", "100.00", "100.00", "100.00"
    ]  # fmt: skip
    line = next(line for line in to_markdown(tables("T19", asked.pool())[0]).splitlines() if "999" in line)
    assert "94.12 [73.02, 98.95]" in line
    assert "ImGT + 999 is the closed world, answer name" in asked.notes("T19")


@pytest.mark.deep
def test_a_repeated_closed_world_is_preferred_and_table_7_shows_the_model_with_the_best_one(growing):
    growing.evaluations([growing.right(), growing.right({0: "a beast"})])
    assert growing.rows("T19")[-1]["A"] == "97.06"
    assert len(growing.rows("T19")) == 8
    for setting in SETTINGS:
        growing.multiple_choice(setting, [growing.right()] * 2, model="hf[other]")
    growing.closed_world(growing.right({0: 7, 1: 7}), model="hf[other]")
    assert {row["Model"] for row in growing.rows("T7")} == {"hf[toybox-mllm]"}
    assert "T19 has 2" in growing.notes("T7")
    assert [row["Model"] for row in growing.rows("T19")] == ["hf[other]"] * 8 + ["hf[toybox-mllm]"] * 8


def test_without_a_closed_world_the_settings_stand_alone(session):
    made = session()
    made.multiple_choice("original+random", [made.right(), made.right()])
    (row,) = made.rows("T19")
    assert (row["A"], row["A low"]) == ("100.00", "100.00")


def test_one_ground_truth_is_chosen(asked):
    assert {row["labels"] for row in asked.rows("T19", "ImGT")} == {"ImGT"}
    assert "A" not in asked.rows("T19", "ImGT")[0]


@pytest.mark.parametrize("name", ["T7", "T19"])
def test_without_multiple_choice_the_remedy_is_told(session, name):
    made = session()
    made.closed_world(made.right())
    remedy = rf'{name} compares settings .*pytest -k "multiple_choice or closed_world" --eye-set=multiple_choice.set'
    with pytest.raises(ReportError, match=remedy):
        tables(name, made.pool())


def test_table_17_has_the_mean_accuracies_and_the_mean_count_out_of_the_prompt(session):
    made = session()
    made.evaluations(
        [made.right(), made.right({0: "a beast"}), made.right({0: "a beast", 1: "it"})], images_per_request="10"
    )
    (row,) = made.rows("T17")
    assert (row["Batch"], row["A"], row["S+"], row["OOP"], row["OOP n"]) == ("10", "94.12", "90.00", "1.00", "17")
    low, high = t_interval([0, 1, 2])
    assert (row["OOP low"], row["OOP high"]) == (f"{low:.2f}", f"{high:.2f}")
    assert "epochs 3, image_order random, images_per_request 10" in made.notes("T17")


def test_a_single_evaluation_makes_no_table_17(session):
    made = session()
    made.closed_world(made.right())
    with pytest.raises(ReportError, match=r"pytest -k closed_world --eye-set=closed_world.epochs=31"):
        tables("T17", made.pool())

"""Answers come back, are checked against their key, and become the four outcomes of Figure 7."""

import csv
import re
from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from pathlib import Path
from runpy import run_path
from typing import Any
from xml.etree import ElementTree

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.classification.tables.annotation_outcomes import (
    ANNOTATION_OUTCOMES,
    OUTCOMES,
    count_outcomes,
)
from eyechart.cli import main
from eyechart.errors import ReportError
from eyechart.reports.annotation.answer_files import AnnotatorChoice, Candidate, CategoryCounts, Item
from eyechart.reports.figures.registry import figure_drawers, matplotlib_defaults
from eyechart.reports.runs import CaseRun, Runs, load
from eyechart.reports.tables.registry import tables
from eyechart.reports.tables.render import to_latex

SINGLE = {f"s{index}": "single_label_other" for index in range(10)}
SEVERAL = {f"m{index}": "multi_label_other" for index in range(6)}
# Classes by what they are to the picture: the model's m, the labels' l and k, the original o, the second model's s.
CHOSEN = {
    "s0": "m", "s1": "m", "s2": "mo", "s3": "ms", "s4": "l", "s5": "l", "s6": "lo", "s7": "ml", "s8": "mlos", "s9": "",
    "m0": "m", "m1": "lk", "m2": "k", "m3": "mk", "m4": "s",
}  # fmt: skip
# By hand: images, disputed, answered, preferred, preserved, combined, other, and their two sums.
COUNTS = {"S-": [11, 10, 10, 4, 3, 2, 1, 6, 5], "M-": [6, 6, 5, 1, 2, 1, 1, 2, 2]}
# Wilson's 95 % interval of 4, 3, 2 and 1 of 10, as tables of it have them.
INTERVALS = {
    "preferred": ("40.00", "16.82", "68.73"),
    "preserved": ("30.00", "10.78", "60.32"),
    "combined": ("20.00", "5.67", "50.98"),
    "other": ("10.00", "1.79", "40.42"),
}


@pytest.fixture
def second_pass(make_shot_world: Any, shot: Any) -> Any:
    """Ten disputed images with one label and six with two, and one where the model agrees."""
    shots = {name: shot(n, (n + 200,), n + 400, n + 600) for n, name in enumerate(SINGLE)}
    shots |= {name: shot(n, (n + 200, n + 800), n + 400, n + 600) for n, name in enumerate(SEVERAL, 100)}
    return make_shot_world(shots | {"agrees": shot(150, (350,), 350, 1)})


@pytest.fixture
def table(second_pass: Any, capsys: pytest.CaptureFixture[str]) -> Any:
    """Make F7 of answers by hand and return the rows of its csv, or what is said where it is refused."""

    def table(*files: Path, run: Path | None = None, code: int = 0, more: tuple[str, ...] = ()) -> Any:
        options = [f"--annotations={path}" for path in files]
        assert main(["table", "F7", str(run or second_pass.run), "--format=csv", *options, *more]) == code
        output = capsys.readouterr()
        return (list(csv.DictReader(StringIO(output.out))), output.err) if code == 0 else output.err

    return table


def classes(world: Any) -> dict[str, list[int]]:
    """The classes that the annotator chose for each shot."""
    of = {name: dict(zip("omslk", (s.original, s.model, s.second, *s.labels), strict=False))
          for name, s in world.shots.items()}  # fmt: skip
    return {name: [of[name][letter] for letter in chosen] for name, chosen in CHOSEN.items()}


@pytest.fixture
def answers(second_pass: Any) -> Path:
    path: Path = second_pass.answer(second_pass.sheet(), classes(second_pass))
    return path


def row(rows: list[dict[str, str]], category: str, kind: str) -> dict[str, str]:
    (match,) = [row for row in rows if (row["Category"], row[""]) == (category, kind)]
    return match


@pytest.mark.parametrize("category", ["S-", "M-"])
def test_the_outcomes_are_those_counted_by_hand(table: Any, answers: Path, category: str) -> None:
    counts = row(table(answers)[0], category, "#")
    assert [int(counts[head]) for head in ANNOTATION_OUTCOMES.columns] == COUNTS[category]


@pytest.mark.parametrize("name", OUTCOMES)
def test_every_share_has_its_n_and_wilsons_interval(table: Any, answers: Path, name: str) -> None:
    shares = row(table(answers)[0], "S-", "%")
    assert shares[f"{name} n"] == "10"
    assert (shares[name], shares[f"{name} low"], shares[f"{name} high"]) == INTERVALS[name]


def test_the_disputed_images_are_a_share_of_their_category(table: Any, answers: Path) -> None:
    shares = row(table(answers)[0], "S-", "%")
    assert (shares["disputed"], shares["disputed n"], shares["answered"]) == ("90.91", "11", "100.00")


def test_the_table_is_that_of_the_golden_file(
    second_pass: Any, answers: Path, golden: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["table", "F7", str(second_pass.run), "--format=csv", f"--annotations={answers}"]) == 0
    golden.check("tests/annotation.json.gz", {"F7": {"csv": capsys.readouterr().out.split("\n")}})


def test_pictures_without_an_answer_are_left_out_and_said(table: Any, answers: Path) -> None:
    assert "answers.json: 15 of the sheet's 16 pictures are answered; the others are left out." in table(answers)[1]


def test_a_comment_alone_is_no_answer_but_is_mentioned(table: Any, second_pass: Any) -> None:
    answer = {"selected": [], "none": False, "comment": "blurred"}
    rows, notes = table(second_pass.answer(second_pass.sheet(), classes(second_pass) | {"m5": answer}))
    assert row(rows, "M-", "#")["answered"] == "5"
    assert "Pictures with a comment: 1;" in notes


def test_parts_are_counted_together(table: Any, second_pass: Any, answers: Path) -> None:
    sheets = [second_pass.sheet(f"part{k}", part=f"{k}/2") for k in (1, 2)]
    files = [second_pass.answer(sheet, classes(second_pass), f"{sheet.stem}.json") for sheet in sheets]
    assert table(*files)[0] == table(answers)[0]


def test_two_answers_to_one_image_are_refused(table: Any, answers: Path) -> None:
    other = answers.with_name("other.json")
    other.write_bytes(answers.read_bytes())
    error = table(answers, other, code=2)
    assert re.search(r"answers\.json and .*other\.json both answer the image n\d+/\d+\.png, of 15 in common\.", error)


def test_an_equivalent_of_the_models_class_stands_for_it(make_shot_world: Any) -> None:
    world = make_shot_world()
    sheet = world.sheet()
    item = world.key(sheet).items[world.named(sheet).index("equivalent classes")]
    index = [c.label for c in item.candidates].index(681)  # the model said 620
    count = CategoryCounts(category=item.category, images=1, valid=1, disputed=1)
    cells = count_outcomes([count], [(item, AnnotatorChoice(selected=(index + 1,)))])
    numbers = cells[cells[""] == "#"].set_index("column")["count"]
    assert numbers[[*OUTCOMES]].to_dict() == {"preferred": 1, "preserved": 0, "combined": 0, "other": 0}


ITEM = Item(
    key="a",
    category="single_label_other",
    candidates=tuple(
        Candidate(label=n, name=str(n), by=by)
        for n, by in enumerate([("model", "original"), ("labels",), ("labels", "second"), ("second",)])
    ),
)


@given(st.lists(st.sets(st.integers(1, 4)), max_size=20))
def test_the_four_outcomes_share_out_the_answered_images(chosen: list[set[int]]) -> None:
    answered = [(ITEM, AnnotatorChoice(selected=tuple(choice), none=not choice)) for choice in chosen]
    count = CategoryCounts(category="single_label_other", images=30, valid=25, disputed=20)
    cells = count_outcomes([count], answered)
    numbers = cells[cells[""] == "#"].set_index("column")["count"]
    assert sum(numbers[name] for name in OUTCOMES) == numbers["answered"] == len(chosen)
    assert numbers["preferred + combined"] == sum(1 in choice for choice in chosen)
    assert numbers["preferred + other"] == sum(not choice & {2, 3} for choice in chosen)


def test_no_answer_gives_no_share() -> None:
    cells = count_outcomes([CategoryCounts(category="single_label_other", images=0, valid=0, disputed=0)], [])
    shares = cells[cells[""] == "%"]
    assert shares["column"].tolist() == ["disputed", "answered", *OUTCOMES, "preferred + combined", "preferred + other"]
    assert (shares["value"].isna().all(), shares["n"].tolist()) == (True, [0] * 8)


BROKEN = {
    "no json": (b"{", "answers.json is not the answers to a sheet"),
    "other json": (b"[1]", "answers.json is not the answers to a sheet"),
    "later": (b'{"schema": 2, "sheet": "x", "answers": {}}', "answers.json has schema 2, expected 1."),
    "other sheet": (b'{"schema": 1, "sheet": "0123", "answers": {}}', "answers the sheet 0123, and none of the 1 keys"),
}


@pytest.mark.parametrize(("data", "sentence"), BROKEN.values(), ids=list(BROKEN))
def test_a_file_that_is_no_answer_to_the_sheet_is_refused(
    table: Any, answers: Path, data: bytes, sentence: str
) -> None:
    answers.write_bytes(data)
    assert sentence in table(answers, code=2)


WRONG = {
    "unknown": (
        {"17": {"selected": [1]}},
        "the answer to picture '17' is about no picture of the sheet, which has 1 to",
    ),
    "no number": ({"01": {"selected": [1]}}, "the answer to picture '01' is about no picture"),
    "not offered": ({"1": {"selected": [9]}}, "picture '1' chooses [9], expected different numbers from 1 to"),
    "twice": ({"1": {"selected": [1, 1]}}, "picture '1' chooses [1, 1], expected different numbers"),
    "both": ({"1": {"selected": [1], "none": True}}, "picture '1' chooses candidates and none of them at once"),
    "no list": ({"1": {"selected": "all"}}, "is not the answers to a sheet"),
}


@pytest.mark.parametrize(("wrong", "sentence"), WRONG.values(), ids=list(WRONG))
def test_an_answer_that_cannot_be_is_refused(table: Any, second_pass: Any, wrong: Any, sentence: str) -> None:
    file = second_pass.answer(second_pass.sheet(), {}, answers=wrong)
    error = table(file, code=2)
    assert sentence in error
    assert "Download the answers from the sheet again." in error


def test_the_key_may_lie_beside_the_answers_or_in_the_runs_reports(table: Any, second_pass: Any, answers: Path) -> None:
    reports = second_pass.run / "reports"
    reports.mkdir()
    (answers.parent / "sheet.key.json").rename(reports / "sheet.key.json")
    assert len(table(answers)[0]) == 4
    (reports / "sheet.key.json").rename(reports / "sheet.json")
    error = table(answers, code=2)
    assert "none of the 0 keys in" in error
    assert "Put the .key.json that was written with the sheet next to the answers." in error


def test_answers_about_another_run_are_refused(table: Any, answers: Path, run_folder: Path) -> None:
    error = table(answers, run=run_folder, code=2)
    assert "these runs do not hold them. Name the run that the sheet was made from." in error


def test_another_ground_truth_is_refused(table: Any, answers: Path) -> None:
    assert "--labels is 'ImGT', and the answers are about ReGT." in table(answers, code=2, more=("--labels=ImGT",))


def test_without_answers_the_way_to_them_is_told(table: Any) -> None:
    assert "Make it with: eyechart annotate" in table(code=2)


def test_the_table_comes_in_every_format(answers: Path, second_pass: Any, capsys: pytest.CaptureFixture[str]) -> None:
    for form, mark in (("md", "| S-       | % "), ("tex", r"\toprule")):
        assert main(["table", "F7", str(second_pass.run), f"--format={form}", f"--annotations={answers}"]) == 0
        assert mark in capsys.readouterr().out


@pytest.fixture
def named(second_pass: Any, answers: Path) -> Callable[[str], Runs]:
    """Return the run with the answers to its sheet, its model under another name."""

    def named(model: str) -> Runs:
        runs = load([second_pass.run])
        groups = tuple(replace(group, cases=tuple(renamed(e, model) for e in group.cases)) for group in runs.groups)
        return replace(runs, groups=groups, annotations=(answers,))

    return named


def renamed(case: CaseRun, model: str) -> CaseRun:
    """Return the entry with another name of its model."""
    record = msgspec.structs.replace(case.record, model=msgspec.structs.replace(case.record.model, spec=model))
    return replace(case, record=record)


LONG_NAME = "replay[path=/data/answers/of_another_server/model_a.csv,of=a]"


@pytest.mark.parametrize("model", ["timm[tf_efficientnet_lite0]", LONG_NAME])
def test_the_table_in_latex_fits_the_page(named: Callable[[str], Runs], tmp_path: Path, model: str) -> None:
    find_problems = run_path(str(Path(__file__).parents[2] / "typesetting.py"))["problems"]
    texts = [to_latex(table) for table in tables("F7", named(model))]
    assert find_problems(texts, tmp_path) == []


def test_the_figure_has_a_pie_a_category_with_counts_and_intervals(
    second_pass: Any, answers: Path, tmp_path: Path
) -> None:
    path = tmp_path / "f7.svg"
    assert main(["figure", "F7", str(second_pass.run), f"--annotations={answers}", f"--out={path}"]) == 0
    texts = [text.text or "" for text in ElementTree.parse(path).iter("{http://www.w3.org/2000/svg}text")]
    assert {"S-: 10 of 10 disputed images answered", "M-: 5 of 6 disputed images answered"} <= {*texts}
    assert "preferred: 40.00 [16.82, 68.73] %, n=4" in texts


@pytest.mark.parametrize("model", ["timm[tf_efficientnet_lite0]", LONG_NAME])
def test_the_figure_can_be_read(named: Callable[[str], Runs], monkeypatch: pytest.MonkeyPatch, model: str) -> None:
    lay_out = run_path(str(Path(__file__).parents[2] / "layout.py"))["lay_out"]
    with matplotlib_defaults():
        assert [*lay_out(figure_drawers()["annotation-outcomes"](named(model), None), monkeypatch).problems()] == []


def test_a_missing_file_is_a_sentence(table: Any, tmp_path: Path) -> None:
    assert "gone.json' does not exist" in table(tmp_path / "gone.json", code=2)


def test_a_broken_key_is_named(second_pass: Any, answers: Path) -> None:
    (answers.parent / "sheet.key.json").write_text("{}", encoding="utf-8")
    with pytest.raises(ReportError, match=r"sheet\.key\.json is not the key of a sheet .* Write the sheet again"):
        second_pass.sheet()

"""Runs in Python: frames, the confusion of answers, tables, figures and the page, and the comparison of two models."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import eyechart
from eyechart.errors import ReportError, SpecError

Evaluate = Callable[..., eyechart.EvaluationRun]


def test_a_confusion_counts_the_answers_to_single_labels(make_run: Any) -> None:
    """Neither images without a label or with several, nor those that ended in an error."""
    answers = [356, 0, 356, 999, 357, 357, 7, 358, 358, 359, 0, 359, 0, 0, 2, 1, 620, 620]
    errors = {4: "broken"}
    run = eyechart.load_run(make_run(models={"conse[]": ("zero_shot", answers)}, labels=("ReGT",), errors=errors))
    expected = Counter(
        (row["target"], row["prediction"])
        for index, row in run.samples[["target", "prediction"]].fillna("").iterrows()
        if index not in errors and row["target"] and "; " not in row["target"]
    )
    counts = run.confusion()
    found = {(target, said): counts.loc[target, said] for target in counts.index for said in counts.columns}
    assert {pair: number for pair, number in found.items() if number} == expected
    assert counts.to_numpy().sum() == 11  # of 18: an error, two without a label, four with several
    assert [*counts.columns[: len(counts)]] == [*counts.index]
    assert {*counts.columns[len(counts) :]} == {"2", "620", "7", "999"}


def test_the_confusion_of_several_cases_needs_a_name(run_folder: Path) -> None:
    run = eyechart.load_run(run_folder)
    assert run.confusion("supervised").to_numpy().sum() > 0
    with pytest.raises(
        SpecError, match=r"^confusion\(case=None\) fits 3 cases\. Give a part of one name, of: imagenet/"
    ):
        run.confusion()
    with pytest.raises(SpecError, match=r"^confusion\(case='zero_shot'\) fits 2 cases\."):
        run.confusion("zero_shot")


@pytest.mark.deep
def test_a_table_a_figure_and_the_page_of_a_run(evaluate: Evaluate, tmp_path: Path) -> None:
    run = evaluate("open_clip[toybox-clip]", "toybox/sample-cutouts", protocol="zero_shot")
    counts = run.confusion()
    assert (counts.to_numpy().trace(), counts.to_numpy().sum()) == (run.samples["correct"].sum(), 54)
    assert [len(ax.lines) for ax in run.plot().axes] == [1]
    with pytest.raises(SpecError, match=r"fits 0 cases\. Give a part of one name, of: toybox/sample-cutouts/open_clip"):
        run.confusion("closed_world")
    (frame,) = run.table("T4")
    assert "Model" in frame
    assert "multilabel" in frame.attrs["title"]
    assert run.figure("F3", tmp_path / "f3.svg").read_text().startswith("<?xml")
    page = run.page(tmp_path / "page", figures=False)
    assert page.is_file()
    assert (tmp_path / "page" / "data").is_dir()


def test_runs_in_a_list_get_a_sentence() -> None:
    with pytest.raises(ReportError, match=r"type list\. Several runs are several arguments: load_run\(A, B\)"):
        eyechart.load_run(["a", "b"])


@pytest.mark.deep
def test_two_models_of_runs_are_compared_by_their_names(evaluate: Evaluate, pets: Path) -> None:
    runs = [evaluate("open_clip[toybox-clip]", pets, protocol="zero_shot", name=name) for name in "ab"]
    assert len(eyechart.compare(*runs, models=("a", "b")).verdicts)
    with pytest.raises(ReportError, match=r"in Python with models=\('a', 'b'\)"):
        eyechart.compare(*runs)
    with pytest.raises(ReportError, match=r"has no model 'c'.* Its models are: "):
        eyechart.compare(*runs, models=("a", "c"))
    with pytest.raises(SpecError, match=r"one and two of its models: models=\(SPEC, SPEC\)"):
        eyechart.compare(runs[0])
    with pytest.raises(SpecError, match="compare takes two runs"):
        eyechart.compare(None, runs[0])


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"margin": 5}, "margin: must be from 0 up and below 0.5. Got '5' instead. Values are fractions: 1 % is 0.01."),
        ({"max_drop": 2}, "max_drop: must be from 0 up and below 0.5. Got '2' instead."),
        ({"alpha": 0}, "alpha: '0' is not a significance level above 0 and below 0.5"),
        ({"models": "m"}, r"models takes the names of two models, such as models=('a', 'b'). Got 'm' instead."),
        ({"models": ("a", "b", "c")}, "models takes the names of two models"),
    ],
)
def test_a_comparison_refuses_what_cannot_be_meant(run_folder: Path, wrong: dict[str, Any], why: str) -> None:
    with pytest.raises(SpecError) as refused:
        eyechart.compare(run_folder, run_folder, **wrong)
    assert why in str(refused.value)

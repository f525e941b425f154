"""Tests of `eyechart.realbirdid.figures.curve_charts`."""

import csv
from io import StringIO

import pytest

from eyechart.reports.tables.registry import tables
from eyechart.reports.tables.render import to_csv

FIGURES = {
    "F5": ["IG", "A species", "UA/A, by max probability", "A genus"],
    "F9": [f"UA/A, by {by}" for by in ("max probability", "entropy", "margin")],
    "F10": [
        f"{of}, by {by}"
        for of in ("A species", "A genus", "UA genus")
        for by in ("max probability", "entropy", "margin")
    ],
}


def rows(pool, name):
    """A table as the rows of its csv."""
    return list(csv.DictReader(StringIO(to_csv(tables(name, pool, None)))))


@pytest.fixture
def entry(three):
    """The better encoder's case of species."""
    return next(e for g in three.groups for e in g.cases if e.model == "hf_clip[b]" and e.record.protocol == "species")


@pytest.mark.deep
@pytest.mark.parametrize("name", FIGURES)
def test_the_panels_are_those_of_the_paper(three, figure, name):
    assert [ax.get_title() for ax in figure(three, name).axes] == [f"{head} (all species)" for head in FIGURES[name]]


@pytest.mark.parametrize(("name", "heads"), [("F17", ["A species", "UA genus"]), ("F18", ["IG", "UA/A, by entropy"])])
def test_range_lists_stand_at_the_right(three, figure, name, heads):
    titles = [ax.get_title() for ax in figure(three, name).axes]
    assert titles == [f"{head} ({labels})" for head in heads for labels in ("all species", "range")]


@pytest.mark.parametrize("name", ["F17", "F18"])
def test_without_lists_there_is_no_right_side(aviary, figure, name):
    aviary.lists = False
    aviary.species("hf_clip[a]")
    made = figure(aviary.pool(), name)
    assert len(made.axes) == 2
    assert all(ax.get_title().endswith("(all species)") for ax in made.axes)


def test_every_model_has_a_curve_and_its_area_as_in_the_record(three, figure, entry):
    ax = figure(three, "F5").axes[1]
    curves, texts = ax.get_lines(), [text.get_text() for text in ax.get_legend().get_texts()]
    found = entry.metric("auc", "all species", "answerable.species")
    assert len(curves) == len(texts) == 3
    assert f"{100 * found.value:.1f} [{100 * found.ci[0]:.1f}, {100 * found.ci[1]:.1f}]" in texts


@pytest.mark.deep
def test_chance_is_drawn_beside_tradeoffs_alone(three, figure):
    counts = [len(ax.get_lines()) for ax in figure(three, "F18").axes]
    assert counts == [3, 3, 4, 4]


def test_points_without_a_number_are_left_out(flock, figure):
    points = [(0.5, 1), ("", 0), (0.2, ""), (0.1, 0.25)]
    rows = [{"labels": "all species", "curve": "ig", "x": x, "y": y} for x, y in points]
    flock.case(metrics=[("ig", "all species", "answerable", 0.5)], files={"curves": rows})
    (line,) = figure(flock.pool(), "F5").axes[0].get_lines()
    assert line.get_xydata().tolist() == [[10, 25], [50, 100]]


def test_curves_that_no_case_has_are_not_drawn(flock, figure):
    points = [{"labels": "all species", "curve": "ig", "threshold": t, "x": 1 - t, "y": t} for t in (1, 0.5, 0)]
    flock.case(metrics=[("ig", "all species", "answerable", 0.5)], files={"curves": points})
    assert [ax.get_title() for ax in figure(flock.pool(), "F5").axes] == ["IG (all species)"]

"""Figures 5, 9, 10, 17 and 18 of RealBirdID: what is drawn is what the answers say, under every threshold."""

import csv
from io import StringIO

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_curve

from eyechart.errors import ReportError
from eyechart.realbirdid.tables.curves import (
    GRIDS,
    _accuracy_curve,
    _curve_points,
    _find_share,
    _read_points,
    selective_accuracy,
)
from eyechart.realbirdid.tables.summary_tables import SUMMARY
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


def answers(entry):
    """What a case wrote of every image."""
    text = (entry.folder / entry.record.predictions.path).read_text(encoding="utf-8")
    return list(csv.DictReader(StringIO(text)))


@pytest.fixture
def entry(three):
    """The better encoder's case of species."""
    return next(e for g in three.groups for e in g.cases if e.model == "hf_clip[b]" and e.record.protocol == "species")


def test_the_tradeoff_is_the_receivers_curve_of_the_answers(three, figure, entry):
    said = answers(entry)
    unanswerable = [row["subset"] == "unanswerable" for row in said]
    x, y, _ = roc_curve(unanswerable, [-float(row["all.species.probability"]) for row in said], drop_intermediate=False)
    line = figure(three, "F9").axes[0].get_lines()[1]  # encoders stand first, by their names
    drawn = {tuple(np.round(point, 3)) for point in line.get_xydata()}
    assert len(drawn) > 10
    assert drawn <= {tuple(np.round(point, 3)) for point in zip(100 * x, 100 * y, strict=True)}


@pytest.mark.parametrize("share", [0.25, 0.5, 0.75])
def test_an_accuracy_in_the_table_is_that_of_the_surest_answers(three, entry, share):
    said = [row for row in answers(entry) if row["subset"] == "answerable"]
    surest = sorted(said, key=lambda row: -float(row["all.species.probability"]))[: round((1 - share) * len(said))]
    right = 100 * np.mean([int(row["all.species.correct"]) for row in surest])
    (row,) = (row for row in rows(three, "realbirdid-F17") if row["Model"] == entry.model)
    head = f"A species, {100 * share:g} % left out (all species)"
    assert (float(row[head]), int(row[f"{head} n"])) == (pytest.approx(right, abs=0.01), len(surest))
    assert float(row[f"{head} low"]) < right < float(row[f"{head} high"])


@pytest.mark.parametrize("name", GRIDS)
def test_a_table_has_the_areas_of_the_record_with_their_intervals(three, entry, name):
    (row,) = (row for row in rows(three, name) if row["Model"] == entry.model)
    areas = {head: value for head, value in row.items() if f"{head} low" in row and "left out" not in head}
    scored = {f"{100 * metric.value:.2f}" for metric in entry.record.metrics if metric.value is not None}
    assert len(areas) >= 3
    assert {*areas.values()} <= scored


def test_abstaining_is_one_less_coverage(three):
    (page,) = SUMMARY.get_pages(three)
    points = _read_points(page)
    over, along = (_accuracy_curve(("answerable", "species"), falls=falls) for falls in (False, True))
    coverage, abstained = (_curve_points(points, curve, "all species") for curve in (over, along))
    for row in range(len(page.cases)):
        one, other = (frame[frame["row"] == row].to_numpy() for frame in (coverage, abstained))
        assert len(one) > 10
        assert np.allclose(other[:, 1], 1 - one[::-1, 1])
        assert np.allclose(other[:, 2], one[::-1, 2])
    assert _curve_points(points, over, "nowhere").empty


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20, unique=True).map(sorted), st.floats(0, 1))
def test_a_share_is_the_first_of_the_curve_that_is_as_large(shares, least):
    enough = [share for share in shares if share >= least - 1e-9]
    found = _find_share(shares, least)
    assert found == min(enough) if enough else np.isnan(found)


def test_beyond_the_last_point_there_is_no_accuracy():
    share = _find_share([0.0, 0.1], 0.25)
    answers = pd.DataFrame({"correct": np.ones(10), "observation": np.arange(10)})
    assert np.isnan(share)
    cell = selective_accuracy(answers, share)
    assert (np.isnan(cell["value"]), cell["n"]) == (True, 0)


def test_a_case_without_curves_is_refused_with_the_remedy(flock):
    flock.case(metrics=[("ig", "all species", "answerable", 0.5)])
    with pytest.raises(ReportError, match=r"names no curves\. Run the case again"):
        flock.tables("realbirdid-F5")


def test_curves_of_other_columns_are_refused(flock):
    flock.case(metrics=[("ig", "all species", "answerable", 0.5)], files={"curves": [{"labels": "a", "x": 1}]})
    with pytest.raises(ReportError, match=r"has no column curve; its columns are labels, x\. Run the case again"):
        flock.tables("realbirdid-F5")


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

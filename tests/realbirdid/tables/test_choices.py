"""Figure 11 of RealBirdID: how sure models are by how many species a range list leaves."""

import csv
from io import StringIO

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from eyechart.errors import ReportError
from eyechart.realbirdid.tables.choices import (
    CHOICES,
    MOST,
    _bin_cells,
    _bounded_mean,
    _correlate,
    bin_edges,
    read_confidences,
)
from eyechart.reports.tables.registry import tables
from eyechart.reports.tables.render import to_csv


@pytest.fixture
def said(three):
    """What the better encoder's csv says of the answerable images with a list."""
    found = next(e for e in three.groups[0].with_protocols("species").cases if e.model == "hf_clip[b]")
    text = (found.folder / found.record.predictions.path).read_text(encoding="utf-8")
    every = csv.DictReader(StringIO(text))
    return [row for row in every if row["subset"] == "answerable" and row["range.species.probability"]]


@pytest.fixture
def bins(three):
    """Its rows in the table."""
    found = csv.DictReader(StringIO(to_csv(tables("realbirdid-F11", three, None))))
    return [row for row in found if (row["Model"], row["Images"]) == ("hf_clip[b]", "answerable")]


def test_every_number_of_choices_has_its_frequency_and_means(said, bins):
    for row in bins:
        some = [each for each in said if each["range.candidates"] == row["Choices"]]
        assert int(row["Frequency n"]) == len(some)
        assert float(row["Frequency"]) == pytest.approx(100 * len(some) / len(said), abs=0.01)
        for head, name in (("Entropy", "entropy"), ("Max probability", "probability")):
            expected = np.mean([float(each[f"range.species.{name}"]) for each in some])
            assert float(row[head]) == pytest.approx(expected, abs=0.001)


def test_no_interval_goes_beyond_what_so_many_choices_can_have(three):
    (page,) = CHOICES.get_pages(three)
    cells = _bin_cells(page)
    known = 0
    for cell in cells[cells["column"] != "Frequency"].itertuples():
        count = int(cell.Choices)
        least, most = (0, np.log(count)) if cell.column == "Entropy" else (1 / count, 1)
        assert least - 1e-6 <= cell.value <= most + 1e-6
        if not np.isnan(cell.low):
            known += 1
            assert least - 1e-6 <= cell.low <= cell.value <= cell.high <= most + 1e-6
    assert known > 10


def test_the_numbers_of_choices_ascend_and_hold_every_image(said, bins):
    indices = [int(row["Choices"]) for row in bins]
    assert indices == sorted({int(each["range.candidates"]) for each in said})
    assert sum(int(row["Frequency n"]) for row in bins) == len(said) == 32


def test_the_correlation_is_spearmans(three, said):
    (page,) = CHOICES.get_pages(three)
    images = read_confidences(page)
    images = images[(images["row"].map(page.names["Model"]) == "hf_clip[b]") & (images["subset"] == "answerable")]
    for name in ("entropy", "probability"):
        number = _correlate(images["choices"], images[name], images["observation"])
        pairs = [(int(row["range.candidates"]), float(row[f"range.species.{name}"])) for row in said]
        assert number.value == pytest.approx(spearmanr(*zip(*pairs, strict=True)).statistic, abs=1e-6)
        assert number.ci[0] < number.value < number.ci[1]


@pytest.mark.deep
def test_answerable_images_stand_above_unanswerable_ones(three, figure):
    titles = [ax.get_title().partition(", n=")[0] for ax in figure(three, "F11").axes]
    assert titles == [f"{name}, {kind}" for name in ("hf_clip[$x$]", "hf_clip[b]", "hf[c]") for kind in ("A", "UA")]


def test_where_no_image_is_unanswerable_no_room_is_left_for_any(aviary, figure):
    aviary.n = 2
    aviary.species("hf_clip[a]")
    made = figure(aviary.pool(), "F11")
    assert [ax.get_title().partition(", n=")[0] for ax in made.axes] == ["hf_clip[a], A"]
    assert made.axes[0].get_subplotspec().get_gridspec().nrows == 1


@pytest.mark.deep
def test_each_series_is_divided_by_its_highest_bar(three, figure):
    for ax in figure(three, "F11").axes:
        assert [max(bar.get_height() for bar in series) for series in ax.containers] == [1, 1, 1]


@given(st.lists(st.integers(1, 500), min_size=1, max_size=200))
def test_bins_are_few_and_hold_every_number_once(choices):
    edges = bin_edges(np.array(choices))
    assert len(edges) <= MOST
    assert all(sum(low <= number <= high for low, high in edges) == 1 for number in choices)


def test_few_numbers_have_a_bin_each():
    assert bin_edges(np.array([3, 90, 3, 7])) == [(3, 3), (7, 7), (90, 90)]
    assert bin_edges(np.arange(1, 82))[:2] == [(1, 3), (4, 6)]


def test_what_does_not_vary_has_no_correlation():
    assert not _correlate(np.array([2, 2, 2]), np.array([0.1, 0.2, 0.3]), np.arange(3)).is_defined
    assert not _correlate(np.array([1, 2, 3]), np.array([1.0, 1.0, 1.0]), np.arange(3)).is_defined
    assert _correlate(np.array([1, 2]), np.array([0.5, 0.1]), np.arange(2)).value == pytest.approx(-1)


def interval(values, observations, least, most):
    """The interval of a mean, None without one."""
    cell = _bounded_mean(np.array(values), np.array(observations), least, most)
    return None if np.isnan(cell["low"]) else (cell["low"], cell["high"])


def test_an_interval_stays_where_probabilities_can_be():
    assert interval([0.35, 0.99], [0, 1], 0.25, 1.0) == (0.25, 1)
    low, high = interval([0.1, 3.0], [0, 1], 0.0, np.inf)
    assert (low, high > 3) == (0, True)
    assert interval([0.4], [0], 0.0, 1.0) is None


def test_images_without_an_answer_under_their_list_are_left_out(flock):
    images = (
        *(("2", "answerable", "a", "0.9", "0.1"), ("0", "answerable", "b", "", "")),
        ("3", "unanswerable", "c", "0.4", "0.6"),
    )
    names = ("range.candidates", "subset", "observation", "range.species.probability", "range.species.entropy")
    rows = [dict(zip(names, image, strict=True)) for image in images]
    flock.case(metrics=[("ig", "range", "answerable", 0.5)], rows=rows)
    table = flock.rows("realbirdid-F11")
    assert [(row["Choices"], row["Images"]) for row in table] == [("2", "answerable"), ("3", "unanswerable")]
    assert [row["Frequency n"] for row in table] == ["1", "1"]


def test_birds_without_lists_are_refused_with_the_remedy(aviary):
    aviary.lists = False
    aviary.species("hf_clip[a]")
    with pytest.raises(ReportError, match=r"candidates \(or a table of ranges\).*Make it with: pytest -k"):
        tables("realbirdid-F11", aviary.pool(), None)

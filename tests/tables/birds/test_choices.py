"""Figure 11 of RealBirdID: how sure models are by how many species a range list leaves."""

import csv
from io import StringIO

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from eyechart.errors import ReportError
from eyechart.reports.realbirdid.candidate_counts import (
    MOST,
    bin_edges,
    collect_bins,
    correlation,
    mean_estimate,
    parse_columns,
)
from eyechart.reports.render import to_csv
from eyechart.reports.tables import tables


@pytest.fixture
def said(three):
    """What the better encoder's csv says of the answerable images with a list."""
    found = next(e for e in three.groups[0].with_protocols("species").cases if e.model == "hf_clip[b]")
    text = (found.folder / found.record.predictions.path).read_text(encoding="utf-8")
    every = csv.DictReader(StringIO(text))
    return [row for row in every if row["subset"] == "A" and row["range.species.probability"]]


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
    for found in (some for each in collect_bins(three) for chosen in each.image_sets for some in chosen.bins):
        for name, (least, most) in {"entropy": (0, np.log(found.high)), "probability": (1 / found.high, 1)}.items():
            number = found.means[name]
            low, high = number.ci or (number.value, number.value)
            assert least - 1e-6 <= low <= number.value <= high <= most + 1e-6


def test_the_numbers_of_choices_ascend_and_hold_every_image(said, bins):
    places = [int(row["Choices"]) for row in bins]
    assert places == sorted({int(each["range.candidates"]) for each in said})
    assert sum(int(row["Frequency n"]) for row in bins) == len(said) == 32


def test_the_correlation_is_spearmans(three, said):
    (found,) = collect_bins(three)
    chosen = next(each for each in found.image_sets if (each.model, each.kind) == ("hf_clip[b]", "A"))
    for name, number in chosen.correlations.items():
        pairs = [(int(row["range.candidates"]), float(row[f"range.species.{name}"])) for row in said]
        assert number.value == pytest.approx(spearmanr(*zip(*pairs, strict=True)).statistic, abs=1e-6)
        assert number.ci[0] < number.value < number.ci[1]


@pytest.mark.slow
def test_answerable_images_stand_above_unanswerable_ones(three, figure):
    titles = [ax.get_title().partition(", n=")[0] for ax in figure(three, "F11").axes]
    assert titles == [f"{name}, {kind}" for name in ("hf_clip[$x$]", "hf_clip[b]", "hf[c]") for kind in ("A", "UA")]


def test_where_no_image_is_unanswerable_no_room_is_left_for_any(aviary, figure):
    aviary.n = 2
    aviary.species("hf_clip[a]")
    made = figure(aviary.pool(), "F11")
    assert [ax.get_title().partition(", n=")[0] for ax in made.axes] == ["hf_clip[a], A"]
    assert made.axes[0].get_subplotspec().get_gridspec().nrows == 1


@pytest.mark.slow
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
    assert not correlation(np.array([2, 2, 2]), np.array([0.1, 0.2, 0.3]), np.arange(3)).is_defined
    assert not correlation(np.array([1, 2, 3]), np.array([1.0, 1.0, 1.0]), np.arange(3)).is_defined
    assert correlation(np.array([1, 2]), np.array([0.5, 0.1]), np.arange(2)).value == pytest.approx(-1)


def test_an_interval_stays_where_probabilities_can_be():
    assert mean_estimate(np.array([0.35, 0.99]), np.arange(2), 0.25, 1.0).ci == (0.25, 1)
    low, high = mean_estimate(np.array([0.1, 3.0]), np.arange(2), 0.0, np.inf).ci
    assert (low, high > 3) == (0, True)
    assert mean_estimate(np.array([0.4]), np.arange(1), 0.0, 1.0).ci is None


def test_images_without_an_answer_under_their_list_are_left_out():
    told = {"range.candidates": ("2", "0", "3"), "subset": ("A", "A", "UA"), "observation": ("a", "b", "c")}
    numbers = {"range.species.probability": ("0.9", "", "0.4"), "range.species.entropy": ("0.1", "", "0.6")}
    found = parse_columns({**told, **numbers})
    assert (found.choices.tolist(), found.answerable.tolist()) == ([2, 3], [True, False])


def test_birds_without_lists_are_refused_with_the_remedy(aviary):
    aviary.lists = False
    aviary.species("hf_clip[a]")
    with pytest.raises(ReportError, match=r"candidates \(or a table of ranges\).*Make it with: pytest -k"):
        tables("realbirdid-F11", aviary.pool(), None)

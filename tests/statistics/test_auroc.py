"""AUROC is scikit-learn's, its variance and test are DeLong's and Obuchowski's, and its interval covers."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.special import ndtri
from sklearn.metrics import roc_auc_score

from eyechart.statistics.auroc import auroc, delong_covariance, delong_interval, delong_test

samples = st.lists(
    st.tuples(*[st.sampled_from([0.1, 0.2, 0.5, 0.9, -3.0])] * 2, st.booleans(), st.integers(0, 5)),
    min_size=4,
    max_size=30,
)
STATISTICS = Path(__file__).parents[2] / "docs" / "statistics.md"
INDEX = np.arange(40)
KNOWN = (INDEX * 7 % 5 < 2).astype(float)
FIRST = (INDEX * 37 % 101) / 101 + 0.25 * KNOWN
SECOND = np.round((INDEX * 53 % 97) / 97 + 0.4 * KNOWN, 1)


def by_definition(table: Any, positive: Any, clusters: Any) -> Any:
    """The covariances as Obuchowski (1997) writes them, pair by pair of samples."""
    yes, no = np.flatnonzero(positive), np.flatnonzero(~positive)
    wins = [[[(row[i] > row[j]) + (row[i] == row[j]) / 2 for j in no] for i in yes] for row in table]
    pairs = np.array(wins, float)
    areas, units = pairs.mean(axis=(1, 2)), np.unique(clusters)
    x = pairs.mean(axis=2) - areas[:, None]
    y = pairs.mean(axis=1) - areas[:, None]
    of_yes = np.stack([x[:, clusters[yes] == unit].sum(axis=1) for unit in units], axis=1)
    of_no = np.stack([y[:, clusters[no] == unit].sum(axis=1) for unit in units], axis=1)
    with_yes, with_no, both = len({*clusters[yes]}), len({*clusters[no]}), len(units)
    s10 = with_yes / ((with_yes - 1) * len(yes)) * of_yes @ of_yes.T
    s01 = with_no / ((with_no - 1) * len(no)) * of_no @ of_no.T
    s11 = both / (both - 1) * of_yes @ of_no.T
    return s10 / len(yes) + s01 / len(no) + (s11 + s11.T) / (len(yes) * len(no))


@given(samples)
def test_it_is_that_of_scikit_learn_and_the_same_for_either_class(rows: list[tuple[Any, ...]]) -> None:
    scores, _, positive, _ = (np.array(column) for column in zip(*rows, strict=True))
    value = auroc(scores, positive)
    if 0 < positive.sum() < len(rows):
        assert value == pytest.approx(roc_auc_score(positive, scores), abs=1e-12)
        assert value == pytest.approx(auroc(-scores, ~positive), abs=1e-12)
    else:
        assert np.isnan(value)


@given(samples, st.booleans())
def test_covariances_are_those_of_the_definition(rows: list[tuple[Any, ...]], clustered: bool) -> None:
    first, second, positive, clusters = (np.array(column) for column in zip(*rows, strict=True))
    clusters = clusters if clustered else np.arange(len(rows))
    assume(min(len({*clusters[positive == kind]}) for kind in (True, False)) > 1)
    table = np.stack([first, second])
    found = delong_covariance(table, positive, clusters)
    np.testing.assert_allclose(found, by_definition(table, positive, clusters), rtol=0, atol=1e-12)
    if not clustered:
        np.testing.assert_array_equal(found, delong_covariance(table, positive))


def test_a_table_has_the_numbers_of_mlstatkit() -> None:
    """Delong_test of MLstatkit 0.1.91, which says that it agrees with pROC's roc.test."""
    found = delong_test(FIRST, SECOND, KNOWN)
    covariance = delong_covariance([FIRST, SECOND], KNOWN)
    contrast = np.array([-1, 1])
    assert (auroc(FIRST, KNOWN), auroc(SECOND, KNOWN)) == pytest.approx((0.7473958333333333, 0.8111979166666665))
    assert found.p == pytest.approx(0.5088916744326158, abs=1e-10)
    assert contrast @ covariance @ contrast == pytest.approx(0.009329090947690218, abs=1e-12)
    ends = 0.7473958333333333 + np.sqrt(covariance[0, 0]) * ndtri([0.025, 0.975])
    assert ends == pytest.approx([0.587122809455878, 0.9076688572107885], abs=1e-10)


def test_exchanging_the_sides_turns_the_change_around() -> None:
    there, back = delong_test(FIRST, SECOND, KNOWN), delong_test(SECOND, FIRST, KNOWN)
    assert (there.delta, there.p, there.ci.low) == pytest.approx((-back.delta, back.p, -back.ci.high))


def test_samples_that_do_not_count_change_nothing() -> None:
    gap, unknown = np.append(FIRST, [np.nan, 0.3]), np.append(KNOWN, [1, np.nan])
    assert auroc(gap, unknown) == auroc(FIRST, KNOWN)
    assert delong_interval(gap, unknown) == delong_interval(FIRST, KNOWN)
    assert delong_test(gap, np.append(SECOND, [0.1, 0.2]), unknown) == delong_test(FIRST, SECOND, KNOWN)


def test_infinite_scores_have_an_order() -> None:
    assert auroc([-np.inf, 0.5, np.inf], [0, 1, 1]) == 1


def test_perfect_scores_have_an_interval_and_no_change_has_a_p_of_1() -> None:
    positive = np.repeat([0, 1], 20)
    low, high = delong_interval(positive, positive)
    assert (round(low, 3), high) == (0.839, 1)
    same = delong_test(positive, positive, positive)
    assert (same.delta, same.p, round(same.ci.high, 3)) == (0, 1, 0.161)
    assert delong_test(1 - positive, positive, positive).p < 1e-5


def test_copies_of_images_in_clusters_add_no_certainty() -> None:
    once = delong_interval(FIRST, KNOWN)
    twice = delong_interval(FIRST.repeat(2), KNOWN.repeat(2), INDEX.repeat(2))
    assert twice == pytest.approx(once, abs=1e-12)


@pytest.mark.parametrize("clusters", [None, np.array([0, 0, 1, 1])])
def test_one_cluster_of_a_class_has_no_interval(clusters: Any) -> None:
    positive = [1, 1, 0, 0] if clusters is not None else [1, 0, 0, 0]
    assert np.isnan(delong_interval([0.3, 0.2, 0.1, 0.4], positive, clusters)).all()
    change = delong_test([0.3, 0.2, 0.1, 0.4], [0.3, 0.5, 0.1, 0.4], positive, clusters)
    assert not np.isnan(change.delta)
    assert np.isnan(change.p)


@pytest.mark.parametrize(
    ("call", "parameter"),
    [
        (lambda: auroc([0.1], [1, 0]), "scores"),
        (lambda: auroc([0.1, 0.2], [1, 2]), "positive"),
        (lambda: delong_covariance([0.1, 0.2], [1, 0]), "scores"),
        (lambda: delong_interval([0.1, 0.2], [1, 0], [0, 1.5]), "clusters"),
        (lambda: delong_interval([0.1, 0.2], [1, 0], level=1), "level"),
        (lambda: delong_test([0.1, 0.2], [0.1], [1, 0]), "scores"),
        (lambda: delong_test([0.1, 0.2], [0.1, 0.2], [1, 0], level=0), "level"),
    ],
)
def test_bad_arguments_are_named(call: Callable[[], object], parameter: str) -> None:
    with pytest.raises(ValueError, match=f"The '{parameter}' parameter of"):
        call()


def simulate(area: float, patients: int, images: int, runs: int, shared: float) -> tuple[float, float]:
    """The coverage of the interval, and the share of p-values up to 0.05 of two models that are equally good.

    Each patient has so many images; `shared` is the correlation of the scores of images of one patient, of whom every
    third has only negative images, every third only positive ones, and every third both.
    """
    random = np.random.default_rng(7)
    distance = np.sqrt(2) * ndtri(area)
    clusters = np.repeat(np.arange(patients), images)
    kinds = np.array([[0] * images, [1] * images, ([0, 1] * images)[:images]] if images > 1 else [[0], [1]])
    positive = kinds[np.arange(patients) % len(kinds)].ravel()
    covered = rejected = 0
    for _ in range(runs):
        common, own = random.normal(size=(2, patients)), random.normal(size=(2, len(clusters)))
        scores = np.sqrt(shared) * common[:, clusters] + np.sqrt(1 - shared) * own + distance * positive
        low, high = delong_interval(scores[0], positive, clusters)
        covered += low <= area <= high
        rejected += delong_test(scores[0], scores[1], positive, clusters).p <= 0.05
    return covered / runs, rejected / runs


def test_the_interval_covers_and_the_test_keeps_its_level_with_clusters() -> None:
    covered, rejected = simulate(0.8, 60, 4, 300, shared=0.6)
    assert 0.92 < covered < 0.98
    assert rejected < 0.08


COVERAGE = {  # the table of docs/statistics.md: area, patients, coverage, share of small p-values
    (0.7, 12): (0.971, 0.083),
    (0.7, 30): (0.958, 0.064),
    (0.7, 60): (0.954, 0.058),
    (0.7, 200): (0.954, 0.049),
    (0.9, 12): (0.960, 0.044),
    (0.9, 30): (0.951, 0.047),
    (0.9, 60): (0.947, 0.048),
    (0.9, 200): (0.949, 0.047),
    (0.97, 30): (0.926, 0.020),
    (0.97, 60): (0.935, 0.034),
    (0.97, 200): (0.948, 0.042),
}


@pytest.mark.deep
@pytest.mark.parametrize(("area", "patients"), COVERAGE)
def test_the_coverage_with_clusters_is_that_of_the_documentation(area: float, patients: int) -> None:
    runs = 1500 if patients == 12 else 4000
    found, published = simulate(area, patients, 4, runs, shared=0.6), COVERAGE[area, patients]
    assert found == pytest.approx(published, abs=6e-4)  # the seed is fixed, and the table is rounded
    lines = STATISTICS.read_text(encoding="utf-8").splitlines()
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line.startswith("|")]
    (header,) = [cells for cells in rows if cells[:2] == ["AUROC", "12 patients"]]
    (row,) = [cells for cells in rows if cells[0] == str(area) and len(cells) == len(header)]
    assert row[header.index(f"{patients} patients")] == f"{published[0]:.3f} ({published[1]:.3f})"

"""Re-annotation: what is known exactly, the coverage of its intervals, and what the labels are worth."""

from itertools import combinations
from math import isnan, nan
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtri

from eyechart.statistics.intervals import clopper_pearson, wilson
from eyechart.statistics.reannotation import (
    POST_STRATIFIED,
    PREDICTION_POWERED,
    Reannotated,
    prediction_powered_mean,
    reannotated_difference,
    reannotated_mean,
)

FEW, MANY = (0.05, 0.005), (0.3, 0.03)  # how often a wrong outcome becomes right, and a right one wrong


def draw_images(chance: np.random.Generator, n: int, changes: tuple[float, float], size: int = 1) -> tuple[Any, Any]:
    """Published and new outcomes of images, 80 % right as published; images of a unit share how hard they are."""
    hard = chance.normal(size=n // size).repeat(size)
    published = (0.8 * hard + 0.6 * chance.normal(size=len(hard)) < ndtri(0.8)).astype(float)
    changed = np.where(chance.random(len(hard)) < 0.5, chance.random(n // size).repeat(size), chance.random(len(hard)))
    return published, np.where(published == 0, changed < changes[0], changed >= changes[1]).astype(float)


def label(chance: np.random.Generator, new: Any, n: int) -> Any:
    """The new outcomes of n images that are drawn uniformly, NaN elsewhere."""
    known = np.full(len(new), nan)
    rows = chance.choice(len(new), n, replace=False)
    known[rows] = new[rows]
    return known


def is_covered(found: Reannotated, value: float) -> bool:
    return found.ci.low - 1e-9 <= value <= found.ci.high + 1e-9


def simulate(images: int, n: int, changes: tuple[float, float], size: int, times: int) -> tuple[float, float, float]:
    """The coverage of the interval, its mean width, and how often a label is worth a plain one."""
    chance = np.random.default_rng(images + n + size)
    published, new = draw_images(chance, images, changes, size)
    found = [reannotated_mean(label(chance, new, n), published) for _ in range(times)]
    covered = np.mean([is_covered(one, new.mean()) for one in found])
    width = np.mean([one.ci.high - one.ci.low for one in found])
    return float(covered), float(width), float(np.mean([one.plain for one in found])) / n


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=30))
def test_if_all_images_are_labelled_nothing_is_uncertain(images: list[tuple[bool, bool]]) -> None:
    published, new = np.array(images, float).T
    found = reannotated_mean(new, published)
    assert [found.value, *found.ci] == pytest.approx([new.mean()] * 3)
    assert found.changed == (published != new).sum()
    difference = reannotated_difference(new, published, published, new)
    assert [difference.value, *difference.ci] == pytest.approx([(new - published).mean()] * 3)


def test_the_estimate_is_that_of_the_groups_of_published_outcomes() -> None:
    published = [1] * 80 + [0] * 20
    new = [1] * 9 + [0] + [nan] * 70 + [1, 0, 0, 0] + [nan] * 16
    assert reannotated_mean(new, published).value == pytest.approx(0.8 * 0.9 + 0.2 * 0.25)


def test_an_image_counts_as_much_as_its_stratum_makes_it() -> None:
    published, strata = [1] * 100, [0] * 90 + [1] * 10
    new = [1] * 10 + [nan] * 80 + [0] * 5 + [nan] * 5
    assert reannotated_mean(new, published, strata).value == pytest.approx(0.9)
    assert reannotated_mean(new, published).value == pytest.approx(10 / 15)


def test_a_group_without_a_label_may_be_anything() -> None:
    found = reannotated_mean([1] * 40 + [nan] * 60, [1] * 90 + [0] * 10)
    assert (found.value, found.ci.high) == (pytest.approx(0.9), pytest.approx(1.0, abs=0.001))
    assert found.ci.low < 0.9


def test_most_of_a_group_being_labelled_gives_its_exact_bounds() -> None:
    """Every number of right images is tried: those under which the labels are not too unlikely, and half a one more."""
    size, n, right = 16, 9, 5
    inside = []
    for total in range(size + 1):
        images = [1] * total + [0] * (size - total)
        seen = [sum(drawn) for drawn in combinations(images, n)]
        if np.mean(np.array(seen) >= right) > 0.025 and np.mean(np.array(seen) <= right) > 0.025:
            inside.append(total / size)
    found = reannotated_mean([1] * right + [0] * (n - right) + [nan] * (size - n), [1] * size)
    low = max(min(inside) - 0.5 / size, right / size)  # what is labelled is known
    high = min(max(inside) + 0.5 / size, (size - n + right) / size)
    assert list(found.ci) == pytest.approx([low, high])


def test_the_interval_of_one_group_in_a_large_number_of_images_is_a_plain_one() -> None:
    found = reannotated_mean([1] * 90 + [0] * 10 + [nan] * 10**6, [1] * (10**6 + 100))
    exact = clopper_pearson(90, 100)
    assert exact.low < found.ci.low < found.ci.high < exact.high
    assert found.plain == pytest.approx(100, rel=0.1)


@pytest.mark.parametrize(
    ("images", "n", "changes", "times"), [(244, 60, MANY, 800), (244, 200, FEW, 150), (1000, 200, FEW, 800)]
)
def test_intervals_cover_and_have_a_width(images: int, n: int, changes: tuple[float, float], times: int) -> None:
    covered, width, worth = simulate(images, n, changes, 5, times)
    assert covered >= 0.93
    assert width < {60: 0.14, 200: 0.05}[n]
    assert worth > 1.1


@pytest.mark.deep
@pytest.mark.parametrize("size", [1, 5])
@pytest.mark.parametrize("changes", [FEW, MANY])
@pytest.mark.parametrize(
    ("images", "n"), [(244, 60), (244, 200), (1000, 60), (1000, 200), (50_000, 200), (50_000, 1000)]
)
def test_intervals_cover_in_every_cell(images: int, n: int, changes: tuple[float, float], size: int) -> None:
    covered, _, _ = simulate(images, n, changes, size, 3000)
    assert covered >= 0.93
    if changes == MANY and 200 <= n < images / 2:  # the least favourable cells
        assert covered <= 0.97


def draw_answers(chance: np.random.Generator, n: int, wrong: float, size: int) -> tuple[Any, Any, Any]:
    """New and published outcomes of two models (2, n), and where they agree; one label of an image is right."""
    hard = chance.normal(size=n // size).repeat(size)
    n = len(hard)
    truth = chance.integers(50, size=n)
    is_wrong = (chance.random(n // size) < wrong).repeat(size)
    published = np.where(is_wrong, (truth + 1) % 50, truth)
    confused = (truth + 1 + chance.integers(2, size=n)) % 50
    answers = np.array(
        [
            np.where(0.8 * hard + 0.6 * chance.normal(size=n) < ndtri(accuracy), truth, confused)
            for accuracy in (0.8, 0.75)
        ]
    )
    return (answers == truth).astype(float), (answers == published).astype(float), answers[0] == answers[1]


def simulate_difference(images: int, n: int, wrong: float, size: int, times: int, stratified: bool) -> float:
    """The coverage of the interval of a difference."""
    chance = np.random.default_rng(images + n + size)
    new, published, same = draw_answers(chance, images, wrong, size)
    strata = (2 - published.sum(axis=0)).astype(int)
    covered = 0
    for _ in range(times):
        if stratified:
            drawn = np.concatenate([_some(chance, np.flatnonzero(strata == one), n // 3) for one in range(3)])
        else:
            drawn = chance.choice(len(same), n, replace=False)
        known = np.full(new.shape, nan)
        known[:, drawn] = new[:, drawn]
        found = reannotated_difference(*known, *published, same, strata if stratified else None)
        covered += is_covered(found, (new[0] - new[1]).mean())
    return covered / times


def _some(chance: np.random.Generator, rows: Any, n: int) -> Any:
    return chance.choice(rows, min(n, len(rows)), replace=False)


@pytest.mark.parametrize(("n", "stratified"), [(60, False), (200, False), (60, True)])
def test_intervals_of_differences_cover(n: int, stratified: bool) -> None:
    assert simulate_difference(1000, n, 0.15, 5, 200, stratified) >= 0.93


@pytest.mark.deep
@pytest.mark.parametrize("stratified", [False, True])
@pytest.mark.parametrize("size", [1, 5])
@pytest.mark.parametrize("wrong", [0.03, 0.15])
@pytest.mark.parametrize(("images", "n"), [(244, 60), (244, 200), (1000, 200), (50_000, 60), (50_000, 1000)])
def test_intervals_of_differences_cover_in_every_cell(
    images: int, n: int, wrong: float, size: int, stratified: bool
) -> None:
    assert simulate_difference(images, n, wrong, size, 2000, stratified) >= 0.93


def test_equal_answers_need_no_label_for_a_difference() -> None:
    old = [1] * 150 + [0] * 50
    new = [1] * 40 + [nan] * 160
    assert list(reannotated_difference(new, new, old, old, [True] * 200).ci) == [0, 0]
    assert reannotated_difference(new, new, old, old).ci.high > 0.05


def test_many_changes_of_a_difference_are_powered_by_predictions() -> None:
    chance = np.random.default_rng(1)
    new, published, same = draw_answers(chance, 5000, 0.3, 1)
    known = np.full(new.shape, nan)
    known[:, :1000] = new[:, :1000]
    assert reannotated_difference(*known, *published, same).method == PREDICTION_POWERED
    assert reannotated_difference(*known, *published, same, np.zeros(5000, int)).method == POST_STRATIFIED


def test_the_population_varies_more_and_most_if_its_units_are_clusters() -> None:
    published, new = draw_images(np.random.default_rng(0), 1000, MANY, 5)
    plain = reannotated_mean(new, published)
    clustered = reannotated_mean(new, published, units=np.arange(1000) // 5)
    assert plain.ci.high - plain.ci.low == pytest.approx(0)
    assert list(plain.population) == pytest.approx(wilson(int(new.sum()), 1000))
    assert clustered.population.high - clustered.value > 1.3 * (plain.population.high - plain.value)


def test_images_that_are_all_right_do_not_prove_a_population_that_is() -> None:
    assert reannotated_mean([1] * 50, [1] * 50).population.low < 0.95
    assert reannotated_difference([1] * 50, [1] * 50, [1] * 50, [1] * 50).population.low < -0.05


@pytest.mark.parametrize(("n", "times"), [(60, 400), (240, 150)])
def test_intervals_cover_the_population(n: int, times: int) -> None:
    """Every time, other images are drawn from the population, in clusters, and some of them are labelled."""
    chance, size = np.random.default_rng(n), 5
    value = draw_images(chance, 500_000, MANY)[1].mean()
    covered = clustered = 0
    for _ in range(times):
        published, new = draw_images(chance, 300, MANY, size)
        known = label(chance, new, n)
        found = reannotated_mean(known, published, units=np.arange(300) // size)
        covered += found.ci.low <= value <= found.ci.high
        clustered += found.population.low <= value <= found.population.high
    assert clustered / times >= 0.93
    assert covered / times < 0.9  # the interval of these images is not that of their population


def test_a_weight_that_was_set_gives_the_estimate_with_it() -> None:
    y, f = [1.0, 0.5, 0.0, nan, nan], [0.9, 0.4, 0.2, 0.8, 0.7]
    value, ci = prediction_powered_mean(y, f, weight=0.5)
    assert value == pytest.approx(0.5 - 0.5 * (0.5 - 0.6))
    assert ci.low < value < ci.high
    assert isnan(prediction_powered_mean([1.0, nan], [0.0, 0.0])[1].low)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (([nan], [1]), "'outcomes' parameter of reannotated_mean must be known for at least one image"),
        (([1], [nan]), "'published' parameter of reannotated_mean must be without NaN"),
        (([1], [1, 0]), "'published' parameter of reannotated_mean must be of length 1"),
        (([2], [1]), "'outcomes' parameter of reannotated_mean must be in"),
    ],
)
def test_wrong_arguments_are_refused(arguments: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        reannotated_mean(*arguments)


def test_outcomes_of_two_models_must_be_of_the_same_images() -> None:
    with pytest.raises(ValueError, match="known for the same images as first"):
        reannotated_difference([1, nan], [nan, 1], [1, 1], [1, 1])
    with pytest.raises(ValueError, match="of equal outcomes"):
        reannotated_difference([1, nan], [0, nan], [1, 1], [1, 1], [True, True])


@pytest.mark.deep
@pytest.mark.parametrize("n", [200, 2000])
def test_it_agrees_with_ppi_python_where_both_apply(n: int, ppi_python: Any) -> None:
    """Uniform draws from many images: one estimate under one weight, and intervals that differ by the finite number."""
    chance = np.random.default_rng(n)
    published, new = draw_images(chance, 100_000, MANY)
    known = label(chance, new, n)
    drawn = ~np.isnan(known)
    weight = 0.8
    theirs = weight * (1 - n / 100_000)  # their predictions are of the unlabelled images alone
    labelled = known[drawn, None], published[drawn, None], published[~drawn, None]
    value, ci = prediction_powered_mean(known, published, weight=weight)
    assert value == pytest.approx(float(ppi_python.ppi_mean_pointestimate(*labelled, lam=theirs)[0]), abs=1e-12)
    low, high = (float(end[0]) for end in ppi_python.ppi_mean_ci(*labelled, alpha=0.05, lam=theirs))
    assert ci.high - ci.low == pytest.approx(high - low, rel=0.03)
    tuned = float(ppi_python.ppi_mean_pointestimate(*labelled)[0])
    assert prediction_powered_mean(known, published)[0] == pytest.approx(tuned, abs=0.004)
    assert reannotated_mean(known, published).value == pytest.approx(tuned, abs=0.004)


@pytest.fixture
def ppi_python(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The package, without its two dependencies that means do not need."""
    import sys
    from types import ModuleType

    for name in ("numba", "gdown"):
        stub = ModuleType(name)
        stub.__dict__.update(njit=lambda function=None, **_: function or (lambda one: one), prange=range)
        monkeypatch.setitem(sys.modules, name, stub)
    return pytest.importorskip("ppi_py", reason="pip install --no-deps ppi-python")

"""Pairs of one image are not independent: intervals, permutations and equivalence count images, not pairs."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.oodbench.statistics.degradation import degradation, tost
from eyechart.statistics.degenerate_intervals import measure_intervals
from eyechart.statistics.intervals import wilson
from eyechart.statistics.resampling import cluster_bootstrap_totals, exchange_totals, percentile_interval
from eyechart.statistics.yes_no import MEASURES, confusion_measures

WORLDS = 200  # where pairs are drawn instead of images, at most 77 per cent are covered: 6 standard errors too few
IMAGES = 100
ERROR = np.sqrt(0.05 * 0.95 / WORLDS)  # of a simulated share of 5 per cent
seeds = st.integers(0, 2**32)


def answers(random, images, deviation):
    """Tables of pairs whose two answers depend on the image, and on the pair."""
    effect = random.normal(0, deviation, images.max() + 1)[images] + random.normal(0, 0.5, len(images))
    first, second = (random.random((len(images), 2)) < 1 / (1 + np.exp(-1.2 - effect[:, None]))).T
    return np.stack([first, ~second, ~first, second], axis=1).astype(np.int64)


def world(random, per, deviation, images=IMAGES):
    """Pairs of images of different sizes: their tables and their images."""
    numbers = np.repeat(np.arange(images), 1 + random.poisson(per - 1, images))
    return answers(random, numbers, deviation), numbers


@cache
def truth(deviation):
    """The measures over all images that there could be."""
    return confusion_measures(answers(np.random.default_rng(0), np.arange(400_000), deviation).sum(axis=0))


@pytest.mark.deep
def test_intervals_cover_the_measures_as_often_as_they_say() -> None:
    random, covered = np.random.default_rng(3), dict.fromkeys(MEASURES, 0)
    for seed in range(WORLDS):
        rows, images = world(random, 6, 1.5, 2 * IMAGES)
        found = measure_intervals(
            rows, confusion_measures(cluster_bootstrap_totals(rows, images, 200, seed)), clusters=images
        )
        for name, ends in found.items():
            covered[name] += ends.low <= truth(1.5)[name] <= ends.high
    assert abs(covered["acc"] / WORLDS - 0.95) <= 0.02 + ERROR
    assert all(abs(count / WORLDS - 0.95) <= 0.02 + 1.5 * ERROR for count in covered.values()), covered


@pytest.mark.deep
@pytest.mark.parametrize(("per", "deviation", "shared"), [(6, 1.5, False), (3, 1.5, True)])
def test_falls_are_covered_and_chance_is_not_taken_for_a_fall(per, deviation, shared) -> None:
    """Both sets have the same distribution: of disjoint images, or half of the pairs of every image in either set."""
    random, covered, rejected = np.random.default_rng(8), 0, 0
    for seed in range(WORLDS):
        if shared:
            rows, images = world(random, 2 * per, deviation)
            first = random.random(len(rows)) < 0.5
            sets, clusters = (rows[first], rows[~first]), (images[first], images[~first])
        else:
            (one, here), (other, there) = (world(random, per, deviation) for _ in range(2))
            sets, clusters = (one, other), (here, there + IMAGES)
        found = degradation(*sets, 199, seed, clusters=clusters)["acc"]
        covered += found.ci.low <= 0 <= found.ci.high
        rejected += found.p <= 0.05
    assert abs(covered / WORLDS - 0.95) <= 0.02 + 2.5 * ERROR
    assert rejected / WORLDS <= 0.05 + 2.5 * ERROR


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=5), seeds)
def test_exchanges_are_all_signs(rows, seed) -> None:
    first, second = (np.array([row[side] for row in rows], np.int64).reshape(-1, 1) for side in range(2))
    signs = (np.arange(2 ** len(rows))[:, None] >> np.arange(len(rows))) & 1
    every = np.where(signs, second[:, 0], first[:, 0]).sum(axis=1)
    one, other = exchange_totals(first, second, 4000, seed)
    assert (one + other == first.sum() + second.sum()).all()
    for total in set(every) | set(one[:, 0]):
        chance = float(np.mean(every == total))
        assert np.mean(one[:, 0] == total) == pytest.approx(chance, abs=6 * np.sqrt(chance * (1 - chance) / 4000))


@given(st.integers(1, 5), seeds)
def test_every_pair_alone_in_its_image_is_the_default(m, seed) -> None:
    random = np.random.default_rng(seed)
    one, other = (answers(random, np.arange(m), 1.0) for _ in range(2))
    plain = degradation(one, other, 30, seed)
    named = degradation(one, other, 30, seed, clusters=(np.arange(m), m + np.arange(m)))
    assert [plain[name][:4] for name in MEASURES] == [named[name][:4] for name in MEASURES]


@given(st.integers(2, 30), st.integers(2, 6))
def test_pairs_that_repeat_an_image_make_nothing_surer(images, copies) -> None:
    """Every pair several times says no more than every pair once."""
    random = np.random.default_rng(images)
    one, other = (answers(random, np.arange(images), 1.0) for _ in range(2))
    numbers = (np.arange(images), images + np.arange(images))
    again = [np.repeat(each, copies, axis=0) for each in (one, other)]
    once = degradation(one, other, 50, 3, clusters=numbers)
    often = degradation(*again, 50, 3, clusters=tuple(np.repeat(each, copies) for each in numbers))
    for name in MEASURES:
        assert often[name].ci == pytest.approx(once[name].ci)
        assert often[name].p == once[name].p


def test_images_that_are_all_right_are_as_sure_as_so_many_images() -> None:
    rows, images = np.tile([1, 0, 0, 1], (60, 1)), np.repeat(np.arange(20), 3)
    found = measure_intervals(rows, confusion_measures(cluster_bootstrap_totals(rows, images, 50)), clusters=images)
    assert found["acc"] == pytest.approx(wilson(20, 20))


def test_images_that_are_half_right_are_no_point() -> None:
    rows, images = np.tile([[1, 0, 0, 1], [0, 1, 1, 0]], (20, 1)), np.repeat(np.arange(20), 2)
    low, high = measure_intervals(
        rows, confusion_measures(cluster_bootstrap_totals(rows, images, 50)), clusters=images
    )["acc"]
    assert low < 0.45
    assert high > 0.55


def test_an_image_in_both_sets_is_drawn_for_both() -> None:
    """A fall between pairs of the same images varies less than one between pairs of others."""
    random, numbers = np.random.default_rng(4), np.repeat(np.arange(100), 2)
    rows = answers(random, numbers, 3.0)
    sets = rows[::2], rows[1::2]
    together = degradation(*sets, 800, clusters=(np.arange(100), np.arange(100)))["acc"].ci
    apart = degradation(*sets, 800, clusters=(np.arange(100), 100 + np.arange(100)))["acc"].ci
    assert together.high - together.low < 0.75 * (apart.high - apart.low)


def test_strata_keep_images_with_one_number_apart() -> None:
    random = np.random.default_rng(5)
    rows, images = answers(random, np.arange(40), 1.0), np.arange(40) % 20
    strata = np.arange(40) // 20
    np.testing.assert_array_equal(
        cluster_bootstrap_totals(rows, images, 9, 1, strata),
        cluster_bootstrap_totals(rows, np.arange(40), 9, 1, strata),
    )


def test_equivalence_draws_images() -> None:
    random, numbers = np.random.default_rng(6), np.repeat(np.arange(60), 3)
    models = [np.stack([answers(random, numbers, 2.0) for _ in range(3)]) for _ in range(2)]
    clusters = (numbers, numbers + 60)
    wide, narrow = (tost(*models, 800, 1, clusters=each)["acc"] for each in (clusters, None))
    assert wide.delta == narrow.delta
    assert wide.ci.high - wide.ci.low > 1.15 * (narrow.ci.high - narrow.ci.low)
    assert wide.ci == pytest.approx(percentile_interval(wide.bootstrap_samples, 0.9))

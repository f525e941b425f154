"""MMD² equals its definition, holds its size, and knows a sample by nothing but its features and class."""

import tracemalloc
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from eyechart.oodbench.statistics import mmd
from eyechart.oodbench.statistics.mmd import median_distance, mmd2, mmd_equivalence

FEATURE = st.integers(-24, 24).map(lambda eighths: eighths / 8)


@st.composite
def samples(draw, least=2, most=9):
    n, d = draw(st.integers(least, most)), draw(st.shared(st.integers(1, 3), key="d"))
    return draw(arrays(np.float64, (n, d), elements=FEATURE)), draw(arrays(np.int64, n, elements=st.integers(0, 2)))


def kernel(one, one_class, two, two_class, bandwidth):
    return (one_class == two_class) * np.exp(-((one - two) ** 2).sum() / (2 * bandwidth**2))


def mean(pairs):
    return sum(pairs := [*pairs]) / len(pairs)


def brute(x, c, y, e, h):
    own = [
        mean(kernel(s[i], k[i], s[j], k[j], h) for i, j in permutations(range(len(s)), 2)) for s, k in ((x, c), (y, e))
    ]
    between = mean(kernel(x[i], c[i], y[j], e[j], h) for i, j in product(range(len(x)), range(len(y))))
    return sum(own) - 2 * between


@given(samples(), samples(), st.floats(0.3, 5))
def test_it_is_the_mean_over_pairs(one, two, bandwidth):
    assert mmd2(*one, *two, bandwidth) == pytest.approx(brute(*one, *two, bandwidth), abs=2e-6)


@given(samples(), samples())
def test_the_default_bandwidth_is_the_median_distance_of_both(one, two):
    both = [np.concatenate(pair) for pair in zip(one, two, strict=True)]
    assert mmd2(*one, *two) == pytest.approx(brute(*one, *two, median_distance(*both)), abs=2e-6)


@given(samples(), samples(), st.randoms(use_true_random=False))
def test_the_order_of_samples_and_the_numbers_of_classes_do_not_matter(one, two, rng):
    order = rng.sample(range(len(one[0])), len(one[0]))
    classes = np.array(rng.sample(range(9), 3))
    moved = mmd2(one[0][order], classes[one[1][order]], two[0], classes[two[1]])
    assert moved == pytest.approx(mmd2(*one, *two), abs=2e-6)


@given(samples(), samples())
def test_it_is_symmetric(one, two):
    assert mmd2(*one, *two) == pytest.approx(mmd2(*two, *one), abs=2e-6)


@given(samples(), samples(), st.integers(1, 7))
def test_blocks_of_any_size_give_the_same(one, two, block):
    assert mmd2(*one, *two, block=block) == pytest.approx(mmd2(*one, *two), abs=2e-6)


@given(samples(least=4), samples(least=4), st.integers(1, 7))
def test_the_whole_test_is_the_same_in_blocks(one, two, block):
    whole, parts = (mmd_equivalence(*one, *two, times=9, splits=9, block=size) for size in (1024, block))
    assert np.hstack(whole) == pytest.approx(np.hstack(parts), abs=2e-6, nan_ok=True)
    assert whole.mmd2 == pytest.approx(mmd2(*one, *two), abs=2e-6)


@given(samples(least=4), samples(least=4), st.floats(-50, 50), st.floats(0.5, 20))
def test_moving_and_scaling_everything_changes_nothing(one, two, by, factor):
    moved = mmd2(one[0] * factor + by, one[1], two[0] * factor + by, two[1])
    assert moved == pytest.approx(mmd2(*one, *two), abs=1e-5)


@given(samples())
def test_the_median_distance_is_that_of_pairs_within_classes(one):
    x, c = one
    pairs = [np.linalg.norm(x[i] - x[j]) for i, j in permutations(range(len(x)), 2) if c[i] == c[j]]
    apart = [distance for distance in pairs if distance > 0]
    expected = np.median(pairs) if pairs and np.median(pairs) > 0 else np.median(apart) if apart else 1
    assert median_distance(x, c) == pytest.approx(expected)


def test_drawn_pairs_have_nearly_the_median_of_all():
    rng = np.random.default_rng(1)
    x, c = rng.normal(size=(300, 4)), rng.integers(5, size=300)
    assert median_distance(x, c, pairs=5000) == pytest.approx(median_distance(x, c), rel=0.03)
    x[c == 4] *= 100
    few = (c < 4) | (np.arange(300) < 30)  # a class of few pairs, which are far apart, is drawn as seldom as it occurs
    assert median_distance(x[few], c[few], pairs=5000) == pytest.approx(median_distance(x[few], c[few]), rel=0.03)


def test_the_pairs_are_drawn_by_the_seed_which_is_0_by_default():
    x, c = drawn(np.random.default_rng(1), 30)
    found = {seed: median_distance(x, c, pairs=5, seed=seed) for seed in (0, 1)}
    assert found[0] == median_distance(x, c, pairs=5) != found[1]
    assert median_distance(x, c, pairs=1) in [np.linalg.norm(one - other) for one, other in permutations(x, 2)]


def weighted(x, c, first, second, h):
    pairs = [*permutations(range(len(x)), 2)]
    values = [kernel(x[i], c[i], x[j], c[j], h) for i, j in pairs]
    sums = [np.average(values, weights=[a[i] * b[j] for i, j in pairs])
            for a, b in ((first, first), (second, second), (first, second))]  # fmt: skip
    return sums[0] + sums[1] - 2 * sums[2]


def test_every_draw_is_the_mean_over_pairs_of_unlike_samples():
    rng = np.random.default_rng(9)
    (x, c), (y, e) = drawn(rng, 6), drawn(rng, 7)
    pool = mmd._pooled("test", (x, c), (y, e), 2.0, least=2)
    first, second = (side.astype(float) for side in mmd._draws(pool.first, 5, 4, seed=1))
    order = np.argsort([*c, *e], kind="stable")
    indices = [np.concatenate(both)[order] for both in ((x, y), (c, e))]
    expected = [weighted(*indices, *sides, 2.0) for sides in zip(first.T, second.T, strict=True)]
    found = mmd._discrepancies(pool, first.astype(np.uint8), second.astype(np.uint8), 1024)
    assert found == pytest.approx(expected, abs=2e-6)


def test_draws_keep_the_sizes_and_sides_they_should():
    side = np.array([1, 0, 1, 1, 0, 1, 1], np.uint8)
    first, second = mmd._draws(side, 50, 30, seed=2)
    assert (first[:, 0] == side).all()
    assert (second[:, :51] == 1 - first[:, :51]).all()
    assert ({*first[:, 51:81].sum(0)}, {*second[:, 51:81].sum(0)}) == ({2}, {3})
    assert not np.hstack([first[side == 0, 51:], second[side == 0, 51:81]]).any()
    assert not second[side == 1, 81:].any()
    assert {*first.sum(0)[81:], *first.sum(0)[:51]} == {5}
    assert len({*map(bytes, first[:, 81:].T)}) > 20


def test_limits_are_quantiles_of_the_draws():
    rng = np.random.default_rng(11)
    one, two = drawn(rng, 12), drawn(rng, 9)
    pool = mmd._pooled("test", one, two, 2.0, least=2)
    values = mmd._discrepancies(pool, *mmd._draws(pool.first, 40, 30, seed=1), 1024)
    null, halves, resamples = np.split(values[1:], [40, 70])
    found = mmd_equivalence(*one, *two, times=40, splits=30, seed=1, bandwidth=2.0)
    assert (found.null, found.tau) == pytest.approx((np.quantile(null, 0.95), np.quantile(halves, 0.95)))
    assert (*found.ci,) == pytest.approx(np.quantile(resamples, [0.025, 0.975]))
    assert found.p == (1 + (null >= found.mmd2 - 1e-9).sum()) / 41


def test_permutations_that_differ_from_the_observed_order_by_rounding_alone_count():
    rng = np.random.default_rng(15)
    x, y = (rng.choice([0.0, 0.3, 1.1], size=(9, 1)) for _ in range(2))
    same = np.zeros(9, int)
    found = mmd_equivalence(x, same, y, same, times=200, splits=1, seed=3, bandwidth=0.7)
    both = np.concatenate([x, y])
    first = mmd._draws(np.repeat([1, 0], 9).astype(np.uint8), 200, 1, seed=3)[0][:, 1:201] == 1
    null = [brute(both[side], same, both[~side], same, 0.7) for side in first.T]
    observed = brute(x, same, y, same, 0.7)
    assert sum(abs(value - observed) < 1e-9 for value in null) > 20  # of equal samples others are chosen
    assert found.p == (1 + sum(value >= observed - 1e-9 for value in null)) / 201


def test_the_papers_500_permutations_are_the_default_and_200_halves():
    x, c = drawn(np.random.default_rng(14), 30)
    found = mmd_equivalence(x, c, x + 9, c)
    assert found.p == 1 / 501
    assert found == mmd_equivalence(x, c, x + 9, c, times=500, splits=200)


def test_more_draws_need_no_more_kernels(monkeypatch):
    """Each tile of a class is computed once, whatever the permutations: 3 classes of 5 + 5 samples in blocks of 4."""
    tiles, kernel = [], mmd._kernel
    monkeypatch.setattr(mmd, "_kernel", lambda one, two: tiles.append(one.shape) or kernel(one, two))
    x, c = np.random.default_rng(12).normal(size=(15, 2)), np.repeat(range(3), 5)
    for times in (1, 200):
        mmd_equivalence(x, c, x + 1, c, times=times, splits=times, block=4)
    assert len(tiles) == 2 * 3 * 6  # of ten samples' three blocks, each with itself and those behind it


def test_memory_is_that_of_tiles():
    """The kernel of 4,000 samples of one class would take 64 MB in single precision."""
    x, c = np.random.default_rng(13).normal(size=(2000, 4)), np.zeros(2000, int)
    tracemalloc.start()
    mmd_equivalence(x, c, x, c, times=20, splits=5, block=256)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 16e6


def drawn(rng, n, shift=0.0):
    return rng.normal([shift, 0, 0], size=(n, 3)), rng.integers(3, size=n)


def test_samples_of_one_distribution_are_apart_by_nothing_in_the_mean():
    rng = np.random.default_rng(2)
    found = [mmd2(*drawn(rng, 20), *drawn(rng, 30), 2.0) for _ in range(1000)]
    assert abs(np.mean(found)) < 4 * np.std(found) / np.sqrt(len(found))


@pytest.mark.deep
def test_the_permutation_test_holds_its_size():
    rng = np.random.default_rng(3)
    found = [mmd_equivalence(*drawn(rng, 20), *drawn(rng, 25), times=99, splits=1, bandwidth=2.0).p for _ in range(250)]
    assert np.mean(np.array(found) <= 0.05) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 250)
    assert np.mean(found) == pytest.approx(0.5, abs=0.05)


@pytest.mark.deep
@pytest.mark.parametrize(("shift", "least"), [(0.0, 0.99), (0.7, 0.92)])
def test_the_bootstrap_covers_the_truth(shift, least):
    rng = np.random.default_rng(4)
    truth = np.mean([mmd2(*drawn(rng, 1000), *drawn(rng, 1000, shift), 2.0) for _ in range(10)]) if shift else 0
    found = [mmd_equivalence(*drawn(rng, 40), *drawn(rng, 50, shift), times=99, splits=1, bandwidth=2.0).ci
             for _ in range(200)]  # fmt: skip
    assert np.mean([low <= truth <= high for low, high in found]) >= least


def test_it_tells_other_features_and_other_classes():
    rng = np.random.default_rng(5)
    x, c = drawn(rng, 60)
    for other in ((x + 2, c), (x, (c + 1) % 3 * (c > 0))):
        found = mmd_equivalence(x, c, *other, times=199)
        assert (found.p, found.within) == (1 / 200, False)
        assert found.mmd2 > found.null


def test_a_sample_is_within_the_noise_of_a_large_reference_of_its_kind():
    rng = np.random.default_rng(6)
    found = mmd_equivalence(*drawn(rng, 60), *drawn(rng, 600), times=199)
    assert (found.equivalent, found.within) == (True, True)
    assert found.ci.low < found.mmd2 < found.ci.high < found.tau


def test_a_draw_of_nothing_but_one_sample_counts_nowhere():
    x = [[0.0], [1.0], [2.0], [4.0]]
    assert np.isfinite(np.hstack(mmd_equivalence(x, [0] * 4, x, [0] * 4, times=999))).all()


def test_a_seed_is_a_result_and_splits_do_not_move_permutations():
    rng = np.random.default_rng(7)
    one, two = drawn(rng, 20), drawn(rng, 20, 0.5)
    first, again = (mmd_equivalence(*one, *two, times=99, seed=5) for _ in range(2))
    assert first == again
    more = mmd_equivalence(*one, *two, times=99, splits=300, seed=5)
    assert (more.p, more.null, *more.ci) == pytest.approx((first.p, first.null, *first.ci), abs=1e-6)
    assert mmd_equivalence(*one, *two, times=99, seed=6).ci != first.ci


def test_equal_samples_are_as_far_apart_as_nothing():
    found = mmd_equivalence([[1.0]] * 5, [0] * 5, [[1.0]] * 6, [0] * 6, times=19)
    assert (found.mmd2, found.p, found.bandwidth) == (pytest.approx(0, abs=1e-6), 1, 1)


def test_a_large_offset_costs_no_digits():
    rng = np.random.default_rng(8)
    (x, c), (y, e) = ((np.round(512 * values) / 512, kinds) for values, kinds in (drawn(rng, 50), drawn(rng, 50)))
    for offset in (1e5, 1e8):  # to which values with few binary places are added without rounding
        assert mmd2(x + offset, c, y + offset, e, 2.0) == pytest.approx(mmd2(x, c, y, e, 2.0), abs=2e-6)

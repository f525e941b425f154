"""Numbers of resamples against the numbers of images that are written down as often as they are drawn."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.realbirdid.statistics.abstention_tradeoff import (
    harmonic_mean,
    harmonic_mean_bootstrap,
    ua_a,
)
from eyechart.realbirdid.statistics.hierarchy import Tree, threshold_steps
from eyechart.realbirdid.statistics.information_gain import information_gain_area
from eyechart.statistics.calibration import (
    brier_score,
    brier_score_bootstrap,
    calibration_error,
    calibration_error_bootstrap,
)
from eyechart.statistics.recall import mean_per_class_recall, mean_per_class_recall_bootstrap
from eyechart.statistics.resampling import bootstrap_counts, unit_bootstrap_shares, unit_bootstrap_totals
from eyechart.statistics.selective import accuracy_coverage_auc, balanced_weights, macro_auc
from eyechart.statistics.thresholds import accuracy_coverage_area

TREE = Tree.from_levels([[0, 1, 2, 3], [0, 0, 1, 1]])
TABLE = np.random.default_rng(5).dirichlet(np.full(4, 0.6), 64)
SURE = [0.0, 0.1, 0.35, 0.5, 0.9, 1.0, math.nan]
image = st.tuples(
    st.sampled_from(SURE),
    st.sampled_from([0.0, 1.0, math.nan]),
    st.integers(-1, 3),
    st.integers(0, 63),
    st.integers(0, 3),
)
images = st.lists(image, min_size=1, max_size=20)


@dataclass
class Images:
    """Images: how sure, whether right, of which class, with which probabilities."""

    sure: np.ndarray
    right: np.ndarray
    label: np.ndarray
    row: np.ndarray

    @classmethod
    def of(cls, rows):
        sure, right, label, row, counts = (np.array(column) for column in zip(*rows, strict=True))
        return cls(sure, right, label, row), counts

    def __getitem__(self, indices):
        return Images(self.sure[indices], self.right[indices], self.label[indices], self.row[indices])

    @property
    def without(self):
        return self.row % 3 == 0


def hm(found):
    known = ~np.isnan(found.right)
    sides = [found.right[known & kind] for kind in (~found.without, found.without)]
    return harmonic_mean(*(side.mean() for side in sides)) if all(map(len, sides)) else math.nan


def balanced(found):
    weights = np.where(
        np.isnan(found.sure), 0, balanced_weights(np.where(np.isnan(found.sure), np.nan, found.right), found.label)
    )
    return accuracy_coverage_area(found.sure, found.right, weights)


def auc(average):
    return lambda a, samples: accuracy_coverage_auc(a.sure, a.right, classes=a.label, average=average).resample(samples)


def auc_of(sure, right, samples):
    return accuracy_coverage_auc(sure, right).resample(samples)


def gain(a):
    return information_gain_area(TREE, threshold_steps(TREE, TABLE[a.row]), a.label)


NUMBERS = {
    "ua_a": (lambda a: ua_a(a.sure, a.without).value, lambda a, samples: ua_a(a.sure, a.without).resample(samples)),
    "hm": (hm, lambda a, samples: harmonic_mean_bootstrap(a.right, a.without, samples)),
    "ece": (
        lambda a: calibration_error(a.sure, a.right),
        lambda a, samples: calibration_error_bootstrap(a.sure, a.right, samples),
    ),
    "brier": (
        lambda a: brier_score(a.sure, a.right),
        lambda a, samples: brier_score_bootstrap(a.sure, a.right, samples),
    ),
    "auc": (
        lambda a: accuracy_coverage_area(a.sure, a.right),
        lambda a, samples: auc_of(a.sure, a.right, samples),
    ),
    "auc_macro": (lambda a: macro_auc(a.sure, a.right, a.label), auc("macro")),
    "auc_balanced": (balanced, auc("balanced")),
    "recall": (
        lambda a: mean_per_class_recall(a.right, a.label, 4),
        lambda a, samples: mean_per_class_recall_bootstrap(a.right, a.label, 4, samples),
    ),
    "ig": (
        lambda a: gain(a).value,
        lambda a, samples: gain(a).resample(samples),
    ),
}
every = pytest.mark.parametrize(("value", "draws"), NUMBERS.values(), ids=NUMBERS)
ANEW = {name: number for name, number in NUMBERS.items() if name != "recall"}  # what each resample is asked for anew
anew = pytest.mark.parametrize(("value", "draws"), ANEW.values(), ids=ANEW)


@pytest.mark.deep
@anew
@given(images)
def test_a_draw_is_the_number_of_images_written_down_as_often_as_they_are_drawn(value, draws, rows):
    found, counts = Images.of(rows)
    plain = value(found[np.repeat(np.arange(len(counts)), counts)])
    assert draws(found, [counts])[0] == pytest.approx(plain, nan_ok=True)


@pytest.mark.deep
@every
@given(images, st.randoms(use_true_random=False))
def test_the_order_of_images_is_irrelevant(value, draws, rows, random):
    found, counts = Images.of(rows)
    order = np.array(random.sample(range(len(counts)), len(counts)))
    assert draws(found[order], [counts[order]]) == pytest.approx(draws(found, [counts]), nan_ok=True)


@pytest.fixture
def before():
    """Images with all that there can be."""
    random, n = np.random.default_rng(1), 400
    sure = np.round(random.random(n), 2)
    right = np.where(random.random(n) < 0.05, np.nan, random.random(n) < sure)
    return Images(sure, right, random.integers(0, 4, n), random.integers(0, 64, n))


@anew
def test_the_draws_of_a_change_are_a_paired_bootstrap(value, draws, before):
    after = Images(before.sure[::-1], 1 - before.right, before.label, before.row[::-1])
    plain = [value(after[taken]) - value(before[taken]) for taken in resampled_rows(400, 20, 9)]
    found = draws(after, bootstrap_counts(400, 20, 9)) - draws(before, bootstrap_counts(400, 20, 9))
    assert found == pytest.approx(np.array(plain))


def resampled_rows(n, times, seed):
    """The same resamples, row by row."""
    random = np.random.default_rng(seed)
    return [random.integers(n, size=n) for _ in range(times)]


@every
def test_draws_lie_around_the_value(value, draws, before):
    found = draws(before, bootstrap_counts(400, 300, 2))
    raised = 0.03 if draws is NUMBERS["ece"][1] else 0  # chance widens gaps whichever way they point
    assert abs(found.mean() - value(before)) < 0.4 * found.std() + raised
    assert 0.002 < found.std() < 0.06


@given(images, st.integers(1, 3), st.randoms(use_true_random=False))
@pytest.mark.parametrize("name", ["ece", "brier", "auc"])
def test_label_sets_are_drawn_together_as_each_alone(name, rows, count, random):
    found, counts = Images.of(rows)
    columns = np.array([[math.nan if math.isnan(one) else random.choice((0.0, 1.0)) for _ in range(count)]
                        for one in found.right])  # fmt: skip
    samples, draws = [counts, np.ones_like(counts), counts[::-1]], NUMBERS[name][1]
    together = draws(Images(found.sure, columns, found.label, found.row), samples)
    alone = [draws(Images(found.sure, column, found.label, found.row), samples) for column in columns.T]
    assert together == pytest.approx(np.stack(alone, axis=1), nan_ok=True)


def test_areas_of_classes_are_drawn_for_each_label_set():
    columns, classes, samples = np.array([[1.0, 0], [0, 0], [1, 1]]), [0, 1, 1], [[1, 1, 1], [0, 2, 1]]
    for average in ("macro", "balanced"):
        found, *alone = (
            accuracy_coverage_auc([0.9, 0.5, 0.1], outcomes, classes=classes, average=average).resample(samples)
            for outcomes in (columns, *columns.T)
        )
        assert found == pytest.approx(np.stack(alone, axis=1))


@pytest.mark.parametrize("draws", [auc_of, brier_score_bootstrap, calibration_error_bootstrap])
@pytest.mark.parametrize(
    ("correct", "wanted"),
    [([[1.0, math.nan]], "NaN under some label sets only. Got 1"), (np.zeros((1, 0)), "one label set at least")],
)
def test_label_sets_that_score_other_images_are_refused(draws, correct, wanted):
    with pytest.raises(ValueError, match=wanted):
        draws([0.5], correct, [[1]])


@given(images)
def test_recall_of_every_image_drawn_once_is_recall(rows):
    found, counts = Images.of(rows)
    draws = mean_per_class_recall_bootstrap(found.right, found.label, 4, [np.ones_like(counts)])
    assert draws[0] == pytest.approx(mean_per_class_recall(found.right, found.label, 4), nan_ok=True)


@given(st.lists(st.sampled_from([0.0, 1.0]), min_size=3, max_size=40))
def test_recall_over_classes_of_one_image_is_drawn_as_accuracy_is(right):
    samples = list(bootstrap_counts(len(right), 20, 3))
    draws = mean_per_class_recall_bootstrap(right, range(len(right)), len(right), samples)
    assert draws == pytest.approx(np.array(samples) @ right / len(right))


@every
def test_a_resample_of_other_images_is_refused(value, draws, before):
    with pytest.raises(ValueError, match=r"'samples' parameter of \w+[_.]\w+ must be of length 400"):
        draws(before, [np.ones(399, np.int64)])


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 3), st.integers(0, 3)), max_size=30))
def test_totals_are_those_of_the_resamples(rows):
    table = np.array(rows, np.int64).reshape(-1, 3)
    strata, values = table[:, 0], table[:, 1:]
    plain = [counts @ values for counts in bootstrap_counts(len(table), 70, 3, strata)]
    assert unit_bootstrap_totals(values, 70, 3, strata).tolist() == np.array(plain).tolist()


def test_shares_of_nothing_have_no_value():
    found = unit_bootstrap_shares([[1, 0], [0, 0]], [[1, 0], [1, 0]], times=50, seed=1)
    assert found.shape == (50, 2)
    assert np.isnan(found[:, 1]).all()
    assert set(found[:, 0]) == {0.0, 0.5, 1.0}


def test_strata_are_kept_apart_among_remembered_draws():
    one, other = (list(bootstrap_counts(6, 3, 1, strata)) for strata in ([0, 0, 0, 0, 1, 1], None))
    assert all(counts[4:].sum() == 2 for counts in one)
    assert not np.array_equal(one, other)
    assert np.array_equal(one, list(bootstrap_counts(6, 3, np.random.default_rng(1), [0, 0, 0, 0, 1, 1])))

"""Photographs of one observation are drawn together: seen twice, a bird makes no number surer."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyechart.realbirdid.statistics.abstention_tradeoff import (
    abstention_rate_at,
    harmonic_mean_interval,
    ua_a,
)
from eyechart.realbirdid.statistics.cochran import cochran_q
from eyechart.realbirdid.statistics.hierarchy import Tree, threshold_steps
from eyechart.realbirdid.statistics.information_gain import information_gain_area
from eyechart.statistics.calibration import calibration_error_interval
from eyechart.statistics.clusters import clustered_stratified_interval, clustered_wilson
from eyechart.statistics.intervals import stratified_interval, wilson
from eyechart.statistics.measures import paired_change
from eyechart.statistics.selective import accuracy_coverage_auc

pytestmark = pytest.mark.deep

TREE = Tree.from_levels([[0, 1, 2, 3], [0, 0, 1, 1]])
FEW = settings(max_examples=25)
seeds = st.integers(0, 2**32)


class Birds:
    """Twelve observations with some photographs each: how sure, whether right, of which class, without an answer."""

    def __init__(self, seed: int, copies: int) -> None:
        random, n = np.random.default_rng(seed), 12
        self.index = np.repeat(np.arange(n), copies)
        self.sure = random.random(n)[self.index]
        self.other = random.random(n)[self.index]
        self.right = random.integers(0, 2, n).astype(float)[self.index]
        self.label = random.integers(0, 4, n)[self.index]
        self.without = (np.arange(n) % 3 == 0)[self.index]
        self.tables = [random.dirichlet(np.full(4, 0.6), n)[self.index] for _ in range(2)]

    def intervals(self):
        """Every interval over observations."""
        by, how = {"clusters": self.index}, {"times": 60, "seed": 5, "clusters": self.index}
        found = [threshold_steps(TREE, table) for table in self.tables]
        sides = [self.right[mask] for mask in (self.without, ~self.without)]
        indices = self.index[self.without], self.index[~self.without]
        yield ua_a(self.sure, self.without).interval(**how)
        yield abstention_rate_at(self.sure, self.without).interval(**how)
        yield harmonic_mean_interval(*sides, times=60, seed=5, clusters=indices)
        yield accuracy_coverage_auc(self.sure, self.right).interval(**how)
        macro = accuracy_coverage_auc(self.sure, self.right, classes=self.label, average="macro")
        yield macro.interval(**how)
        gains = [information_gain_area(TREE, steps, self.label) for steps in found]
        yield gains[0].interval(**how)
        yield paired_change(*gains, **how).interval
        yield paired_change(*(ua_a(side, self.without) for side in (self.sure, self.other)), **how).interval
        yield calibration_error_interval(self.sure, self.right, bins=1, **by)


@FEW
@given(seeds, st.integers(2, 4))
def test_birds_that_are_seen_again_change_no_interval(seed, copies) -> None:
    once, often = (list(Birds(seed, each).intervals()) for each in (1, copies))
    np.testing.assert_allclose(often[:-1], once[:-1], atol=1e-9)
    assert (np.diff(often[-1]) >= 0.8 * np.diff(once[-1])).all()  # its imaginary images weigh less


@FEW
@given(seeds)
def test_images_of_one_observation_each_are_drawn_as_before(seed) -> None:
    birds = Birds(seed, 1)
    plain = [
        each.interval(60, 5)
        for each in (ua_a(birds.sure, birds.without), accuracy_coverage_auc(birds.sure, birds.right))
    ]
    assert plain == [[*birds.intervals()][index] for index in (0, 3)]
    assert calibration_error_interval(birds.sure, birds.right, bins=1) == [*birds.intervals()][-1]


@FEW
@given(seeds, st.integers(2, 4))
def test_shares_and_tests_of_observations_seen_again_are_those_of_observations(seed, copies) -> None:
    once, often = Birds(seed, 1), Birds(seed, copies)
    assert clustered_wilson(often.right, often.index) == pytest.approx(wilson(once.right.sum(), 12))
    low, high = clustered_stratified_interval(often.right, often.label, often.index)
    narrow = stratified_interval(often.right, often.label)
    assert low <= narrow.low + 1e-12
    assert narrow.high <= high + 1e-12
    answers = np.random.default_rng(seed).integers(0, 2, (12, 3))
    plain, same = cochran_q(answers), cochran_q(answers[often.index], often.index)
    assert (same.q, same.p) == (pytest.approx(plain.q), pytest.approx(plain.p))
    assert cochran_q(answers, np.arange(12)) == plain


def test_a_rate_of_observations_is_covered_as_often_as_it_says() -> None:
    """UA/A of three photographs an observation, whose uncertainty is mostly the observation's."""
    random, covered, plainly = np.random.default_rng(6), 0, 0
    clusters, without = np.repeat(np.arange(80), 3), np.repeat(np.arange(80) % 2 == 0, 3)
    for seed in range(200):
        unsure = without * 0.8 + random.normal(0, 1, 80)[clusters] + random.normal(0, 0.4, 240)
        for by in (clusters, None):
            low, high = ua_a(unsure, without).interval(300, seed, clusters=by)
            inside = low <= 0.7004 <= high  # normal, 0.8 apart, variance 1.16 each
            covered, plainly = (covered + inside, plainly) if by is not None else (covered, plainly + inside)
    assert abs(covered / 200 - 0.95) <= 0.02 + 2.5 * 0.0154  # standard errors
    assert plainly / 200 < 0.85

"""Tests of `eyechart.realbirdid.statistics.threshold_steps`."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.realbirdid.statistics.hierarchy import threshold_steps
from eyechart.realbirdid.statistics.information_gain import (
    information_gain,
)
from eyechart.realbirdid.statistics.threshold_steps import ThresholdSteps
from tests.realbirdid.statistics.trees import TREES, answers

WAYS = [{}, {"correct_only": True}, {"depth": True}, {"correct_only": True, "depth": True}]
ways = pytest.mark.parametrize("how", WAYS, ids=lambda how: "+".join(how) or "plain")

cases = st.sampled_from(list(TREES.values())).flatmap(lambda tree: st.tuples(st.just(tree), answers(tree)))


@ways
def test_always_the_root_is_the_roots_point_alone(how) -> None:
    tree, n = TREES["species and genera"], 3
    still = ThresholdSteps(np.arange(n + 1), np.ones(n), np.full(n, tree.root))
    found = information_gain(tree, still, np.arange(n), **how)
    assert [column.tolist() for column in found[:3]] == [[math.inf], [0], [1]]
    assert found.area == 0


@pytest.mark.deep
@ways
@given(cases)
def test_only_the_order_of_the_thresholds_counts(how, case) -> None:
    tree, (leaves, truth) = case
    steps = threshold_steps(tree, leaves)
    bent = ThresholdSteps(steps.offsets, np.exp(3 * steps.thresholds), steps.nodes)
    one, other = (information_gain(tree, each, truth, **how) for each in (steps, bent))
    for ours, theirs in zip(one[1:], other[1:], strict=True):
        np.testing.assert_array_equal(ours, theirs)

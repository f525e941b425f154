"""Tests of `eyechart.oodbench.division.flags`."""

from math import exp

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from eyechart.oodbench.division.flags import combine_flags, compute_flags, purified_probabilities
from tests.oodbench.division.scenes import ABSENT, PRESENT, scenes

SHARES = st.sampled_from([0.0, 0.05, 0.3, 1.0]) | st.floats(0, 1)


def softmax(scores: dict[int, float], label: int) -> dict[int, float]:
    """The distribution over a label and the absent ones, once all other labels are at minus infinity."""
    top = max(scores.values())
    terms = {name: exp(score - top) for name, score in scores.items()}
    return {name: term / sum(terms.values()) for name, term in terms.items()}


def oracle(logits, states, threshold):
    """Each label's probability and code, case by case."""
    labels, others = ([index for index, state in enumerate(states) if state == kind] for kind in (PRESENT, ABSENT))
    of = {y: softmax({name: float(logits[name]) for name in (y, *others)}, y) for y in labels}
    first = any(all(logits[other] > logits[y] for y in labels) for other in others) if labels else False
    by_probability = any(all(of[y][other] > of[y][y] for y in labels) for other in others if labels)
    assert first == by_probability or rounded(of)
    return {y: (of[y][y], 1 * first + 2 * (of[y][y] < threshold)) for y in labels}


def rounded(of) -> bool:
    """Whether probabilities are so near that logits tell apart what they do not."""
    return any(
        abs(p - q) < 1e-12 for found in of.values() for a, p in found.items() for b, q in found.items() if a != b
    )


@given(scenes(), SHARES)
def test_it_is_the_papers_rule(world, threshold):
    for logits in world.logits:
        found = compute_flags(logits, world.present, world.absent, threshold)
        for row, states in enumerate(world.states):
            for label, (probability, code) in oracle(logits[row], states, threshold).items():
                assert found.probability[row, label] == pytest.approx(probability, rel=1e-9, abs=1e-300)
                assume(abs(probability - threshold) > 1e-9)
                assert found.codes[row, label] == code
        assert np.isnan(found.probability[~world.present]).all()
        assert not found.codes[~world.present].any()


@given(scenes())
def test_purifying_leaves_a_label_its_rank_among_absent_ones(world):
    logits = world.logits[0][0].astype(np.float64)
    label = 0
    others = [index for index, state in enumerate(world.states[0]) if state == ABSENT and index != label]
    shared = np.isin(np.arange(len(logits)), [label, *others])
    alone = np.eye(len(logits), dtype=bool)
    every = {y: purified_probabilities([logits], [alone[y]], [shared & ~alone[y]])[0, y] for y in (label, *others)}
    assert sum(every.values()) == pytest.approx(1)
    for y in others:
        if abs(every[y] - every[label]) > 1e-12:
            assert (every[y] > every[label]) == (logits[y] > logits[label])


@given(scenes(), SHARES, SHARES)
def test_a_higher_threshold_flags_no_less(world, one, other):
    for logits in world.logits:
        low, high = (
            compute_flags(logits, world.present, world.absent, share).codes > 0 for share in sorted((one, other))
        )
        assert (low <= high).all()


@given(scenes(), SHARES)
def test_more_detectors_never_enlarge_what_all_flag(world, threshold):
    every = [compute_flags(logits, world.present, world.absent, threshold).codes > 0 for logits in world.logits]
    for count in range(1, len(every)):
        (hard, simple), (harder, more) = combine_flags(every[:count]), combine_flags(every[: count + 1])
        assert (harder <= hard).all()
        assert ((hard | simple) <= (harder | more)).all()


@given(scenes(2), SHARES)
def test_of_two_detectors_one_set_is_the_intersection_and_one_the_difference(world, threshold):
    one, other = (compute_flags(logits, world.present, world.absent, threshold).codes > 0 for logits in world.logits)
    hard, simple = combine_flags([one, other])
    assert (hard == (one & other)).all()
    assert (simple == (one ^ other)).all()


@given(st.integers(0, 99))
def test_not_even_the_last_digit_hangs_on_the_order_of_categories(seed):
    random = np.random.default_rng(seed)
    logits, present, order = random.normal(size=(4, 200)), random.random((4, 200)) < 0.1, random.permutation(200)
    found = purified_probabilities(logits, present, ~present)[:, order]
    again = purified_probabilities(logits[:, order], present[:, order], ~present[:, order])
    np.testing.assert_array_equal(found, again)

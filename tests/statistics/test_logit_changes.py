"""The change of logits: what makes two models equal."""

import numpy as np
import pytest

from eyechart.statistics.logit_changes import logit_change


def test_equal_models_have_equal_answers() -> None:
    draw = np.random.default_rng(0)
    for scale in (1e-5, 1e-2, 1e-1, 1.0):
        before = draw.normal(size=(20, 5))
        after = before + draw.uniform(-scale, scale, before.shape)
        change = logit_change(before, after)
        same = np.array_equal(before.argmax(1), after.argmax(1))
        assert same or not change.is_equal
        assert change.largest == np.abs(after - before).max()
    assert logit_change(before, before).is_equal


def test_a_change_of_half_the_margin_is_not_equal() -> None:
    assert not logit_change([[1.0, 0.0]], [[0.5, 0.5]]).is_equal
    assert logit_change([[1.0, 0.0]], [[0.5625, 0.4375]]).is_equal
    assert not logit_change([[1.0, 1.0, 0.0]], [[1.0, 1.0, 0.1]]).is_equal  # a tie is an answer by chance
    assert logit_change([[1.0, 1.0, 0.0]], [[1.0, 1.0, 0.0]]).is_equal  # nothing moved


@pytest.mark.parametrize("odd", [np.nan, np.inf])
@pytest.mark.parametrize("side", [0, 1])
def test_what_is_finite_on_one_side_alone_is_not_equal(odd: float, side: int) -> None:
    rows = [np.array([[2.0, 0.0], [0.0, 1.0]]), np.array([[2.0, 0.0], [0.0, 1.0]])]
    rows[side][1, 0] = odd
    assert not logit_change(*rows).is_equal


def test_what_is_not_finite_on_both_sides_does_not_count() -> None:
    nothing, no_candidate = [np.nan] * 3, [2.0, 1.0, -np.inf]
    assert logit_change([nothing, no_candidate], [nothing, [2.25, 1.0, -np.inf]]) == (0.25, 1.0)
    assert not logit_change([nothing], [nothing]).is_equal


@pytest.mark.parametrize(
    ("before", "after", "name"),
    [
        (np.zeros((0, 3)), np.zeros((0, 3)), "before"),
        (np.zeros((3, 1)), np.zeros((3, 1)), "before"),
        (np.zeros((3, 2)), np.zeros((3, 3)), "after"),
    ],
)
def test_other_shapes_are_refused(before: np.ndarray, after: np.ndarray, name: str) -> None:
    with pytest.raises(ValueError, match=f"The '{name}' parameter of logit_change must be"):
        logit_change(before, after)

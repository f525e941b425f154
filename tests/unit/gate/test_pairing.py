"""Which outcomes and draws a number is given, by its name, ground truth and set."""

from typing import Any

import numpy as np
import pytest

from eyechart.gate.pairing import draws_of, key_of, paired

KEY, OTHER = ("acc1", "ImGT", "A"), ("acc1", "ReGT", "A")


def test_a_number_is_given_what_has_its_key_and_nothing_else(named: Any) -> None:
    right, values = np.array([1.0, 0.0]), np.array([0.5, 0.25])
    metrics = [named(), named(labels="ReGT"), named(name="f1")]
    one, other, third = paired(metrics, {KEY: right}, {OTHER: lambda: values}, {OTHER: 7})
    assert [each.metric for each in (one, other, third)] == metrics
    assert [each.outcomes is right for each in (one, other, third)] == [True, False, False]
    assert [each.draws is values for each in (one, other, third)] == [False, True, False]
    assert [each.units for each in (one, other, third)] == [None, 7, None]
    assert (other.outcomes, one.draws) == (None, None)
    assert next(paired(metrics, {}, {})).units is None


def test_draws_are_not_taken_for_a_number_without_a_value(named: Any) -> None:
    def draw() -> Any:
        pytest.fail("draws are costly")

    without = named(value=None)
    assert key_of(without) == KEY
    assert draws_of(without, {KEY: draw}) is None

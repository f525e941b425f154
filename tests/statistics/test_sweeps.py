"""Tests of `eyechart.statistics._sweeps`."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.statistics._sweeps import count_blocks, total_resamples
from eyechart.statistics.resampling import (
    bootstrap_counts,
)

pytestmark = pytest.mark.deep

seeds = st.integers(0, 2**32)


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 3)), max_size=9), seeds)
def test_a_table_has_the_counts_that_are_iterated_and_measures_are_the_same(units, seed) -> None:
    strata, clusters = (np.array([unit[side] for unit in units], int) for side in range(2))
    samples, values = bootstrap_counts(len(units), 5, seed, strata, clusters), np.random.default_rng(seed).random(9)
    table, sides = samples.table(), values[: len(units), None]
    assert table is not None
    np.testing.assert_array_equal(table, np.array(list(samples)).reshape(5, len(units)))
    rows = np.arange(len(units))[::2]
    blocks = [[*count_blocks("test", taken, len(units), rows)] for taken in (samples, list(samples))]
    np.testing.assert_array_equal(np.concatenate(blocks[0]), np.concatenate(blocks[1]))
    totals = [total_resamples("test", taken, sides) for taken in (samples, list(samples))]
    np.testing.assert_allclose(totals[0], totals[1], rtol=1e-14)


@pytest.mark.parametrize("measure", [count_blocks, total_resamples])
def test_a_table_of_another_length_is_refused(measure) -> None:
    more = (7, slice(None)) if measure is count_blocks else (np.zeros((7, 1)),)
    with pytest.raises(ValueError, match="of length 7"):
        list(measure("test", bootstrap_counts(6, 3), *more))

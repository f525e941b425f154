"""Objects are counted as a walk over them one by one counts them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from eyechart.oodbench.data.tallies import tally_instances

SHAPE = (3, 4)
CELLS = st.lists(st.tuples(st.integers(0, SHAPE[0] - 1), st.integers(0, SHAPE[1] - 1)), max_size=12)


@given(CELLS, CELLS, CELLS)
def test_a_cell_counts_things_and_crowds_and_doubt_makes_it_unknown_or_open(
    things: list[tuple[int, int]], crowds: list[tuple[int, int]], doubtful: list[tuple[int, int]]
) -> None:
    found = tally_instances(SHAPE, *(np.array(cells, np.int64) for cells in (things, crowds, doubtful)))
    for cell in np.ndindex(SHAPE):
        count = things.count(cell) + crowds.count(cell)
        assert found.counts[cell] == count
        assert found.known[cell] == (count > 0 or cell not in doubtful)
        assert found.countable[cell] == (cell not in crowds and cell not in doubtful)

"""What tests of realbirdid/statistics share."""

import numpy as np
from hypothesis import strategies as st

from eyechart.realbirdid.statistics.hierarchy import Tree

PARTS = 16  # probabilities are sixteenths, so that sums are exact and ties abound

TREES = {
    "species and genera": Tree.from_levels([[0, 1, 2, 3, 4], [0, 1, 1, 2, 2]]),
    "and families": Tree.from_levels([[0, 1, 2, 3, 4], [1, 0, 2, 2, 3], [0, 0, 1, 1, 0]]),
    "a star": Tree.from_levels([range(4)]),
    "uneven": Tree(np.array([5, 5, 6, 7, 7, 6, 7, -1])),
    "one species": Tree.from_levels([[0], [0]]),
}


@st.composite
def answers(draw, tree):
    """Some images: their probabilities in sixteenths, and the deepest node that is true."""
    cuts = st.lists(st.integers(0, PARTS), min_size=tree.n_leaves - 1, max_size=tree.n_leaves - 1).map(sorted)
    drawn = draw(st.lists(st.tuples(cuts, st.integers(0, tree.root)), min_size=1, max_size=6))
    return np.array([np.diff([0, *row, PARTS]) / PARTS for row, _ in drawn]), np.array([true for _, true in drawn])

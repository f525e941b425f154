"""Files of answers as arrays, against plain loops: ranked answers, and the rows of an index by key or file name."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from eyechart.classification.answers.image_answers import TOP, BestClasses

RANKED = st.integers(1, 9).flatmap(
    lambda ranks: st.lists(st.lists(st.integers(-1, 7), min_size=ranks, max_size=ranks), min_size=1, max_size=6)
)


def rank_in_loops(indices: list[int]) -> dict[int, float]:
    """The score of each class of a line of ranked answers, best first."""
    scores: dict[int, float] = {}
    for rank, index in enumerate(indices):
        if index >= 0:
            scores.setdefault(index, len(indices) - rank)
    return scores


@given(RANKED)
def test_ranked_answers_have_the_classes_and_scores_of_a_loop(ranked: list[list[int]]) -> None:
    best = BestClasses.of_ranked(np.array(ranked, np.int64))
    for row, indices in enumerate(ranked):
        expected = [*rank_in_loops(indices).items()][:TOP]
        known = best.classes[row] >= 0
        assert [*zip(best.classes[row][known], best.scores[row][known], strict=True)] == expected
        assert np.isneginf(best.scores[row][~known]).all()

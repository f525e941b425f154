"""Data sets pooled: rows are drawn and shuffled within them, so that their sizes make no fall of their own."""

import numpy as np
import pytest

from eyechart.oodbench.statistics.degradation import degradation, tost
from eyechart.statistics.resampling import bootstrap_totals, permutation_totals

GOOD, POOR = [1, 0, 0, 1], [0, 0, 1, 1]
EASY, DIFFICULT = [GOOD] * 9 + [POOR], [GOOD] + [POOR] * 9
MIXED = np.array(EASY * 10 + DIFFICULT * 2), np.array(EASY + DIFFICULT * 10)  # ID is mostly of the easy data set
STRATA = [0] * 100 + [1] * 20, [0] * 10 + [1] * 100


def test_one_stratum_is_none():
    rows, other = MIXED
    assert (bootstrap_totals(rows, 50, 3, [4] * len(rows)) == bootstrap_totals(rows, 50, 3)).all()
    inside = ([1] * len(rows), [1] * len(other))
    pairs = zip(permutation_totals(rows, other, 50, 3, inside), permutation_totals(rows, other, 50, 3), strict=True)
    assert all((one == two).all() for one, two in pairs)


def test_of_each_stratum_as_many_rows_are_drawn_as_it_has():
    drawn = bootstrap_totals([[1, 0]] * 3 + [[0, 1]] * 5, 40, 0, [0] * 3 + [1] * 5)
    assert drawn.tolist() == [[3, 5]] * 40


def test_no_row_is_shuffled_out_of_its_stratum():
    one, other = permutation_totals(
        [[1, 0]] * 3 + [[0, 1]], [[1, 0]] * 2 + [[0, 1]] * 7, 40, 0, ([0] * 3 + [1], [0] * 2 + [1] * 7)
    )
    assert one.tolist() == [[3, 1]] * 40
    assert other.tolist() == [[2, 7]] * 40


def test_a_fall_that_is_all_composition_is_chance_within_strata_alone():
    inside, across = (degradation(*MIXED, 400, 0, strata)["acc"] for strata in (STRATA, None))
    assert inside.delta == across.delta > 0.2
    assert across.p < 0.01
    assert inside.p > 0.05


def test_models_are_compared_within_strata():
    models = [np.stack([rows, rows, rows[::-1]]) for rows in MIXED]
    narrow, wide = (tost(*models, 400, 0, strata)["acc"] for strata in (STRATA, None))
    assert narrow.delta == wide.delta == 0
    assert narrow.eta < wide.eta


@pytest.mark.parametrize("strata", [[0], [[0, 0]], [0.5, 1], [-1, 0]])
def test_strata_that_do_not_fit_are_refused(strata):
    with pytest.raises(ValueError, match=r"The 'strata' parameter of bootstrap_totals must be"):
        bootstrap_totals([[1, 0], [0, 1]], 5, 0, strata)

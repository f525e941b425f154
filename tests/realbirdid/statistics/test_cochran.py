"""Cochran's Q against a table worked out by hand, against permutations within images, and against its relatives."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.linalg import helmert
from scipy.stats import friedmanchisquare

from eyechart.realbirdid.statistics.cochran import cochran_q

tables = st.tuples(st.integers(1, 12), st.integers(2, 5)).flatmap(lambda shape: arrays(bool, shape))
BY_HAND = np.repeat([[1, 1, 1], [1, 1, 0], [0, 1, 0], [0, 1, 1], [0, 0, 0]], [2, 4, 3, 1, 2], axis=0)


def test_a_table_worked_out_by_hand() -> None:
    # wordings: 6, 10 and 3 of 12; images' sums: 3 twice, 2 five times, 1 three times, 0 twice
    # Q = 2 (3 (36 + 100 + 9) - 19²) / (3 * 19 - (9 * 2 + 4 * 5 + 1 * 3)) = 2 * 74 / 16
    assert cochran_q(BY_HAND) == (9.25, 2, pytest.approx(math.exp(-9.25 / 2)), 12)


def test_permutations_within_images_agree() -> None:
    random = np.random.default_rng(0)
    chance = random.uniform(0.1, 0.9, 60)[:, None]
    table = random.random((60, 4)) < np.clip(chance + np.array([0, 0, 0.05, 0.12]), 0, 1)
    q, _, p, _ = cochran_q(table)
    beyond = [cochran_q(random.permuted(table, axis=1)).q >= q - 1e-9 for _ in range(3000)]
    assert 0.01 < p < 0.9
    assert np.mean(beyond) == pytest.approx(p, abs=0.04)


def test_p_is_uniform_where_wordings_do_not_differ() -> None:
    random = np.random.default_rng(1)
    tables = (random.random((80, 5)) < random.uniform(0.2, 0.8, 80)[:, None] for _ in range(600))
    assert np.mean([cochran_q(table).p < 0.05 for table in tables]) == pytest.approx(0.05, abs=0.02)


@given(tables)
def test_q_is_friedmans_statistic_of_two_ranks(table) -> None:
    uneven = (table.any(axis=1) & ~table.all(axis=1)).any()
    found = cochran_q(table)
    if uneven and table.shape[1] > 2:
        assert found[::2] == pytest.approx(friedmanchisquare(*table.T.astype(int)))
    assert found.df == table.shape[1] - 1
    assert found.q >= -1e-9
    assert 0 <= found.p <= 1


@given(tables.filter(lambda table: table.shape[1] == 2))
def test_of_two_wordings_it_is_mcnemars(table) -> None:
    b, c = int((table[:, 0] & ~table[:, 1]).sum()), int((~table[:, 0] & table[:, 1]).sum())
    assert cochran_q(table).q == pytest.approx((b - c) ** 2 / max(b + c, 1))


@given(tables, st.randoms(use_true_random=False))
def test_the_order_of_images_and_wordings_does_not_count(table, random) -> None:
    rows, columns = (random.sample(range(size), size) for size in table.shape)
    assert cochran_q(table[rows][:, columns]) == pytest.approx(cochran_q(table))
    assert cochran_q(~table) == pytest.approx(cochran_q(table))


@given(tables)
def test_images_alike_under_all_wordings_say_nothing(table) -> None:
    more = np.concatenate([table, np.ones((3, table.shape[1]), bool), np.zeros((2, table.shape[1]), bool)])
    assert cochran_q(more)[:3] == pytest.approx(cochran_q(table)[:3])


@given(tables)
def test_an_image_that_is_not_read_under_a_wording_is_left_out(table) -> None:
    unread = np.full((1, table.shape[1]), np.nan)
    unread[0, 1:] = 1
    assert cochran_q(np.concatenate([table.astype(float), unread])) == cochran_q(table)


@pytest.mark.parametrize("value", [0, 1])
def test_where_no_wording_differs_on_any_image_nothing_is_found(value) -> None:
    assert cochran_q(np.full((4, 3), value)) == (0, 2, 1, 4)
    assert cochran_q(np.full((1, 15), value)) == (0, 14, 1, 1)


@given(
    st.integers(2, 12).flatmap(
        lambda n: st.tuples(arrays(bool, (n, 3)), st.lists(st.integers(0, 3), min_size=n, max_size=n))
    )
)
def test_clusters_divide_q_by_the_mean_effect_on_contrasts(drawn) -> None:
    table, clusters = drawn[0].astype(float), np.array(drawn[1])
    scores = table @ helmert(3).T  # of each image, on two contrasts of the three wordings
    totals = np.array([scores[clusters == each].sum(axis=0) for each in {*drawn[1]}])
    plain, found = cochran_q(table), cochran_q(table, clusters)
    effect = max(1, (totals**2).sum() / (scores**2).sum()) if plain.q else 1
    assert found.q == pytest.approx(plain.q / effect)
    assert found.p == pytest.approx(math.exp(-found.q / 2))


def test_without_images_there_is_no_number() -> None:
    assert np.isnan([cochran_q(np.zeros((0, 3)))[::2], cochran_q([[math.nan, 1, 1]])[::2]]).all()

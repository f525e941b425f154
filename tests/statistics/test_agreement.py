"""Correlation matrices over models."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from scipy.stats import spearmanr
from sklearn.metrics import matthews_corrcoef

from eyechart.statistics.agreement import phi_matrix, spearman_matrix

pytestmark = pytest.mark.deep

shapes = array_shapes(min_dims=2, max_dims=2, max_side=12)
correctness = arrays(np.float64, shapes, elements=st.sampled_from([0.0, 1.0, 1.0, math.nan]))
recalls = arrays(np.float64, shapes, elements=st.sampled_from([0.0, 0.1, 0.3, 0.3, 0.7, 1.0, math.nan]))
MATRICES = [(phi_matrix, correctness), (spearman_matrix, recalls)]
BOTH = pytest.mark.parametrize(("matrix", "tables"), MATRICES, ids=["phi", "spearman"])


def expected(table, measure):
    """The same pair by pair with somebody else's function."""
    return np.array([[pairwise(a, b, measure) for b in table] for a in table])


def pairwise(a, b, measure):
    common = ~np.isnan(a) & ~np.isnan(b)
    a, b = a[common], b[common]
    return measure(a, b) if len(set(a)) > 1 and len(set(b)) > 1 else math.nan


@given(correctness)
def test_phi_is_matthews_correlation_on_the_common_images(table) -> None:
    np.testing.assert_allclose(phi_matrix(table), expected(table, matthews_corrcoef), atol=1e-12)


@given(recalls)
def test_spearman_is_scipys_on_the_common_classes(table) -> None:
    theirs = expected(table, lambda a, b: spearmanr(a, b).statistic)
    np.testing.assert_allclose(spearman_matrix(table), theirs, atol=1e-12)


@BOTH
@given(data=st.data())
def test_symmetric_bounded_and_one_on_the_diagonal(matrix, tables, data) -> None:
    table = data.draw(tables)
    found = matrix(table)
    np.testing.assert_array_equal(found, found.T)
    assert (np.isnan(found) | (abs(found) <= 1)).all()
    varied = [len(set(row[~np.isnan(row)])) > 1 for row in table]
    np.testing.assert_allclose(np.diag(found), np.where(varied, 1.0, math.nan), atol=1e-12)


@BOTH
@given(data=st.data())
def test_order_of_the_entries_does_not_matter(matrix, tables, data) -> None:
    table = data.draw(tables)
    order = data.draw(st.permutations(range(table.shape[1])))
    np.testing.assert_allclose(matrix(table[:, order]), matrix(table), atol=1e-12)


@given(correctness)
def test_phi_of_errors_is_phi_of_successes(table) -> None:
    np.testing.assert_allclose(phi_matrix(1 - table), phi_matrix(table), atol=1e-12)


@given(recalls)
def test_spearman_sees_only_ranks(table) -> None:
    np.testing.assert_allclose(spearman_matrix(table**3), spearman_matrix(table), atol=1e-12)

"""Shares of models against scipy's distributions and plain loops."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta, binomtest

from eyechart.oodbench.statistics.finite_population import population_share, upper_limit_below

some = st.integers(0, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
levels = st.sampled_from([0.5, 0.9, 0.95, 0.99])


@given(some.filter(lambda drawn: drawn[1] > 0), levels)
def test_both_intervals_are_scipys(drawn, level) -> None:
    (k, n), found = drawn, population_share(*drawn, level)
    assert found.share == k / n
    theirs = binomtest(k, n).proportion_ci(level, method="exact")
    assert found.exact == pytest.approx((theirs.low, theirs.high))
    assert found.posterior == pytest.approx(beta.ppf([(1 - level) / 2, (1 + level) / 2], k + 1, n - k + 1))


@given(some, levels)
def test_the_posterior_lies_inside_the_exact_interval_and_turns_with_the_count(drawn, level) -> None:
    k, n = drawn
    found, turned = population_share(k, n, level), population_share(n - k, n, level)
    assert turned.posterior == pytest.approx((1 - found.posterior.high, 1 - found.posterior.low))
    if n:
        assert found.exact.low <= found.posterior.low <= found.posterior.high <= found.exact.high


@pytest.mark.parametrize(("k", "exact", "posterior"), [(49, 0.8935, 0.8955), (27, 0.3932, 0.4034)])
def test_the_published_bounds(k, exact, posterior) -> None:
    found = population_share(k, 50)
    assert (found.exact.low, found.posterior.low) == pytest.approx((exact, posterior), abs=5e-5)


def test_no_models_leave_the_prior() -> None:
    found = population_share(0, 0)
    assert np.isnan([found.share, *found.exact]).all()
    assert found.posterior == pytest.approx((0.025, 0.975))


@given(some, st.floats(0.01, 1), levels)
def test_a_model_is_accepted_below_its_upper_bound(drawn, epsilon, level) -> None:
    k, n = drawn
    bound = beta.ppf((1 + level) / 2, k + 1, n - k) if k < n else 1
    if abs(bound - epsilon) > 1e-9:
        assert upper_limit_below(k, n, epsilon, level) == (n > 0 and bound < epsilon)


@given(some, st.floats(0.01, 1))
def test_more_hits_are_never_more_acceptable_and_a_larger_share_never_less(drawn, epsilon) -> None:
    found = [upper_limit_below(k, drawn[1], epsilon) for k in range(drawn[1] + 1)]
    assert found == sorted(found, reverse=True)
    assert upper_limit_below(*drawn, epsilon) <= upper_limit_below(*drawn, min(1, 1.5 * epsilon))

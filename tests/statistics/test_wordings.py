"""Wordings: components against a plain analysis of variance, coverage of both intervals, and the bias of a choice."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm

from eyechart.statistics.wordings import best_wording, new_wording_interval, wording_components


def draw(chance: np.random.Generator, samples: int, wordings: int, spread: float) -> tuple[Any, Any, Any]:
    """Outcomes of samples under wordings, whose probits vary by `spread`; how hard each sample is; and the probits."""
    hard, effects = chance.normal(size=samples), 0.8 + spread * chance.normal(size=wordings)
    shares = norm.cdf(effects + hard[:, None])
    return (chance.random(shares.shape) < shares).astype(float), hard, effects


@given(st.integers(2, 6), st.integers(2, 5), st.integers(0, 2**32 - 1))
def test_components_are_those_of_the_analysis_of_variance(n: int, t: int, seed: int) -> None:
    outcomes = np.random.default_rng(seed).integers(0, 2, (n, t)).astype(float)
    frame = pd.DataFrame(
        [(row, column, outcomes[row, column]) for row in range(n) for column in range(t)],
        columns=["unit", "wording", "y"],
    )
    table = anova_lm(ols("y ~ C(unit) + C(wording)", frame).fit())
    squares = table["sum_sq"] / table["df"]
    rest = squares["Residual"]
    found = wording_components(outcomes)
    assert found.rest == pytest.approx(rest, abs=1e-12)
    assert found.wording == pytest.approx(max(0.0, (squares["C(wording)"] - rest) / n), abs=1e-9)
    assert found.unit == pytest.approx(max(0.0, (squares["C(unit)"] - rest) / t), abs=1e-9)


def test_a_component_below_zero_is_said_to_be_so() -> None:
    """Every wording has the same accuracy, by other samples: less variation than the rest would give by chance."""
    found = wording_components([[1, 0], [0, 1], [1, 0], [0, 1]])
    assert (found.wording, found.unit) == (0.0, 0.0)
    assert found.negative == ("wording", "unit")


@pytest.mark.parametrize("wordings", [3, 5, 15])
@pytest.mark.parametrize("spread", [0.0, 0.2, 0.6])
def test_a_new_wording_has_its_accuracy_in_the_interval(wordings: int, spread: float) -> None:
    chance, times, covered = np.random.default_rng(wordings), 1000, 0
    for _ in range(times):
        outcomes, _, _ = draw(chance, 120, wordings + 1, spread)
        accuracies = outcomes.mean(axis=0)
        low, high = new_wording_interval(accuracies[1:])
        covered += low <= accuracies[0] <= high
    assert 0.93 <= covered / times <= 0.98


def test_few_or_perfect_wordings() -> None:
    assert np.isnan(new_wording_interval([0.8, 0.9])).all()
    assert new_wording_interval([1.0, 1.0, 1.0]) == (1.0, 1.0)
    low, high = new_wording_interval([0.97, 0.98, 0.99])
    assert low < 0.97 < 0.99 < high < 1


def test_the_best_of_equal_wordings_is_not_better_than_they_are() -> None:
    """The highest of 15 accuracies over 60 samples is 7 points too high; the cross-fitted one is not."""
    chance, times = np.random.default_rng(0), 60
    found = [best_wording(chance.random((60, 15)) < 0.7, seed=seed) for seed in range(times)]
    assert np.mean([best.observed for best in found]) > 0.76
    assert np.mean([best.value for best in found]) == pytest.approx(0.7, abs=0.025)
    assert np.mean([best.ci.low <= 0.7 <= best.ci.high for best in found]) >= 0.95


@pytest.mark.deep
@pytest.mark.parametrize(("wordings", "samples", "spread"), [(3, 200, 0.3), (15, 60, 0.3), (15, 200, 0.1)])
def test_the_chosen_wording_has_its_accuracy_in_the_interval(wordings: int, samples: int, spread: float) -> None:
    chance, times, covered, bias = np.random.default_rng(1), 300, 0, 0.0
    for seed in range(times):
        outcomes, _, effects = draw(chance, samples, wordings, spread)
        best = best_wording(outcomes, seed=seed)
        true = norm.cdf(effects[best.index] / np.sqrt(2))  # over all samples, whose hardness is standard normal
        covered += best.ci.low <= true <= best.ci.high
        bias += best.value - true
    assert covered / times >= 0.93
    assert abs(bias / times) < 0.012


def test_units_are_what_is_left_out_and_drawn() -> None:
    """Ten samples of a unit that are alike are one: the interval is as wide as that of the units."""
    chance = np.random.default_rng(2)
    outcomes = (chance.random((40, 4)) < 0.7).astype(float)
    repeated, units = np.repeat(outcomes, 10, axis=0), np.repeat(np.arange(40), 10)
    alone, clustered, as_samples = best_wording(outcomes), best_wording(repeated, units), best_wording(repeated)
    assert (clustered.value, clustered.ci) == (pytest.approx(alone.value), pytest.approx(alone.ci))
    assert as_samples.ci.high - as_samples.ci.low < 0.6 * (alone.ci.high - alone.ci.low)
    assert wording_components(repeated, units).rest == pytest.approx(wording_components(outcomes).rest)


def test_too_few_units_have_no_interval() -> None:
    best = best_wording([[1, 0], [1, 1]])
    assert (best.index, best.observed) == (0, 1.0)
    assert np.isnan([best.value, *best.ci]).all()


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: best_wording([[1.0, float("nan")]]), "without NaN"),
        (lambda: best_wording([[1], [0]]), "at least 2 wordings"),
        (lambda: wording_components([[1, 0]]), "of at least 2 sampling units"),
        (lambda: wording_components([[1, 0], [0, 1]], [1]), "'units' parameter of wording_components"),
        (lambda: new_wording_interval([2.0]), "a vector of fractions"),
        (lambda: new_wording_interval([0.5], 1.0), "'level' parameter of new_wording_interval"),
    ],
)
def test_wrong_arguments_are_refused(call: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        call()

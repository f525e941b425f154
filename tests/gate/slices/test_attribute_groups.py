"""Groups of correlated attributes: one test a group, the false discovery rate of groups, and what explains what."""

from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

from eyechart.data.attributes.attribute_slices import attribute_variables
from eyechart.gate.comparison.compare_metrics import compare_metrics
from eyechart.gate.slices.slice_messages import describe_slices
from eyechart.gate.slices.slice_tests import SliceChanges, decide_slices
from eyechart.gate.verdicts.decide import REGRESSION, Rule, Verdict

ALPHA, SURE, BLOCKS, COPIES = 0.05, 0.001, 4, 3
RULE = Rule(ALPHA)
SESSIONS = pytest.mark.parametrize("sessions", [25, pytest.param(300, marks=pytest.mark.deep)])


def attributes(chance: np.random.Generator, units: int, size: int, between: float = 0.0) -> dict[str, Any]:
    """Blocks of three attributes with correlations of about 0.8, and `between` two blocks; units share a part."""
    common = chance.normal(size=units * size) * between**0.5
    values = {}
    for block in range(BLOCKS):
        of_unit = chance.normal(size=units).repeat(size)
        level = common + (0.5**0.5 * of_unit + 0.5**0.5 * chance.normal(size=units * size)) * (1 - between) ** 0.5
        values |= {f"{'abcd'[block]}{copy}": level + 0.45 * chance.normal(size=units * size) for copy in range(COPIES)}
    return values


@pytest.fixture
def decided(make: Any, share: Any) -> Any:
    """The verdicts on the attributes of a case, by outcomes before and after."""

    def decided(
        values: dict[str, Any], before: Any, after: Any, units: Any
    ) -> tuple[list[Verdict], list[SliceChanges]]:
        (whole,) = compare_metrics(make(share(acc1=before), groups=units), make(share(acc1=after), groups=units))
        variables = attribute_variables(values, range(len(before)), len(before))
        slices = [SliceChanges.count(variable, whole, before, after, units) for variable in variables]
        return decide_slices(slices, RULE), slices

    return decided


def outcomes(chance: np.random.Generator, loss: Any, churn: float, size: int) -> tuple[Any, Any, Any]:
    """Outcomes before and after with a loss (n,) and a churn, which samples of a unit share in half of the cases."""
    n = len(loss)
    units = np.arange(n) // size
    point = np.where(chance.random(n) < 0.5, chance.random(n), chance.random(n)[units])
    step = np.where(point < (churn + loss) / 2, -1, np.where(point < churn, 1, 0))
    before = np.where(step == 0, chance.random(n) < 0.7, step < 0).astype(float)
    return before, np.where(step == 0, before, step > 0).astype(float), units


@SESSIONS
@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize(("loss", "churn"), [(0.0, 0.1), (0.04, 0.06)])
def test_without_a_difference_a_group_is_named_in_at_most_alpha_of_the_sessions(
    decided: Any, size: int, loss: float, churn: float, sessions: int
) -> None:
    chance, wrong = np.random.default_rng(3), 0
    for _ in range(sessions):
        values = attributes(chance, 600 // size, size)
        wrong += bool(decided(values, *outcomes(chance, np.full(600, loss), churn, size))[0])
    assert binomtest(wrong, sessions, ALPHA, alternative="greater").pvalue > SURE


@SESSIONS
@pytest.mark.parametrize("size", [1, 3])
def test_the_group_that_lost_is_named_and_at_most_alpha_of_the_named_ones_are_wrong(
    decided: Any, size: int, sessions: int
) -> None:
    """The lowest quarter of one attribute of the first block lost 20 points; other blocks are independent of it."""
    chance, rates, found = np.random.default_rng(4), [], 0
    for _ in range(sessions):
        values = attributes(chance, 900 // size, size)
        low = values["a0"] <= np.quantile(values["a0"], 0.25)
        verdicts, _ = decided(values, *outcomes(chance, np.where(low, 0.2, 0.0), 0.2, size))
        named = [verdict.comparison.metric.subset[0] for verdict in verdicts]
        assert len({*named}) == len(named)  # a group is named once
        found += "a" in named
        rates.append(sum(name != "a" for name in named) / max(1, len(named)))
    assert found >= 0.9 * sessions
    assert np.mean(rates) - 3 * np.std(rates) / len(rates) ** 0.5 < ALPHA


def test_the_strongest_slice_stands_for_its_group_and_explains_what_vanishes_without_it(decided: Any) -> None:
    chance = np.random.default_rng(8)
    values = attributes(chance, 2000, 1, between=0.4)
    low = values["a0"] <= np.quantile(values["a0"], 0.25)
    verdicts, slices = decided(values, *outcomes(chance, np.where(low, 0.5, 0.0), 0.5, 1))
    first, *others = sorted((verdict.comparison for verdict in verdicts), key=lambda comparison: comparison.p)
    assert first.metric.subset.startswith("a0=up to")
    assert [name.partition("=")[0] for name in first.like[:2]] in (["a1", "a2"], ["a2", "a1"])
    losses = [other for other in others if other.loss > first.loss / 10]
    assert losses
    assert {other.explained_by for other in losses} == {first.metric.subset}
    (line,) = describe_slices(verdicts, slices)
    assert f", explained by {first.metric.subset}" in line
    assert ", as did a" in line


def test_two_separate_losses_do_not_explain_each_other(decided: Any) -> None:
    chance = np.random.default_rng(9)
    values = attributes(chance, 2000, 1)
    low, high = values["a0"] <= np.quantile(values["a0"], 0.25), values["c1"] > np.quantile(values["c1"], 0.75)
    verdicts, _ = decided(values, *outcomes(chance, np.where(low | high, 0.4, 0.0), 0.4, 1))
    lost = [verdict.comparison for verdict in verdicts if verdict.decision == REGRESSION]
    assert {comparison.metric.subset.partition("=")[0] for comparison in lost} == {"a0", "c1"}
    assert {comparison.explained_by for comparison in lost} == {""}


def test_all_slices_of_a_group_have_a_row_and_one_has_its_p_value(make: Any, share: Any, decided: Any) -> None:
    chance = np.random.default_rng(10)
    values = attributes(chance, 400, 1)
    _, slices = decided(values, *outcomes(chance, np.zeros(400), 0.2, 1))
    every = decide_slices(slices, RULE, every=True)
    assert len(every) == BLOCKS * COPIES * 4
    assert sum(verdict.adjusted < 1 for verdict in every) <= BLOCKS

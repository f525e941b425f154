"""What holds of any two runs: of their evidence, as it is kept, compared and judged."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.contingency_tables import mcnemar

from eyechart.gate.comparison.compare_metrics import MAX_LISTED, MetricComparison, compare_metrics, samples_to_show
from eyechart.gate.verdicts.decide import (
    IMPROVEMENT,
    INCONCLUSIVE,
    NO_REGRESSION,
    REGRESSION,
    UNTESTED,
    Rule,
    Verdict,
    decide,
)
from eyechart.results.estimates import Estimate
from eyechart.results.evidence import RESAMPLES, Evidence
from eyechart.statistics.intervals import wilson
from eyechart.statistics.joint_tests import DRAWS
from eyechart.statistics.resampling import unit_bootstrap_shares

pytestmark = pytest.mark.deep

SHARES, DRAWN, ALONE = ("acc1", "acc5", "intersection"), ("f1", "brier", "auc"), ("ig", "ece")
NAN = float("nan")
ALPHA, DROP = st.sampled_from([0.001, 0.01, 0.05, 0.4]), st.sampled_from([0.0, 0.1, 0.5])


@dataclass(frozen=True)
class Runs:
    """Outcomes (2, numbers, samples) of two runs, by the names of the numbers that they are turned into."""

    names: tuple[str, ...]
    outcomes: Any

    def estimates(self, run: int) -> list[Estimate]:
        """What a run yields."""
        return [made(name, right) for name, right in zip(self.names, self.outcomes[run], strict=True)]


def made(name: str, right: Any) -> Estimate:
    """A number of some outcomes: with these, with its draws, or alone with its interval."""
    known = right[~np.isnan(right)]
    n, k = len(known), int(known.sum())
    draws = unit_bootstrap_shares(np.nan_to_num(right), ~np.isnan(right), RESAMPLES, 42)
    return Estimate(
        name=name,
        labels="ImGT",
        value=k / n if n else None,
        n=n,
        interval=wilson(k, n) if n else None,
        method="wilson",
        higher_is_better=name not in ("brier", "ece"),
        correct=right if name in SHARES else None,
        bootstrap=(lambda: draws) if name in DRAWN and n else None,
    )


@st.composite
def runs(draw: Any, names: Sequence[str] = (*SHARES, *DRAWN, *ALONE)) -> Runs:
    """Two runs of 1 to 40 samples, of which most stay as they were."""
    chosen = draw(st.lists(st.sampled_from(names), min_size=1, max_size=4, unique=True))
    chance, size = np.random.default_rng(draw(st.integers(0, 2**32))), draw(st.integers(1, 40))
    shares = draw(st.tuples(*[st.sampled_from([0.0, 0.1, 0.5, 1.0])] * 3))
    before, other = (chance.random((len(chosen), size)) < share for share in shares[:2])
    after = np.where(chance.random(before.shape) < shares[2], other, before)
    sides = np.stack([before, after]).astype(np.float64)
    sides[chance.random(sides.shape) < draw(st.sampled_from([0, 0, 0.1, 1]))] = NAN
    return Runs(tuple(chosen), sides)


@pytest.fixture(scope="module")
def sides(make: Any) -> Callable[..., tuple[Evidence, Evidence]]:
    """The evidence of both runs, as it is kept."""

    def sides(of: Runs, **more: Any) -> tuple[Evidence, Evidence]:
        one, other = (make(of.estimates(run), samples=of.outcomes.shape[-1], **more) for run in range(2))
        return one, other

    return sides


def told(found: MetricComparison) -> tuple[Any, ...]:
    """A comparison as numbers that may be held against another's; no change has an interval without ends."""
    ci = (NAN, NAN) if found.ci is None else tuple(found.ci)
    return found.before, found.after, found.delta, found.p, *ci, found.n, len(found.lost), found.gained


@given(runs(), ALPHA, DROP)
def test_a_run_compared_with_itself_never_fails(sides: Any, of: Runs, alpha: float, drop: float) -> None:
    for side in sides(of):
        for verdict in decide([*compare_metrics(side, side)], Rule(alpha, drop)):
            assert (verdict.comparison.delta, verdict.comparison.p, verdict.adjusted, verdict.decision) == (
                0,
                1,
                1,
                NO_REGRESSION,  # the weights are the same, too
            )
            assert (verdict.comparison.lost, verdict.comparison.gained) == ((), 0)


@given(runs(), ALPHA)
def test_exchanging_the_runs_flips_signs(sides: Any, of: Runs, alpha: float) -> None:
    one, other = sides(of)
    there, back = (decide([*compare_metrics(*pair)], Rule(alpha)) for pair in ((one, other), (other, one)))
    for forth, turned in zip(there, back, strict=True):
        before, after, delta, p, low, high, n, lost, gained = told(turned.comparison)
        mirrored = (after, before, -delta, p, -high, -low, n, gained, lost)
        assert told(forth.comparison) == pytest.approx(mirrored, nan_ok=True, abs=1e-9)
        assert forth.decision == {IMPROVEMENT: REGRESSION, REGRESSION: IMPROVEMENT}.get(
            turned.decision, turned.decision
        )


@given(runs(SHARES), st.randoms(use_true_random=False))
def test_another_order_of_the_samples_changes_nothing(sides: Any, of: Runs, chance: Any) -> None:
    one, other = sides(of)
    order = chance.sample(range(one.samples), one.samples)
    moved = sides(Runs(of.names, of.outcomes[..., order]), keys=tuple(one.keys[index] for index in order))
    plain, turned = [*compare_metrics(one, other)], [*compare_metrics(*moved)]
    assert [told(each) for each in turned] == [pytest.approx(told(each), nan_ok=True) for each in plain]
    for was, now in zip(plain, turned, strict=True):
        assert {moved[1].keys[row] for row in now.lost} == {other.keys[row] for row in was.lost}
        if len(was.lost) <= MAX_LISTED:
            assert {*samples_to_show(now, turned)} == {order.index(row) for row in samples_to_show(was, plain)}


@given(runs())
def test_other_names_of_the_samples_change_nothing(sides: Any, of: Runs) -> None:
    renamed = sides(of, keys=())
    assert list(map(str, compare_metrics(*renamed))) == list(map(str, compare_metrics(*sides(of))))


@given(runs(), runs(), ALPHA, DROP)
def test_an_unrelated_benchmark_fails_no_number_more_and_hides_none_beyond_holm(
    sides: Any, mine: Runs, other: Runs, alpha: float, drop: float
) -> None:
    own = [*compare_metrics(*sides(mine))]
    more = [*compare_metrics(*sides(other, case="toybox/val/m[]"))]
    alone, beside, after = (decide(each, Rule(alpha, drop)) for each in (own, own + more, more + own))
    assert list(map(str, beside[: len(own)])) == list(map(str, after[len(more) :]))
    tests = sum(not isnan(each.p) for each in own + more)
    for one, other_ in zip(alone, beside[: len(own)], strict=True):
        assert no_stricter(one, other_, alpha)
        sure = one.comparison.p * 2 * tests < alpha - draw_error(alpha)
        assert other_.decision == REGRESSION or not (sure and one.decision == REGRESSION)


def no_stricter(alone: Verdict, beside: Verdict, alpha: float) -> bool:
    """Whether a number is no surer beside others than alone, and neither fails nor gains where it did not."""
    same = beside.decision in (alone.decision, INCONCLUSIVE) or abs(alone.adjusted - alpha) < 2 * draw_error(alpha)
    return same and (alone.decision == UNTESTED or beside.adjusted >= alone.adjusted - 2 * draw_error(alone.adjusted))


def draw_error(p: float) -> float:
    """What an adjusted p-value may be off by, since its signs are drawn; it may be twice that of the joint test."""
    return float(2 * 5 * (p * (1 - p / 2) / DRAWS) ** 0.5 + 4 / DRAWS)


@settings(max_examples=10)  # each writes and reads several runs
@given(st.lists(runs(SHARES), min_size=1, max_size=3))
def test_the_tests_of_a_session_are_those_of_statsmodels(sides: Any, several: list[Runs]) -> None:
    found = [each for of in several for each in compare_metrics(*sides(of))]
    changed = [([[0, len(each.lost)], [each.gained, 0]], each.p) for each in found if not isnan(each.p)]
    assert [p for _, p in changed] == pytest.approx([min(1, mcnemar(table).pvalue) for table, _ in changed])
    assert [each.adjusted for each in decide(found)] == pytest.approx(reference(found), abs=0.03, nan_ok=True)


def reference(found: list[MetricComparison]) -> list[float]:
    """Westfall and Young's p-values of each family of proportions, with draws of our own in plain loops."""
    chance, adjusted = np.random.default_rng(0), [NAN] * len(found)
    for primary in (True, False):
        family = [index for index, each in enumerate(found) if each.primary == primary and not isnan(each.p)]
        rows = [changes_by_unit(found[index]) for index in family]
        order = sorted(range(len(family)), key=lambda number: -statistic(rows[number], {}))
        reached = dict.fromkeys(order, 0)
        for _ in range(2000 if len(family) > 1 else 0):
            signs = {unit: chance.choice((-1, 1)) for row in rows for unit in row}
            drawn = [statistic(row, signs) for row in rows]
            for step, number in enumerate(order):
                largest = max(drawn[other] for other in order[step:])
                reached[number] += largest >= statistic(rows[number], {}) - 1e-6
        highest = 0.0
        for number in order:
            highest = max(highest, reached[number] / 2000)
            adjusted[family[number]] = max(highest, found[family[number]].p)
    return adjusted


def changes_by_unit(comparison: MetricComparison) -> dict[Any, float]:
    """The change of each image, by its data and number."""
    (part,) = comparison.changes
    return {(part.data, unit): change for unit, change in zip(part.clusters, part.changes, strict=True)}


def statistic(changes: dict[Any, float], signs: dict[Any, int]) -> float:
    """The absolute sum of changes over the root of their sum of squares; a sign that is missing is positive."""
    size = sum(change**2 for change in changes.values()) ** 0.5
    return abs(sum(change * signs.get(unit, 1) for unit, change in changes.items())) / size if size else 0.0


@given(runs())
def test_the_interval_of_a_change_holds_the_change(sides: Any, of: Runs) -> None:
    for each in compare_metrics(*sides(of)):
        if each.ci is not None and not isnan(each.ci.low):
            assert each.ci.low - 1e-9 <= each.delta <= each.ci.high + 1e-9


@given(runs(SHARES))
def test_what_a_share_lost_is_counted_one_by_one(sides: Any, of: Runs) -> None:
    for name, before, after in zip(of.names, *of.outcomes, strict=True):
        lost = tuple(row for row, pair in enumerate(zip(before, after, strict=True)) if pair == (1, 0))
        gained = sum(pair == (0, 1) for pair in zip(before, after, strict=True))
        for each in compare_metrics(*sides(of)):
            if each.metric.name == name:
                assert (each.lost, each.gained) == (lost, gained)

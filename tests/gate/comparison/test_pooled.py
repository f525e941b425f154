"""The pooled decision on a model: all samples of its primary proportions, with images of several cases as one unit."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace as struct_replace
from scipy.stats import binom, chi2, multinomial

from eyechart.gate.comparison.compare_metrics import MetricComparison, compare_metrics
from eyechart.gate.comparison.pooled import pool_models
from eyechart.gate.verdicts.decide import REGRESSION, Rule, decide
from eyechart.gate.verdicts.verdict_file import summarise_session
from eyechart.gate.verdicts.verdict_messages import (
    count_verdicts,
    describe_benchmarks,
    describe_pooled,
    describe_session,
)
from eyechart.results.evidence import Evidence
from eyechart.statistics.significance import mcnemar, mcnemar_p

Outcomes = Sequence[float]
ALPHA, DISCORDANCE = 0.01, 0.09
SIZES = (177, 123, 228)  # README's packaged splits have about these sizes
RUNS = 400


@pytest.fixture
def case(make: Any, share: Any) -> Callable[..., list[MetricComparison]]:
    """Compare a case of a split before and after."""

    def compared(before: Outcomes, after: Outcomes, split: str = "val", name: str = "acc1", **other: Any) -> Any:
        def side(outcomes: Outcomes) -> Evidence:
            evidence: Evidence = make(share(**{name: outcomes}), case=f"imagenet/{split}/m[]", **other)
            return evidence

        now = struct_replace(side(after), weights_sha256="1" * 64)  # other weights, so that equal answers prove little
        return [*compare_metrics(side(before), now)]

    return compared


def test_different_images_add_up_to_one_mcnemar_test(case: Any) -> None:
    rng = np.random.default_rng(1)
    before, after = (rng.integers(0, 2, (3, 40)).astype(float) for _ in "ab")
    parts = [c for k in range(3) for c in case(before[k], after[k], f"split{k}")]
    (pooled,) = pool_models(parts)
    test = mcnemar(before.ravel(), after.ravel())
    assert (pooled.n_lost, pooled.gained, pooled.n, pooled.n_clusters) == (test.lost, test.gained, 120, 120)
    assert pooled.p == pytest.approx(test.p)
    assert (pooled.before, pooled.after) == (pytest.approx(before.mean()), pytest.approx(after.mean()))
    assert pooled.method == "exact McNemar"
    assert pooled.model == "m[]"
    assert len(pooled.pooled) == 3


def test_cases_of_the_same_images_are_one_unit_each(case: Any) -> None:
    """Two protocols that lose the same six images are six units and not twelve: p is that of six losses."""
    before, after = [1.0] * 20, [0.0] * 6 + [1.0] * 14
    both = [*case(before, after), *case(before, after, protocol="knn")]
    (pooled,) = pool_models(both)
    assert (pooled.n_lost, pooled.n, pooled.n_clusters) == (12, 40, 20)
    assert pooled.p == pytest.approx(2 * 0.5**6)
    assert pooled.method == "exact sign flips of clusters"
    assert pooled.effective_n < 20.5
    alone = both[0].loss_limit(ALPHA)
    assert pooled.loss_limit(ALPHA) == pytest.approx(alone, rel=0.25)


def test_p_is_that_of_all_signs_in_a_loop(case: Any) -> None:
    rng = np.random.default_rng(3)
    sides = rng.integers(0, 2, (2, 2, 9)).astype(float)  # before and after, protocol, image
    (pooled,) = pool_models([*case(sides[0, 0], sides[1, 0]), *case(sides[0, 1], sides[1, 1], protocol="knn")])
    units = (sides[1] - sides[0]).sum(axis=0)
    totals = np.array([np.dot(signs, units) for signs in product((-1, 1), repeat=9)])
    assert pooled.p == pytest.approx((np.abs(totals) >= abs(units.sum())).mean())


def test_a_metric_of_which_less_is_better_counts_the_other_way_round(case: Any) -> None:
    fewer_errors = case([1.0] * 10, [0.0] * 10, "val", "brier")  # an error rate in everything but its name
    better = case([0.0] * 10, [1.0] * 10, "test")
    (pooled,) = pool_models([*fewer_errors, *better])
    assert (pooled.before, pooled.after, pooled.gained, pooled.n_lost) == (0, 1, 20, 0)


def test_one_case_and_other_metrics_are_not_pooled(case: Any, make: Any, named: Any) -> None:
    only = case([1.0] * 10, [0.0] * 10)
    other = [*compare_metrics(*[make([named("f1")], case="imagenet/other/m[]")] * 2)]
    assert not pool_models([*only, *other])
    assert len(pool_models([*only, *other, *case([1.0] * 10, [0.0] * 10, "test")])) == 1
    elsewhere = case([1.0] * 10, [0.0] * 10, "test", model="other")
    assert not pool_models([*only, *elsewhere])


def test_a_loss_that_no_case_shows_is_a_regression_of_the_model(case: Any) -> None:
    before, after = [1.0] * 60, [0.0] * 4 + [1.0] * 56
    parts = [c for k in range(5) for c in case(before, after, f"split{k}")]
    verdicts = decide([*parts, *pool_models(parts)], Rule(ALPHA))
    *cases, pooled = verdicts
    assert not any(verdict.regression for verdict in cases)
    assert pooled.decision == REGRESSION
    assert describe_session(verdicts) == "regression over all cases of m[], in none of 5 cases alone"
    of_model = [verdict for verdict in verdicts if verdict.comparison.pooled]
    line = count_verdicts([verdict for verdict in verdicts if not verdict.comparison.pooled], of_model)
    assert "0 significantly worse" in line
    assert line.endswith("; significantly worse over all cases: m[]")
    said = describe_pooled(pooled)
    assert "m[] over 5 cases: regression; 100.00 % in the baseline, 93.33 % now: -6.67 points [" in said
    written = summarise_session(cases, [pooled], Rule(ALPHA))
    assert written.verdict == REGRESSION
    (model,) = written.models
    assert model.verdict == REGRESSION
    assert model.pooled is not None
    assert (model.pooled.lost, model.pooled.n) == (20, 300)


def test_a_model_without_changes_has_a_limit_by_its_images(case: Any) -> None:
    same = [1.0, 0.0] * 50
    (pooled,) = pool_models([*case(same, same), *case(same, same, protocol="knn")])
    assert pooled.p == 1
    assert 0 < pooled.loss_limit(ALPHA) == pytest.approx(case(same, same)[0].loss_limit(ALPHA))


def test_benchmarks_are_listed_where_there_are_several(case: Any) -> None:
    here = case([1.0] * 10, [1.0] * 10)
    there = [replace(comparison, case="birds/val/m[]") for comparison in case([1.0] * 10, [0.0] * 10)]
    assert describe_benchmarks(decide(here)) == ""
    assert describe_benchmarks(decide([*here, *there])) == "benchmarks: imagenet inconclusive, birds regression"


def test_size_where_protocols_share_images_and_their_changes_are_correlated(case: Any) -> None:
    """Three protocols on 60 images change together; without a true loss at most 1 % of sessions find one."""
    rng = np.random.default_rng(11)
    found = 0
    for _ in range(RUNS):
        changed = rng.random(60) < 0.3
        sign = rng.integers(0, 2, 60)  # the side on which a changed image is right, in all protocols
        before = np.where(changed, sign, 1.0)
        after = np.where(changed, 1 - sign, 1.0)
        follows = rng.random((3, 60)) < 0.8  # a protocol follows the image's change in four of five images
        sides = [(np.where(each, before, 1.0), np.where(each, after, 1.0)) for each in follows]
        (pooled,) = pool_models([c for k, side in enumerate(sides) for c in case(*side, protocol=f"p{k}")])
        found += pooled.p <= ALPHA
    assert found <= 12  # 4 expected; more than 12 in less than 1 of 1,000 such tests


def drawn_counts(losses: Sequence[float], rng: np.random.Generator) -> tuple[Any, Any]:
    """Return lost and gained samples (runs, cases) of cases with true losses."""
    chances = [((DISCORDANCE + loss) / 2, (DISCORDANCE - loss) / 2) for loss in losses]
    drawn = [
        multinomial.rvs(n, [lost, gained, 1 - lost - gained], RUNS, random_state=rng)
        for n, (lost, gained) in zip(SIZES, chances, strict=True)
    ]
    return np.stack([each[:, 0] for each in drawn], axis=1), np.stack([each[:, 1] for each in drawn], axis=1)


def powers(losses: Sequence[float]) -> dict[str, float]:
    """Return how often each way to pool finds a loss: all samples, Fisher's product of p-values, any case (Holm)."""
    lost, gained = drawn_counts(losses, np.random.default_rng(7))
    worse = lost > gained
    each = mcnemar_p(lost.ravel(), gained.ravel()).reshape(lost.shape)
    whole = mcnemar_p(lost.sum(axis=1), gained.sum(axis=1)) <= ALPHA
    fisher = chi2.sf(-2 * np.log(binom.sf(lost - 1, lost + gained, 0.5)).sum(axis=1), 2 * len(SIZES)) <= ALPHA / 2
    return {
        "pooled": float((whole & (lost.sum(axis=1) > gained.sum(axis=1))).mean()),
        "fisher": float(fisher.mean()),
        "holm": float(((each <= ALPHA / len(SIZES)) & worse).any(axis=1).mean()),
    }


def test_power_of_three_ways_to_pool() -> None:
    """Pooled samples find an even loss best, single cases a loss of one case; the gate therefore tests both."""
    even, one = powers([0.03] * 3), powers([0.08, 0, 0])
    assert even["pooled"] > even["fisher"] + 0.1 > even["holm"] + 0.2
    assert one["holm"] > one["fisher"] > one["pooled"] + 0.2
    assert max(powers([0, 0, 0]).values()) <= 2 * ALPHA

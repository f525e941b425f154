"""Proper scores in the gate: a verdict of their own, which fails a case only if it is asked for."""

from math import log
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from eyechart.errors import SpecError
from eyechart.gate.comparison.compare_metrics import SCORES, compare_metrics
from eyechart.gate.comparison.pooled import pool_models
from eyechart.gate.verdicts.decide import Rule, decide, parse_gates, session_verdict
from eyechart.gate.verdicts.verdict_file import summarise_metric, summarise_session
from eyechart.gate.verdicts.verdict_messages import count_verdicts, describe_session
from eyechart.results.estimates import score_estimates
from eyechart.results.evidence import RESAMPLES
from eyechart.statistics.least_probability import LEAST
from eyechart.statistics.proper_scores import brier_scores, sign_flip_mean_p

RIGHT = [1.0, 0.0] * 30
CHANCE = np.random.default_rng(3)
SCORE = np.log(CHANCE.uniform(0.2, 0.9, 60))
WORSE = np.maximum(SCORE - np.abs(CHANCE.normal(0.1, 0.1, 60)), log(LEAST))


@pytest.fixture
def compared(make: Any, share: Any) -> Any:
    """Compare a case with log scores before and after."""

    def compared(before: Any = SCORE, after: Any = WORSE, weights: str = "1" * 64, **other: Any) -> Any:
        sides = [
            make([*share(acc1=RIGHT), *score_estimates("ImGT", scores)], **other)
            for scores in (before, after)
        ]  # fmt: skip
        return [*compare_metrics(sides[0], replace(sides[1], weights_sha256=weights))]

    return compared


def test_scores_are_stored_with_the_stated_error(make: Any) -> None:
    scores = np.array([*np.linspace(log(LEAST), 0, 500), np.nan])
    evidence = make([next(score_estimates("ImGT", scores))], samples=501)
    evidence.check()
    stored = evidence.log_scores(evidence.metrics[0])
    error = np.abs(stored - scores)
    assert np.isnan(stored[-1])
    assert np.nanmax(error) <= 2**-21
    assert stored[[0, 499]].tolist() == pytest.approx([log(LEAST), 0])
    assert evidence.log_scores(evidence.metrics[0]).nbytes == 8 * 501


def one_way_at_the_boundary() -> tuple[Any, Any]:
    """Scores near the boundary of two of 255 steps, whose change has another sign after rounding to these."""
    step = np.sqrt(-log(LEAST)) / 255
    edge = -(((np.floor(np.sqrt(log(10)) / step) + 0.5) * step) ** 2)
    few = np.arange(60) % 8 == 0
    return np.where(few, edge + 0.0005, edge - 0.020), np.where(few, edge - 0.0005, edge - 0.008)


@pytest.mark.parametrize("size", [1.0, 1e-2, 1e-4, 0.0])
def test_value_interval_and_p_are_of_the_same_scores_and_those_of_the_exact_ones(compared: Any, size: float) -> None:
    before, after = one_way_at_the_boundary()
    noise = np.random.default_rng(5).normal(-0.002, 0.01, 60)
    pairs = [(before, after), (SCORE, WORSE), (SCORE, SCORE + noise), (SCORE, SCORE - 0.01)]
    for first, last in pairs:
        second = np.minimum(first + size * (last - first), 0)
        _, score, brier = compared(first, second)
        for found, moved in ((score, second - first), (brier, brier_scores(second) - brier_scores(first))):
            assert found.delta == pytest.approx(moved.mean(), abs=2**-20)
            assert found.delta == found.after - found.before
            assert found.ci.low <= found.delta <= found.ci.high
            if abs(moved.mean()) > 2e-6:
                assert log(found.p) == pytest.approx(log(sign_flip_mean_p(moved)), rel=0.01)


def test_a_value_that_contradicts_its_scores_is_refused(make: Any) -> None:
    evidence = make([*score_estimates("ImGT", SCORE)], samples=60)
    for metric in evidence.metrics:
        assert metric.value is not None
        wrong = replace(evidence, metrics=(replace(metric, value=metric.value + 1e-5),))
        with pytest.raises(ValueError, match=f"{metric.name} is .*, but its scores have the mean"):
            wrong.check()


def test_the_comparison_is_that_of_the_scores_of_each_image(compared: Any) -> None:
    accuracy, score, brier = compared()
    assert (accuracy.family, score.family, brier.family) == ("primary metrics", SCORES, SCORES)
    assert score.delta == pytest.approx((WORSE - SCORE).mean())
    assert log(score.p) == pytest.approx(log(sign_flip_mean_p(WORSE - SCORE)), rel=1e-3)
    assert brier.delta == pytest.approx((brier_scores(WORSE) - brier_scores(SCORE)).mean())
    assert brier.loss > 0
    assert brier.ci is not None
    assert brier.ci.low < brier.delta < brier.ci.high


def test_a_confidence_regression_is_said_and_fails_nothing_unless_asked(compared: Any) -> None:
    verdicts = decide(compared(), Rule())
    assert [verdict.decision for verdict in verdicts] == ["inconclusive", *["confidence regression"] * 2]
    assert [summarise_metric(verdict).lost for verdict in verdicts][1:] == [None, None]  # scores count no samples
    assert summarise_metric(verdicts[0]).lost is not None
    assert not any(verdict.regression for verdict in verdicts)
    assert session_verdict(verdicts) == "inconclusive"
    assert describe_session(verdicts).endswith("; confidence regression in 1 case")
    line = count_verdicts(verdicts)
    assert line.startswith("gate: 3 numbers compared, 0 significantly worse; confidence regression in 1 case")
    assert line.endswith(", which fails no case without --eye-gate=accuracy,score")
    both = Rule(gates=parse_gates("accuracy,score"))
    asked = decide(compared(), both)
    assert [verdict.regression for verdict in asked] == [False, True, True]
    assert session_verdict(asked) == "regression"
    assert count_verdicts(asked) == "gate: 3 numbers compared, 2 significantly worse"


@pytest.mark.parametrize("name", ["brier", "ece"])
def test_a_worse_calibration_is_said_and_fails_nothing_unless_asked(make: Any, named: Any, name: str) -> None:
    draws, moves = np.random.default_rng(0).normal((0.5, 0.1), 0.01, (RESAMPLES, 2)).T
    before, after = named(name, 0.5, bootstrap=lambda: draws), named(name, 0.6, bootstrap=lambda: draws + moves)
    comparisons = [*compare_metrics(make([before]), make([after]))]
    (verdict,) = decide(comparisons)
    assert (verdict.regression, verdict.advisory_regression) == (False, True)
    (asked,) = decide(comparisons, Rule(gates=parse_gates("accuracy,score")))
    assert (asked.regression, asked.advisory_regression) == (True, False)


def test_the_other_words(compared: Any) -> None:
    words = {
        "confidence improvement": compared(WORSE, SCORE),
        "confidence unchanged": compared(SCORE, SCORE, weights="0" * 64),
        "confidence inconclusive": compared(SCORE, SCORE),
    }
    for word, comparisons in words.items():
        assert [verdict.decision for verdict in decide(comparisons)][1:] == [word] * 2


def test_photographs_of_one_observation_are_one_unit(compared: Any) -> None:
    _, score, _ = compared(groups=np.arange(60) // 10)
    assert score.n_clusters == 6
    assert score.p >= 2 * 0.5**6


def test_scores_of_several_cases_are_pooled(compared: Any) -> None:
    little = SCORE - np.abs(np.random.default_rng(4).normal(0.002, 0.03, 60)) * np.where(np.arange(60) % 3, 1, -1)
    parts = [each for k in range(6) for each in compared(SCORE, np.minimum(little, 0), case=f"imagenet/s{k}/m[]")]
    accuracy, score = pool_models(parts)
    assert (accuracy.family, score.family, score.n, len(score.pooled)) == ("primary metrics", SCORES, 360, 6)
    assert score.delta == pytest.approx(np.mean([c.delta for c in parts if c.metric.name == "log_score"]))
    verdicts = decide([*parts, accuracy, score])
    assert verdicts[-1].decision == "confidence regression"
    assert "confidence regression of m[] over 6 cases (log score -0." in describe_session(verdicts)
    (model,) = summarise_session(verdicts[:-2], verdicts[-2:], Rule()).models
    assert model.pooled is not None
    assert model.pooled_score is not None
    assert model.pooled_score.verdict == "confidence regression"


def test_an_unknown_kind_has_a_sentence() -> None:
    with pytest.raises(SpecError, match=r"must be of accuracy, score, separated by commas\. Got 'speed'"):
        parse_gates("accuracy,speed")

"""Explain one p-value of the gate: what changed, its own test, the tests with other metrics, and the verdict."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import isnan, sqrt

import numpy as np

from eyechart.errors import ReportError
from eyechart.gate.comparison.compare_metrics import (
    BETTING,
    BOOTSTRAP,
    DELONG,
    MCNEMAR,
    SIGN_FLIPS,
    SIGNED_SCORES,
    MetricComparison,
    compare_metrics,
)
from eyechart.gate.comparison.pooled import POOLED, pool_models
from eyechart.gate.policy.tiers import ADVISORY
from eyechart.gate.session.compare_cases import CasePair, SessionComparison, compare_cases
from eyechart.gate.verdicts.decide import HOLM, JOINT, Verdict, decide
from eyechart.gate.verdicts.value_texts import compared_values, format_change, format_points, is_percent_change
from eyechart.gate.verdicts.verdict_messages import describe_n, format_adjusted
from eyechart.messages.plurals import count_of
from eyechart.reports.comparison.run_comparison import MatchedSides
from eyechart.reports.explanation_layout import describe_code, lay_out
from eyechart.results.records import Metric
from eyechart.statistics.auroc import delong_test
from eyechart.statistics.clusters import clustered_mcnemar, sign_flip_p
from eyechart.statistics.e_values import loss_log_e_value
from eyechart.statistics.joint_tests import sign_flip_max_t, takes_normal_limit
from eyechart.statistics.noninferiority import loss_upper_limit
from eyechart.statistics.proper_scores import sign_flip_mean_p
from eyechart.statistics.significance import bootstrap_change, holm, interval_change, mcnemar

CaseKey = tuple[str, str]  # a case and its protocol
MAX_LISTED = 12  # of the numbers that were tested together
NULL = (
    "Null hypothesis: before and after could be exchanged in every sampling unit. A unit that changed is then as "
    "likely a loss as a gain, whatever the model and the images are. The test is two-sided."
)
TESTS: Mapping[str, tuple[Callable[..., object], str]] = {
    MCNEMAR: (mcnemar, ""),
    SIGN_FLIPS: (clustered_mcnemar, ""),
    SIGNED_SCORES: (sign_flip_mean_p, "the share of random signs of the changes with a mean as far from 0"),
    DELONG: (delong_test, "DeLong's test, from the ranks of the images"),
    BOOTSTRAP: (
        bootstrap_change,
        "Student's test of change / √(variance of the change in paired resamples + change² / sampling units)",
    ),
    BETTING: (loss_log_e_value, "1 over the wealth of a player who bets on a loss at fair odds; one-sided"),
}


def find_verdict(result: SessionComparison, key: CaseKey, metric: Metric, name: str = "") -> Verdict:
    """Return the verdict on a metric of a case.

    Args:
        result: The comparison of all cases.
        key: The case and its protocol.
        metric: A metric of the case.
        name: `pooled` for the pooled decision on the model of the case instead.

    Raises:
        ReportError: If the metric was not compared; the message says why, or lists what was.
    """
    case = result.cases[key]
    where = f"{case.head.case} ({case.head.protocol})"
    if not case.has_baseline:
        raise ReportError(f"{where} has no case before it to be compared with. Name a baseline that has it.")
    if case.refused:
        raise ReportError(f"{where} cannot be compared: {'; '.join(case.refused)}.")
    if name == POOLED:
        found = [verdict for verdict in result.pooled if verdict.comparison.model == case.head.model]
    else:
        found = [verdict for verdict in result.verdicts_of[key] if verdict.comparison.metric.key == metric.key]
    if not found:
        wanted = POOLED if name == POOLED else metric.full_name
        known = "; ".join(verdict.comparison.name for verdict in result.verdicts_of[key])
        raise ReportError(f"{wanted} of {where} was not compared. Compared are: {known}.")
    return found[0]


def explain_verdict(
    sides: MatchedSides, result: SessionComparison, key: CaseKey, verdict: Verdict, samples: int = 2
) -> str:
    """Return how a p-value and the verdict on it were made, section by section.

    Args:
        sides: The runs or baselines that were compared.
        result: The comparison of all their cases, since a p-value is adjusted for those of other cases.
        key: The case and its protocol.
        verdict: The verdict on one of its metrics, or the pooled decision on its model.
        samples: How many samples that became wrong are shown.

    Returns:
        The values, what changed, the null hypothesis, the test of the metric alone, the tests with other metrics with
        their numbers, the rule, and the functions.
    """
    comparison = verdict.comparison
    sections = [
        ("case", [f"{comparison.case}, {comparison.protocol}."]),
        ("before", [sides.names[0]]),
        ("after", [sides.names[1]]),
        ("values", [_describe_values(comparison)]),
        ("changed", [*_describe_changes(sides, key, comparison, samples)]),
        ("null", [NULL] if comparison.method in (MCNEMAR, SIGN_FLIPS, SIGNED_SCORES) else []),
        ("own test", [f"{comparison.method}: {_describe_test(comparison)}."]),
        ("adjusted", [*_describe_adjustment(verdict, _tested_together(result, verdict))]),
        ("verdict", [*_describe_decision(verdict)]),
        ("code", [*_list_code(verdict)]),
    ]
    return lay_out(f"{comparison.name}: {verdict.decision}, {format_adjusted(verdict)} adjusted", sections)


def _describe_values(comparison: MetricComparison) -> str:
    before, after = compared_values(comparison)
    change = f"{format_change(comparison)}, {describe_n(comparison.n, comparison.n_clusters)}"
    return f"{before} before, {after} after: {change}."


def _describe_changes(sides: MatchedSides, key: CaseKey, comparison: MetricComparison, samples: int) -> Iterator[str]:
    if comparison.is_proportion or comparison.method == BETTING:
        yield (
            f"{count_of(comparison.n_lost, 'sample')} became wrong and {comparison.gained:,} became right. "
            "All others tell nothing about a change."
        )
    if comparison.n_clusters != comparison.n:
        yield f"Samples of one image or observation are one sampling unit: {comparison.n_clusters:,} units."
    if comparison.lost and samples:
        keys = CasePair(sides.before[key], sides.after[key], sides.folders.get(key)).compared_keys()
        shown = [keys[row] for row in comparison.lost[:samples]] if keys else []
        more = f" and {len(comparison.lost) - len(shown):,} more" if len(shown) < len(comparison.lost) else ""
        yield f"Became wrong: {', '.join(shown)}{more}." if shown else ""


def _describe_test(comparison: MetricComparison) -> str:
    """Return the test of a metric alone, with its numbers."""
    p = f"p = {comparison.p:.6g}"
    if isnan(comparison.p):
        return "there is no test for it"
    if comparison.method == MCNEMAR:
        lost, gained = comparison.worse_and_better
        fewer, both = min(lost, gained), lost + gained
        return f"p = 2 · P(X ≤ {fewer}), at most 1, where X has the distribution Binomial({both}, ½): {p}"
    if comparison.method == SIGN_FLIPS:
        changes = _changes_of(comparison)
        return (
            f"the share of all signs of the {count_of(len(changes), 'changed unit')} whose sum is as far from 0 as "
            f"{changes.sum():+g}: {p}"
        )
    _, formula = TESTS.get(comparison.method, (interval_change, "from the two intervals, as of other samples"))
    return f"{formula}: {p}"


def _changes_of(comparison: MetricComparison) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    """Return the change of each sampling unit that changed."""
    return np.concatenate([part.changes for part in comparison.changes])


def _statistic(comparison: MetricComparison) -> float:
    """Return the statistic of the joint test."""
    changes = _changes_of(comparison)
    return abs(float(changes.sum())) / sqrt(float((changes**2).sum())) if len(changes) else 0.0


def _tested_together(result: SessionComparison, verdict: Verdict) -> list[Verdict]:
    """Return the verdicts whose p-values were adjusted together with that of one, in the order of the test."""
    together = [
        other
        for other in (*result.verdicts, *result.pooled)
        if other.comparison.family == verdict.comparison.family
        and other.adjustment.method == verdict.adjustment.method
        and not isnan(other.comparison.p)
    ]
    if verdict.adjustment.method == JOINT:
        return sorted(together, key=lambda other: -_statistic(other.comparison))
    return sorted(together, key=lambda other: other.comparison.p)


def _describe_adjustment(verdict: Verdict, together: Sequence[Verdict]) -> Iterator[str]:
    """Yield how the p-value was adjusted, and the numbers that it was adjusted with."""
    comparison, how = verdict.comparison, verdict.adjustment
    if isnan(comparison.p):
        return
    if how.method not in (JOINT, HOLM):
        yield f"No other number of the {comparison.family} was tested with it: {format_adjusted(verdict)}."
    else:
        yield f"{how.method} of {how.numbers:,} numbers, the {comparison.family} of all cases and models:"
        yield "\n".join(_list_numbers(verdict, together))
    if how.method == JOINT:
        changed = sum(len(_changes_of(other.comparison)) > 0 for other in together)
        yield from _describe_joint_test(verdict, changed)
    elif how.method == HOLM:
        yield (
            f"The p-values stand in ascending order. The i-th one is multiplied by {how.numbers:,} + 1 - i, and is "
            "then the largest of itself and of those above it, at most 1. Numbers with equal evidence count once."
        )
    if how.factor > 1:
        yield (
            f"The {comparison.family} have numbers that are tested jointly and others. Each kind has half of the "
            "level: the p-value is multiplied by 2."
        )


def _list_numbers(verdict: Verdict, together: Sequence[Verdict]) -> Iterator[str]:
    """Yield a line for each number: its statistic if it is tested jointly, its own p and the adjusted p."""
    joint = verdict.adjustment.method == JOINT
    yield f"{'T' if joint else '':>8} {'p alone':>10} {'adjusted':>10}  number"
    for index, other in enumerate(together):
        if index >= MAX_LISTED and other is not verdict:
            continue
        comparison = other.comparison
        statistic = f"{_statistic(comparison):.4f}" if joint else ""
        mark = ">" if other is verdict else " "
        name = f"{comparison.case} ({comparison.protocol}), {comparison.name}"
        yield f"{statistic:>8} {comparison.p:>10.4g} {other.adjusted:>10.4g} {mark}{name}"
    if len(together) > MAX_LISTED:
        yield f"and more: {len(together):,} in all"


def _describe_joint_test(verdict: Verdict, numbers: int) -> Iterator[str]:
    """Yield the statistic and the signs of the joint test, in which so many `numbers` changed."""
    comparison, how = verdict.comparison, verdict.adjustment
    changes = _changes_of(comparison)
    if not len(changes):
        yield "Nothing changed in this number: its p-value is 1."
        return
    yield (
        f"T = |Σ d| / √(Σ d²), where d is the change of a sampling unit: |{changes.sum():+g}| / "
        f"√{float((changes**2).sum()):g} = {_statistic(comparison):.4f}."
    )
    units = f"{count_of(how.units, 'unit')} that changed in any of these numbers"
    signs = f"{how.draws:,} times at random, with the seed 0" if how.draws else f"in all 2^{how.units} ways"
    yield (
        f"The {units} get signs {signs}; a unit has the same sign in all numbers. p is the share of signs under which "
        f"the largest T of this number and of those below it reaches {_statistic(comparison):.4f}"
        f"{', with the observed signs as one of them' if how.draws else ''}. It is at least that of a number above it, "
        "and that of its own test."
    )
    if how.draws and takes_normal_limit(numbers, how.units, how.draws):
        yield "They are so many that a normal distribution with the same correlation stands for the sums of signs."
    if verdict.adjusted == 1 and how.factor > 1:
        yield "Multiplied by 2, as below, it is 1 or more."
        return
    total = how.draws + 1 if how.draws else 2**how.units
    reached = verdict.adjusted / how.factor * total
    if abs(reached - round(reached)) > 1e-6 * total:
        yield f"Its own test has the larger p-value: {comparison.p:.6g}."
        return
    if verdict.at_floor:
        yield f"The observed signs alone reach it, 1 of {total:,}: the p-value is {1 / total:.6g} or less."
        return
    p = round(reached) / total
    error = f", with a standard error of {sqrt(p * (1 - p) / how.draws):.2g} by the draws" if how.draws else ""
    yield f"{round(reached):,} of {total:,}: {p:.6g}{error}."


def _describe_decision(verdict: Verdict) -> Iterator[str]:
    """Yield the rule with its numbers, and what follows for the case."""
    comparison, rule = verdict.comparison, verdict.rule
    if not isnan(verdict.adjusted):
        below = "below" if verdict.adjusted < rule.alpha else "not below"
        yield f"The adjusted p-value {verdict.adjusted:.6g} is {below} the level {rule.alpha:g}."
    if rule.max_drop:
        yield f"A loss of {format_points(rule.max_drop)} is tolerated. This one is {format_change(comparison)}."
    if not isnan(verdict.limit):
        level = f"one-sided at {1 - rule.alpha:g}"
        size = _loss_text(comparison, abs(verdict.limit))
        excluded = f"The largest loss that is not excluded, {level}, is {size}"
        if verdict.limit < 0:
            excluded = f"Every loss is excluded, {level}: the gain is at least {size}"
        yield f"{excluded}; the margin is {'not set' if rule.margin is None else format_points(rule.margin)}."
    tier = "which fails no case" if rule.tier == ADVISORY else "whose regression fails the case"
    yield f"So the verdict is: {verdict.decision}. It is a number of the tier {rule.tier}, {tier}."


def _loss_text(comparison: MetricComparison, loss: float) -> str:
    return format_points(loss) if is_percent_change(comparison) else f"{loss:.4g}"


def _list_code(verdict: Verdict) -> Iterator[str]:
    """Yield where the code is and what it does, in the order of the steps."""
    comparison = verdict.comparison
    own, _ = TESTS.get(comparison.method, (interval_change, ""))
    yield describe_code("cases", compare_cases)
    yield describe_code("metric", pool_models if comparison.pooled else compare_metrics)
    yield describe_code("own test", sign_flip_p if comparison.pooled and comparison.is_proportion else own)
    if verdict.adjustment.method == JOINT:
        yield describe_code("adjusted", sign_flip_max_t)
    elif verdict.adjustment.method == HOLM:
        yield describe_code("adjusted", holm)
    if comparison.is_proportion:
        yield describe_code("limit", loss_upper_limit)
    yield describe_code("verdict", decide)

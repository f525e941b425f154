"""The verdict on each metric, case, model and session: regression, no regression, inconclusive or improvement.

The primary metrics of all cases, with the pooled comparison of each model, are one family, all other metrics a second
one, proper scores a third one; the significance level holds for each family. Within a family, proportions (or, in the
third one, scores) are tested jointly with shared signs of images, other metrics with Holm's correction. If a family has
both kinds, each has half of the level: adjusted p-values are doubled.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate
from math import isnan, nan

import numpy as np

from eyechart.errors import SpecError
from eyechart.gate.comparison.compare_metrics import (
    FAMILIES,
    PRIMARY,
    ROUNDED,
    SCORES,
    SLICES,
    ClusterChanges,
    MetricComparison,
)
from eyechart.gate.comparison.pooled import pool_models
from eyechart.gate.policy.tiers import ADVISORY, CRITICAL, NO_POLICY, SUPPORTING, Policy
from eyechart.gate.verdicts.value_texts import format_points
from eyechart.messages.plurals import count_of
from eyechart.results.evidence import CLOSE, Floats, Ints
from eyechart.results.metric_definitions import define
from eyechart.statistics.joint_tests import DRAWS, sign_flip_max_t, takes_all_signs
from eyechart.statistics.noninferiority import samples_for_margin
from eyechart.statistics.significance import holm

ALPHA = 0.01
SHARE_BOUND = 0.5  # catches a percentage given as a fraction: 1 instead of 0.01
DRAWS_PER_LEVEL, MOST_DRAWS = (
    100,
    100_000,
)  # so many of the draws reach alpha; for a smaller one there is Holm's correction
ACCURACY_VERDICTS = REGRESSION, TOLERATED, IMPROVEMENT, INCONCLUSIVE, NO_REGRESSION, UNTESTED = (
    "regression",
    "tolerated",
    "improvement",
    "inconclusive",
    "no regression",
    "not tested",
)
CONFIDENCE_VERDICTS = CONFIDENCE_REGRESSION, CONFIDENCE_IMPROVEMENT, CONFIDENCE_INCONCLUSIVE, CONFIDENCE_UNCHANGED = (
    "confidence regression",
    "confidence improvement",
    "confidence inconclusive",
    "confidence unchanged",
)  # of proper scores
JOINT, HOLM, ALONE = "joint test", "Holm's correction", "no other metric"  # how a p-value is adjusted
VERDICTS = (*ACCURACY_VERDICTS, *CONFIDENCE_VERDICTS)
GATES = ACCURACY, SCORE = "accuracy", "score"  # the kinds of metrics whose regression fails a case


@dataclass(frozen=True)
class Rule:
    """The significance level of each family, the largest tolerated loss, and the margin, None if none is set.

    There is no regression where a loss of the size of the margin can be excluded. `gates` are the kinds of metrics that
    fail a case. `policy` has other limits for some metrics; the rule for one metric has its limits and `tier` instead.
    """

    alpha: float = ALPHA
    max_drop: float = 0.0
    margin: float | None = None
    gates: tuple[str, ...] = (ACCURACY,)
    policy: Policy = NO_POLICY
    tier: str = ""

    def for_metric(self, comparison: MetricComparison) -> "Rule":
        """Return the rule for one metric, with the limits and the tier that the policy gives it.

        A pooled comparison tolerates the mean of what its cases tolerate, weighted by their samples.
        """
        drop, margin, relative = 0.0 if comparison.family == SCORES else self.max_drop, self.margin, 0.0
        tier = {PRIMARY: CRITICAL, SLICES: ADVISORY}.get(comparison.family, SUPPORTING)
        tier = tier if kind_of_metric(comparison) in self.gates else ADVISORY
        for rule in self.policy.rules_for(comparison):
            drop = drop if rule.max_drop is None else rule.max_drop
            relative = relative if rule.max_relative_drop is None else rule.max_relative_drop
            margin, tier = rule.margin or margin, rule.tier or tier
        drop = max(drop, relative * abs(comparison.before))
        if comparison.pooled:
            limits = [part.n * self.for_metric(part).max_drop for part in comparison.pooled]
            drop = sum(limits) / comparison.n
        return replace(self, max_drop=drop, margin=margin, tier=tier, policy=NO_POLICY)

    def __str__(self) -> str:
        tolerated = f" A loss of at most {format_points(self.max_drop)} is tolerated." if self.max_drop else ""
        if self.margin is not None:
            margin, level = format_points(self.margin), f"{1 - self.alpha:g}"
            tolerated += f" No regression: a loss of {margin} is excluded, one-sided at {level}."
        return (
            f"Regression or improvement: adjusted p < {self.alpha:g}, for the primary metrics of all cases, for all "
            f"other metrics and for all proper scores.{tolerated}"
        )


DEFAULT_RULE = Rule()


@dataclass(frozen=True)
class Adjustment:
    """How a p-value was adjusted for the metrics that were tested together with it.

    Attributes:
        method: `JOINT`, `HOLM`, or `ALONE` where nothing was tested with it; "" for slices and what has no test.
        numbers: How many metrics and pooled decisions were tested together; Holm's correction counts copies once.
        units: How many sampling units (images or observations) changed in any of them, for the joint test.
        draws: How many random signs the joint test drew; 0 where it took all 2^units signs.
        factor: 2 if the family has metrics of both kinds, each with half of the level, else 1.
    """

    method: str = ""
    numbers: int = 1
    units: int = 0
    draws: int = 0
    factor: int = 1

    @property
    def least(self) -> float:
        """The least p-value that the random signs can give, 0 without any."""
        return self.factor / (self.draws + 1) if self.draws else 0.0

    def __str__(self) -> str:
        signs = f"{self.draws:,} random signs" if self.draws else f"all signs of {count_of(self.units, 'unit')}"
        together = f"{self.method} of {count_of(self.numbers, 'number')}"
        return {JOINT: f"{together} with {signs}", HOLM: together}.get(self.method, "")


NOT_ADJUSTED = Adjustment()
AdjustedP = tuple[float, Adjustment]
UNTESTED_P: AdjustedP = (nan, NOT_ADJUSTED)


@dataclass(frozen=True)
class Verdict:
    """A comparison, its adjusted p-value, one of `VERDICTS`, the upper limit of the loss, and the rule for it."""

    comparison: MetricComparison
    adjusted: float
    decision: str
    limit: float = nan
    rule: Rule = DEFAULT_RULE
    adjustment: Adjustment = NOT_ADJUSTED

    @property
    def at_floor(self) -> bool:
        """Whether the adjusted p-value is the least one that random signs can give, so that it is an upper limit."""
        return self.adjusted <= self.adjustment.least * (1 + 1e-9)

    @property
    def gated(self) -> bool:
        """Whether a regression fails its case: the metric is not advisory."""
        return self.rule.tier != ADVISORY

    @property
    def must_be_decided(self) -> bool:
        """Whether it fails its case if it is inconclusive: a critical metric with a margin."""
        return self.rule.tier == CRITICAL and self.rule.margin is not None and not self.comparison.pooled

    @property
    def is_open(self) -> bool:
        """Whether it must be decided and is not: it is inconclusive, or it could not be tested."""
        return self.must_be_decided and self.decision in (INCONCLUSIVE, UNTESTED)

    @property
    def regression(self) -> bool:
        """Whether it is a significant loss that fails its case: larger than max-drop, and of a metric that is gated."""
        return self.gated and self.decision in (REGRESSION, CONFIDENCE_REGRESSION)

    @property
    def advisory_regression(self) -> bool:
        """Whether it is a significant loss that fails no case, since the metric is advisory."""
        return not self.gated and self.decision == REGRESSION

    @property
    def confidence_regression(self) -> bool:
        """Whether it is a significant loss of a proper score."""
        return self.decision == CONFIDENCE_REGRESSION

    @property
    def tolerated(self) -> bool:
        """Whether it is a significant loss that is no larger than max-drop."""
        return self.decision == TOLERATED

    @property
    def improvement(self) -> bool:
        """Whether it is a significant gain."""
        return self.decision == IMPROVEMENT

    @property
    def inconclusive(self) -> bool:
        """Whether neither a loss nor its absence is shown."""
        return self.decision == INCONCLUSIVE

    def samples_to_decide(self) -> int | None:
        """Return how many more samples would exclude a loss of the margin if there is none; None if not known.

        The proportion of changed samples is taken to stay what it is, but for one more on either side.
        """
        comparison, rule = self.comparison, self.rule
        if not rule.margin or not self.inconclusive or isnan(comparison.discordance):
            return None
        changed = comparison.n_lost + comparison.gained
        share = min(1.0, (changed + 2) / (comparison.n + 2))
        needed = samples_for_margin(share, rule.margin, rule.alpha) * comparison.n / comparison.effective_n
        return max(1, round(needed) - comparison.n)


def decide_with_models(
    comparisons: Sequence[MetricComparison], rule: Rule = DEFAULT_RULE
) -> tuple[list[Verdict], list[Verdict]]:
    """Return a verdict for each comparison of a session, and for each model with several cases the pooled decisions.

    A metric that the policy makes advisory is not pooled.
    """
    pooled = pool_models(comparison for comparison in comparisons if not rule.policy.is_advisory(comparison))
    every = decide([*comparisons, *pooled], rule)
    return every[: len(comparisons)], every[len(comparisons) :]


def decide(comparisons: Sequence[MetricComparison], rule: Rule = DEFAULT_RULE) -> list[Verdict]:
    """Return a verdict for each comparison of a session."""
    adjusted = [UNTESTED_P] * len(comparisons)
    for family in FAMILIES:
        indices = [index for index, comparison in enumerate(comparisons) if comparison.family == family]
        of_family = _adjust_family([comparisons[index] for index in indices], rule.alpha)
        for index, p_value in zip(indices, of_family, strict=True):
            adjusted[index] = p_value
    return [
        decide_metric(comparison, p, rule, comparison.loss_limit(rule.alpha), how)
        for comparison, (p, how) in zip(comparisons, adjusted, strict=True)
    ]


def decide_metric(
    comparison: MetricComparison,
    adjusted: float,
    rule: Rule,
    limit: float = nan,
    adjustment: Adjustment = NOT_ADJUSTED,
) -> Verdict:
    """Return the verdict on a metric from its adjusted p-value and the upper limit of its loss."""
    own = rule.for_metric(comparison)
    return Verdict(comparison, adjusted, _decide(comparison, adjusted, limit, own), limit, own, adjustment)


def kind_of_metric(comparison: MetricComparison) -> str:
    """Return the kind of a metric, one of `GATES`: calibration is a kind of score, not of accuracy."""
    is_score = comparison.family == SCORES or define(comparison.metric.name).kind == SCORE
    return SCORE if is_score else ACCURACY


def _decide(comparison: MetricComparison, adjusted: float, limit: float, rule: Rule) -> str:
    if isnan(adjusted):
        return UNTESTED
    if comparison.family == SCORES:
        if adjusted < rule.alpha and comparison.loss:
            if comparison.loss < 0:
                return CONFIDENCE_IMPROVEMENT
            return CONFIDENCE_REGRESSION if comparison.loss > rule.max_drop + CLOSE else TOLERATED
        unchanged = comparison.unchanged_model and abs(comparison.delta) <= ROUNDED
        return CONFIDENCE_UNCHANGED if unchanged else CONFIDENCE_INCONCLUSIVE
    if adjusted < rule.alpha and comparison.loss:
        if comparison.loss < 0:
            return IMPROVEMENT
        return REGRESSION if comparison.loss > rule.max_drop + CLOSE else TOLERATED
    return NO_REGRESSION if limit == 0 or (rule.margin and limit < rule.margin) else INCONCLUSIVE


def _adjust_family(comparisons: Sequence[MetricComparison], alpha: float) -> list[AdjustedP]:
    """Return the p-values of a family, adjusted for all of its metrics, each with how; NaN where there is no test.

    A family with metrics of both kinds, tested jointly and by Holm's correction, has its p-values doubled (Bonferroni's
    correction for the two kinds). A test more never lowers the p-value of another one, but for the error of random
    draws. A level below 0.001 would take too many draws: Holm's correction is then used for all metrics.
    """
    adjusted = [UNTESTED_P] * len(comparisons)
    tested = [index for index, comparison in enumerate(comparisons) if not isnan(comparison.p)]
    draws = max(DRAWS, round(DRAWS_PER_LEVEL / alpha))
    joint = [index for index in tested if comparisons[index].changes] if draws <= MOST_DRAWS else []
    others = sorted({*tested} - {*joint})
    factor = bool(joint) + bool(others)
    for indices, adjust in ((joint, partial(_joint_p_values, draws=draws)), (others, _distinct_holm)):
        if indices:
            p_values, how = adjust([comparisons[index] for index in indices])
            how = replace(how, factor=factor)
            for index, p in zip(indices, p_values.tolist(), strict=True):
                adjusted[index] = min(p * factor, 1.0), how
    return adjusted


def _joint_p_values(comparisons: Sequence[MetricComparison], draws: int) -> tuple[Floats, Adjustment]:
    """Return the p-values of proportions from `sign_flip_max_t`, none below that of its own exact test."""
    own = np.array([comparison.p for comparison in comparisons])
    if len(comparisons) == 1:
        return own, Adjustment(ALONE)
    parts = [(index, part) for index, comparison in enumerate(comparisons) for part in comparison.changes]
    units = _number_clusters([part for _, part in parts])
    joint = sign_flip_max_t(
        np.repeat([index for index, _ in parts], [len(part.clusters) for _, part in parts]),
        units,
        np.concatenate([part.changes for _, part in parts]),
        len(comparisons),
        draws,
    )
    changed = len(np.unique(units))
    how = Adjustment(JOINT, len(comparisons), changed, 0 if takes_all_signs(changed, draws) else draws)
    return np.maximum(joint, own), how


def _number_clusters(changes: Sequence[ClusterChanges]) -> Ints:
    """Return the clusters of all parts (sum of c,) as numbers that are equal for equal clusters of equal data.

    They do not depend on the order of the metrics, so that neither does a random draw for each of them.
    """
    sizes: dict[str, int] = {}
    for part in changes:
        last = int(part.clusters.max(initial=-1))
        sizes[part.data] = max(sizes.get(part.data, 0), last + 1)
    ends = accumulate((sizes[data] for data in sorted(sizes)), initial=0)
    starts = dict(zip(sorted(sizes), ends, strict=False))
    return np.concatenate([part.clusters + starts[part.data] for part in changes])


def _distinct_holm(comparisons: Sequence[MetricComparison]) -> tuple[Floats, Adjustment]:
    """Return p-values with Holm's correction, in which metrics with identical evidence are one test."""
    keys = [
        (*comparison.evidence, comparison.p) if comparison.evidence else index
        for index, comparison in enumerate(comparisons)
    ]
    first = {key: index for index, key in reversed([*enumerate(keys)])}
    adjusted = holm([comparisons[index].p for index in first.values()])
    of_key = dict(zip(first, adjusted.tolist(), strict=True))
    return np.array([of_key[key] for key in keys]), Adjustment(HOLM if len(first) > 1 else ALONE, len(first))


def session_verdict(verdicts: Iterable[Verdict]) -> str:
    """Return the verdict on several metrics, such as those of a case, a model or a session, "not tested" without one.

    One regression of any gated metric is a regression. The primary metrics decide otherwise: inconclusive if one of
    them is, else an improvement if there is one, else no regression.
    """
    verdicts = [*verdicts]
    if any(verdict.regression for verdict in verdicts):
        return REGRESSION
    primary = {verdict.decision for verdict in verdicts if verdict.comparison.primary} - {UNTESTED}
    order = (INCONCLUSIVE, IMPROVEMENT, TOLERATED, NO_REGRESSION)
    return next((decision for decision in order if decision in primary), UNTESTED)


def group_by_samples(verdicts: Iterable[Verdict]) -> list[list[Verdict]]:
    """Group a case's verdicts by the samples that changed."""
    groups: dict[object, list[Verdict]] = {}
    for verdict in verdicts:
        groups.setdefault(verdict.comparison.changed_samples, []).append(verdict)
    return [*groups.values()]


def parse_share(text: str) -> float:
    """Return a tolerated loss, a fraction. Raises SpecError for a value that is none or is 0.5 or more.

    >>> parse_share("0.01")
    0.01
    """
    try:
        value = float(text)
    except ValueError:
        value = nan
    if not 0 <= value < SHARE_BOUND:
        raise SpecError(
            f"must be from 0 up and below {SHARE_BOUND}. Got {text!r} instead. Values are fractions: 1 % is 0.01."
        )
    return value


def parse_gates(text: str) -> tuple[str, ...]:
    """Return the kinds of metrics that fail a case. Raises SpecError for an unknown one.

    >>> parse_gates("accuracy,score")
    ('accuracy', 'score')
    """
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",")))
    if unknown := [name for name in names if name not in GATES]:
        raise SpecError(f"must be of {', '.join(GATES)}, separated by commas. Got {unknown[0]!r} instead.")
    return names


def parse_margin(text: str) -> float:
    """Return a margin, a fraction above 0. Raises SpecError for a value that is none or is 0.5 or more.

    >>> parse_margin("0.02")
    0.02
    """
    if not (margin := parse_share(text)):
        raise SpecError(f"must be above 0. Got {text!r} instead: no number of images excludes every loss.")
    return margin


def primary_verdicts(verdicts: Iterable[Verdict]) -> Iterator[Verdict]:
    """Yield the verdicts on the primary metrics."""
    return (verdict for verdict in verdicts if verdict.comparison.primary)

"""Compare a run with a baseline, metric by metric, on the same samples."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isnan

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from eyechart.messages.plurals import count_of
from eyechart.results.estimates import Separation
from eyechart.results.evidence import Evidence, Floats, Ints, MetricEvidence
from eyechart.results.headlines import ANSWERED
from eyechart.results.metric_definitions import largest_change
from eyechart.results.records import EMPTY, LABELLED, WHOLE, empty_label_rules
from eyechart.statistics.auroc import auroc, delong_test
from eyechart.statistics.clusters import (
    clustered_change_interval,
    clustered_mcnemar,
    clustered_t_interval,
    effective_sample_size,
)
from eyechart.statistics.e_values import loss_log_e_value, sequential_loss_limit
from eyechart.statistics.intervals import Interval
from eyechart.statistics.logit_changes import LogitChange
from eyechart.statistics.noninferiority import loss_upper_limit
from eyechart.statistics.paired import change_interval
from eyechart.statistics.proper_scores import brier_scores, sign_flip_mean_p
from eyechart.statistics.significance import bootstrap_change, interval_change, mcnemar

SAME = ("fingerprint", "seed", "samples")
SIDES = ("in the baseline", "now")
# how answers and labels are read
RULES = ("parser_version", "equivalences", "categories", "support_n", "support_sha256", "positive", "threshold_from")
HASH = re.compile("[0-9a-f]{64}")
MCNEMAR, SIGN_FLIPS = "exact McNemar", "exact sign flips of clusters"  # how proportions are tested
BOOTSTRAP = "paired bootstrap"
SIGNED_SCORES = "sign flips of scores"
DELONG = "paired DeLong"  # how AUROCs are tested
BETTING = "betting e-process"  # a sequential test
AGAINST_REST = "slice against the rest"  # permutations of samples, and signs of the slice's changed ones
FAMILIES = PRIMARY, OTHER, SCORES = "primary metrics", "other metrics", "proper scores"  # each at the whole level
SLICES = "slices"  # parts of the samples of primary metrics; the false discovery rate is controlled
MAX_LISTED = 10
ROUNDED = 1e-6  # single precision differs by so much between machines and numbers of threads, in every image alike
NO_INTERVAL = (float("nan"), float("nan"))


@dataclass(frozen=True)
class MetricComparison:
    """A metric before and after, over the same n samples, which are in `n_clusters` independent images.

    `lost` are the rows of samples that became wrong, `gained` is the number that became right, and `counts` are the n
    of both sides where they differ. `family` is one of `FAMILIES`: the first metric of a case is its primary one.
    `unchanged_model` is set if weights, settings, machine and the number of samples are equal on both sides. For a
    class without an identity of its own, code, options and files are equal, and `compares_weights` is not set.
    `effective_n` is n divided by the design effect of the changes. `changes` has the change of each image for a
    proportion or score, () for another metric. `evidence` names the resampled values that the test reads; metrics with
    equal names are one test in Holm's correction. `pooled` are the comparisons that are pooled in this one.
    `logit_change` is how far the logits of a primary metric moved, None if they are not known. `whole` is the
    comparison over all samples if this one is of a slice; `like` are slices by correlated attributes that changed, too,
    and `explained_by` is one without which the slice did not change. A pooled one has no rows of lost samples but
    `pooled_lost`, their number.
    """

    case: str
    protocol: str
    model: str
    metric: MetricEvidence
    before: float
    after: float
    n: int
    n_clusters: int
    delta: float
    ci: Interval | None
    p: float
    method: str
    lost: tuple[int, ...] = ()
    gained: int = 0
    counts: tuple[int, int] | None = None
    family: str = OTHER
    unchanged_model: bool = False
    compares_weights: bool = True
    effective_n: float = float("nan")
    changes: "tuple[ClusterChanges, ...]" = field(default=(), repr=False)
    evidence: Collection[str] = ()
    pooled: "tuple[MetricComparison, ...]" = field(default=(), repr=False)
    pooled_lost: int = 0
    logit_change: LogitChange | None = None
    whole: "MetricComparison | None" = field(default=None, repr=False)
    like: tuple[str, ...] = ()
    explained_by: str = ""

    def __post_init__(self) -> None:
        if abs(self.delta) <= ROUNDED and not isnan(self.p):
            object.__setattr__(self, "p", 1.0)  # a change by rounding is no change, whatever the bootstrap says

    @property
    def name(self) -> str:
        """The metric's name with its labels and subset."""
        if not self.pooled:
            return self.metric.full_name
        return f"{self.range_name if self.family == SCORES else PRIMARY}, pooled"

    @property
    def primary(self) -> bool:
        """Whether it is the primary metric of a case."""
        return self.family == PRIMARY and not self.pooled

    @property
    def is_proportion(self) -> bool:
        """Whether it is a proportion with an outcome for each sample."""
        return bool(self.changes) and self.method in (MCNEMAR, SIGN_FLIPS)

    @property
    def counts_samples(self) -> bool:
        """Whether samples that were lost and gained are counted: it compares outcomes of samples."""
        return self.is_proportion or self.family == SLICES or self.method == BETTING

    @property
    def is_equal(self) -> bool:
        """Whether no answer can have changed: the model is unchanged, or its logits moved by rounding."""
        return self.unchanged_model or bool(self.logit_change and self.logit_change.is_equal)

    @property
    def changed_samples(self) -> object:
        """A key that is equal for metrics whose changes are the same samples."""
        return (self.lost, self.gained, self.n, self.before) if self.lost else self.name

    @property
    def loss(self) -> float:
        """The loss in the metric's direction; negative for a gain."""
        return -self.delta * self.metric.direction

    @property
    def discordance(self) -> float:
        """The proportion of samples that became wrong or correct; NaN for another metric than a proportion."""
        return (self.n_lost + self.gained) / self.n if self.n and self.is_proportion else float("nan")

    @property
    def n_lost(self) -> int:
        """The number of samples that became wrong."""
        return len(self.lost) or self.pooled_lost

    @property
    def worse_and_better(self) -> tuple[int, int]:
        """The numbers of samples that changed for the worse and for the better, in the metric's direction."""
        counts = self.n_lost, self.gained
        return counts[::-1] if self.metric.direction < 0 else counts

    def loss_limit(self, alpha: float) -> float:
        """Return the upper confidence limit of the loss, one-sided at 1 - alpha; NaN if nothing is known of it.

        It is Tango's limit for a proportion, else the scaled 95 % interval; 0 for an equal model with equal answers.
        """
        if self.is_equal and self.delta == 0 and not self.n_lost and not self.gained:
            return 0.0
        if self.is_proportion and self.n:
            share = self.effective_n / self.n
            worse, better = self.worse_and_better
            return loss_upper_limit(share * worse, share * better, self.effective_n, alpha)
        if self.method == BETTING:
            return sequential_loss_limit(*self.worse_and_better, self.n, alpha)
        if self.ci is None or isnan(self.delta):
            return float("nan")
        below = self.delta - self.ci.low if self.metric.direction > 0 else self.ci.high - self.delta
        limit = self.loss + below * float(ndtri(1 - alpha) / ndtri(0.975))
        return min(limit, largest_change(self.range_name, self.before, self.after))

    @property
    def range_name(self) -> str:
        """The name of the metric whose range the values have."""
        return self.pooled[0].range_name if self.pooled and self.family == SCORES else self.metric.name


@dataclass(frozen=True, eq=False)
class ClusterChanges:
    """The changes (c,) of a proportion that are not 0, in `clusters` (c,), which are images or observations of `data`.

    Two metrics have the same clusters if `data` is equal.
    """

    data: str
    clusters: Ints
    changes: Floats


def differences(before: Evidence, after: Evidence, sides: tuple[str, str] = SIDES) -> list[str]:
    """Return why two cases cannot be compared: other data, labels or samples, or other rules of reading answers.

    A label set that only one of them has is no reason: its metrics are in `missing_metrics` or `added_metrics`.
    """
    shared = before.label_hashes.keys() & after.label_hashes.keys()
    return _unequal(_conditions(before, shared), _conditions(after, shared), sides=sides)


def _conditions(evidence: Evidence, label_sets: Collection[str]) -> dict[str, object]:
    """Return what the metrics of some label sets depend on."""
    labels = {f"ground truth {name}": sha256 for name, sha256 in evidence.label_hashes.items() if name in label_sets}
    rules_of_empty = empty_label_rules(evidence.variant)
    empty = {f"no labels in {name}": rule for name, rule in rules_of_empty.items() if name in label_sets}
    rules = {name: evidence.variant.get(name) for name in RULES}
    return {name: getattr(evidence, name) for name in SAME} | labels | empty | rules


def remarks(before: Evidence, after: Evidence, sides: tuple[str, str] = SIDES) -> list[str]:
    """Return other differences, which do not prevent a comparison: weights, prompts, libraries, the machine."""
    return [*_changed_settings(before, after, sides), *_fewer_samples(before, after, sides)]


def _changed_settings(before: Evidence, after: Evidence, sides: tuple[str, str] = SIDES) -> list[str]:
    settings = [
        {"weights": evidence.weights_sha256, **evidence.variant, **evidence.environment} for evidence in (before, after)
    ]
    old, new = ({name: side[name] for name in side if name not in (*RULES, EMPTY)} for side in settings)
    return _unequal(old, new, sides=sides)


def _fewer_samples(before: Evidence, after: Evidence, sides: tuple[str, str]) -> Iterator[str]:
    """Yield at most one sentence: which metrics have fewer samples because more samples may have ended in errors."""
    old, new = ({m.key: m for m in evidence.metrics if m.direction} for evidence in (before, after))
    answered = [next((m.value for m in side.values() if m.name == ANSWERED), None) for side in (old, new)]
    if answered[0] is not None and answered[1] is not None and answered[1] >= answered[0]:
        return
    fewer = [key for key in new if key in old and new[key].n < old[key].n]
    if fewer:
        counts = f"n={old[fewer[0]].n} {sides[0]}, n={new[fewer[0]].n} {sides[1]}"
        rest = f" (and {count_of(len(fewer) - 1, 'more number')})" if fewer[1:] else ""
        yield f"fewer samples: {new[fewer[0]].full_name} has {counts}{rest}"


def _unequal(before: Mapping[str, object], after: Mapping[str, object], *, sides: tuple[str, str]) -> list[str]:
    return [
        f"{name}: {_shorten(before.get(name))} {sides[0]}, {_shorten(after.get(name))} {sides[1]}"
        for name in {**before, **after}
        if before.get(name) != after.get(name)
    ]


def _shorten(value: object) -> object:
    if value is None:
        return "nothing"
    return value[:8] if isinstance(value, str) and HASH.fullmatch(value) else value


def compare_metrics(before: Evidence, after: Evidence) -> Iterator[MetricComparison]:
    """Yield a comparison for every metric that has a direction and a value on both sides; the first one is primary.

    Of a sequential case it is the primary metric alone, since no other test is valid whenever the asking stops.
    """
    comparisons = _compare_all(before, after)
    if after.sequential is msgspec.UNSET:
        yield from comparisons
        return
    yield from (_compare_sequentially(comparison) for comparison in comparisons if comparison.primary)


def _compare_sequentially(comparison: MetricComparison) -> MetricComparison:
    """Return the comparison of a proportion of independent samples by its e-process."""
    worse, better = comparison.worse_and_better
    sides = (sequential_loss_limit(*counts, comparison.n, 0.025) for counts in ((worse, better), (better, worse)))
    worst, best = sides
    low, high = (-worst, best) if comparison.metric.direction > 0 else (-best, worst)
    p = min(1.0, float(np.exp(-loss_log_e_value(worse, better))))
    return replace(comparison, p=p, ci=Interval(low, high), method=BETTING, changes=())


def _compare_all(before: Evidence, after: Evidence) -> Iterator[MetricComparison]:
    """Yield a comparison for every metric that has a direction and a value on both sides."""
    old, new = ({metric.key: metric for metric in evidence.metrics} for evidence in (before, after))
    same_model = bool(after.weights_sha256) and not _changed_settings(before, after)
    primary = True
    for metric in after.metrics:
        previous = old.get(metric.key)
        if metric.name == ANSWERED and previous is not None and previous.value == metric.value == 1:
            continue  # no error on either side: the p-value is 1
        labelled = (metric.name, metric.labels, LABELLED, "", "")
        if metric.subset_text == WHOLE and labelled in old and labelled in new:
            continue  # the same changes, among more samples whose outcome no answer can change
        if metric.direction and previous is not None and previous.value is not None and metric.value is not None:
            is_primary = primary and metric.name != ANSWERED
            comparison = _compare_metric(before, after, previous, metric)
            if comparison.family != SCORES:
                comparison = replace(comparison, family=PRIMARY if is_primary else OTHER)
                primary = primary and not is_primary
            unchanged = same_model and previous.n == metric.n
            compares_weights = bool(after.environment.get("dtype", "unknown"))  # a class without an identity has none
            yield replace(comparison, unchanged_model=unchanged, compares_weights=compares_weights)


def missing_metrics(before: Evidence, after: Evidence) -> list[str]:
    """Return the metrics that the baseline has and that have no value now: a loss that no test would detect."""
    current = _metric_titles(after)
    return [name for name in _metric_titles(before) if name not in current]


def added_metrics(before: Evidence, after: Evidence) -> list[str]:
    """Return the metrics that the baseline does not have."""
    return missing_metrics(after, before)


def lacking_metrics(before: Evidence, after: Evidence) -> list[str]:
    """Return the metrics that are not in the baseline although it has their label set.

    A complete baseline has all: else metrics were removed from it by hand, or another version of eyechart wrote it.
    """
    new_labels = after.label_hashes.keys() - before.label_hashes.keys()
    of_new_labels = {metric.full_name for metric in after.metrics if metric.labels in new_labels}
    return [name for name in added_metrics(before, after) if name not in of_new_labels]


def _metric_titles(evidence: Evidence) -> list[str]:
    return [metric.full_name for metric in evidence.metrics if metric.direction and metric.value is not None]


def _compare_metric(before: Evidence, after: Evidence, old: MetricEvidence, new: MetricEvidence) -> MetricComparison:
    """Return the comparison of a metric by the test that its evidence allows, else by the intervals of its values."""
    n_clusters = min(old.sampling_units, new.sampling_units)
    untested = MetricComparison(
        case=after.case,
        protocol=after.protocol,
        model=after.model,
        metric=new,
        before=float(old.value or 0),
        after=float(new.value or 0),
        n=min(old.n, new.n),
        n_clusters=n_clusters,
        delta=float("nan"),
        ci=None,
        p=float("nan"),
        method="unpaired",
        counts=None if old.n == new.n else (old.n, new.n),
        effective_n=float(n_clusters),
    )
    correct_before, correct_after = before.sample_outcomes(old), after.sample_outcomes(new)
    if correct_before is not None and correct_after is not None:
        clusters = after.cluster_ids()
        clusters = before.cluster_ids() if clusters is None else clusters
        return _compare_proportions(untested, after, correct_before, correct_after, clusters)
    scores_before, scores_after = before.log_scores(old), after.log_scores(new)
    if scores_before is not None and scores_after is not None:
        return _compare_scores(untested, after, (scores_before, scores_after))
    separations = before.separation(old), after.separation(new)
    if separations[0] is not None and separations[1] is not None:
        comparison = _compare_areas(untested, (separations[0], separations[1]), after.cluster_ids())
        return replace(comparison, evidence=(old.ranks, new.ranks))
    samples_before, samples_after = before.bootstrap_samples(old), after.bootstrap_samples(new)
    values = untested.before, untested.after
    if samples_before is not None and samples_after is not None:
        change = bootstrap_change(*values, samples_before, samples_after, n=n_clusters)
        evidence = old.bootstrap_samples, new.bootstrap_samples
        return replace(untested, **change._asdict(), method=BOOTSTRAP, evidence=evidence)
    change = interval_change(values[0], old.ci or NO_INTERVAL, values[1], new.ci or NO_INTERVAL)
    return replace(untested, **change._asdict())


def _compare_proportions(
    untested: MetricComparison,
    case: Evidence,
    correct_before: Floats,
    correct_after: Floats,
    clusters: Ints | None,
) -> MetricComparison:
    """Compare a proportion sample by sample; `clusters` (samples,) is the cluster of each, None where all are own."""
    both = ~np.isnan(correct_before) & ~np.isnan(correct_after)
    n, n_clusters = int(both.sum()), _count_clusters(clusters, both)
    moved = np.where(both, correct_after - correct_before, 0.0)
    if clusters is None:
        test, ci = mcnemar(correct_before, correct_after), change_interval(correct_before, correct_after)
        changes, effective = moved, float(n)
    else:
        test = clustered_mcnemar(correct_before, correct_after, clusters)
        ci = clustered_change_interval(correct_before, correct_after, clusters)
        changes = np.bincount(clusters, moved).astype(np.float64)
        effective = float(n) if n_clusters == n else effective_sample_size(np.where(both, moved, np.nan), clusters)
    changed = np.flatnonzero(changes)
    values = (float(correct_before[both].mean()), float(correct_after[both].mean())) if n else NO_INTERVAL
    return replace(
        untested,
        before=values[0],
        after=values[1],
        n=n,
        n_clusters=n_clusters,
        delta=values[1] - values[0],
        ci=ci,
        p=test.p,
        method=MCNEMAR if n_clusters == n else SIGN_FLIPS,
        lost=tuple(np.flatnonzero(moved < 0).tolist()),
        gained=test.gained,
        effective_n=effective,
        changes=(ClusterChanges(_data_key(case), changed, changes[changed]),),
    )


def _compare_scores(untested: MetricComparison, case: Evidence, scores: tuple[Floats, Floats]) -> MetricComparison:
    """Compare a mean of log scores, or of the Brier scores that follow from them, sample by sample.

    Values, change, interval and p-value are computed from the scores in the evidence, not from the exact ones.
    """
    first, second = map(brier_scores, scores) if untested.metric.direction < 0 else scores
    clusters = case.cluster_ids()
    units = np.arange(len(first)) if clusters is None else clusters
    both = ~np.isnan(first) & ~np.isnan(second)
    n, n_clusters = int(both.sum()), _count_clusters(clusters, both)
    moved = np.where(both, second - first, 0.0)
    changes = np.bincount(units, moved).astype(np.float64)
    changed = np.flatnonzero(changes)
    values = (float(first[both].mean()), float(second[both].mean())) if n else NO_INTERVAL
    delta = values[1] - values[0]
    interval = clustered_t_interval(np.where(both, moved, np.nan), units) if n else None
    return replace(
        untested,
        before=values[0],
        after=values[1],
        n=n,
        n_clusters=n_clusters,
        delta=delta,
        ci=interval and change_in_range(untested.metric.name, delta, interval),
        p=sign_flip_mean_p(changes) if n else float("nan"),
        method=SIGNED_SCORES,
        family=SCORES,
        effective_n=float(n),
        changes=(ClusterChanges(_data_key(case), changed, changes[changed]),),
    )


def _compare_areas(
    untested: MetricComparison, sides: tuple[Separation, Separation], clusters: Ints | None
) -> MetricComparison:
    """Compare two AUROCs of the same samples by DeLong's test."""
    positive = np.where(sides[0].positive == sides[1].positive, sides[1].positive, np.nan)
    both = ~np.isnan(positive)
    n, n_clusters = int(both.sum()), _count_clusters(clusters, both)
    values = tuple(auroc(side.scores, positive) for side in sides)
    change = delong_test(sides[0].scores, sides[1].scores, positive, clusters)
    return replace(
        untested,
        before=values[0],
        after=values[1],
        n=n,
        n_clusters=n_clusters,
        **change._asdict(),
        method=DELONG,
        effective_n=float(n_clusters),
    )


def change_in_range(name: str, change: float, interval: Interval) -> Interval:
    """Return the interval of a change, which is in it, without what no change of the metric can be."""
    most = largest_change(name)
    return Interval(max(-most, min(interval.low, change)), min(most, max(interval.high, change)))


def _count_clusters(clusters: Ints | None, counted: NDArray[np.bool_]) -> int:
    return int(counted.sum()) if clusters is None else len(np.unique(clusters[counted]))


def _data_key(evidence: Evidence) -> str:
    """Return a key that is equal for cases on the same samples of the same split."""
    return " ".join([*evidence.case.split("/", 2)[:2], *(str(getattr(evidence, name)) for name in SAME)])


def samples_to_show(comparison: MetricComparison, all_of_case: Sequence[MetricComparison]) -> list[int]:
    """Return at most `MAX_LISTED` lost samples, first those that most metrics lost, then in the order of the data."""
    losses: dict[int, int] = {}
    for other in all_of_case:
        for row in other.lost:
            losses[row] = losses.get(row, 0) + 1
    return sorted(comparison.lost, key=lambda row: (-losses[row], row))[:MAX_LISTED]

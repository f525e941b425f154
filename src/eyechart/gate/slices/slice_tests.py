"""Compare the slices of a case with the baseline, with control of the false discovery rate.

A slice is the samples with one value of a variable, such as `class=dog`. Slices are about the first proportion of a
case: its primary metric, unless that is another kind of number, such as an information gain. The question of a slice is
whether it changed more than the rest of the samples: a loss of the whole metric is in the metric's own test, and names
no slice. All slices of a session are one family: if none differs from its rest, the probability of any significant
slice is at most alpha.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import nan
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from eyechart.data.dataset.dataset import SliceVariable
from eyechart.gate.comparison.compare_metrics import AGAINST_REST, SLICES, MetricComparison
from eyechart.gate.verdicts.decide import Rule, Verdict, decide_metric
from eyechart.results.evidence import Evidence, Floats, Ints
from eyechart.results.headlines import ANSWERED
from eyechart.results.slices import read_slices
from eyechart.statistics.clusters import design_effect_of_changes
from eyechart.statistics.false_discovery import discrete_benjamini_hochberg
from eyechart.statistics.intervals import Interval
from eyechart.statistics.noninferiority import loss_upper_limit
from eyechart.statistics.paired import change_interval_from_counts
from eyechart.statistics.slice_contrasts import SliceContrasts, slice_contrasts


@dataclass(frozen=True, eq=False)
class _Samples:
    """The slice, the change and the sampling unit of each sample that has an outcome before and after (n,)."""

    slices: Ints
    changes: Ints
    units: Ints

    def contrasts(self, count: int, kept: NDArray[np.bool_] | None = None) -> SliceContrasts:
        """Return the tests of the slices against the rest, on some of the samples if a mask is given."""
        rows = slice(None) if kept is None else kept
        return slice_contrasts(self.slices[rows], self.changes[rows], count, self.units[rows])


@dataclass(frozen=True, eq=False)
class SliceChanges:
    """The counts of each of the s slices of a variable, all of shape (s,); comparisons are made of a few of them.

    `whole` is the comparison over all samples. `lost_rows` (l,) are the samples that became wrong, and `lost_slices`
    (l,) their slices. `cluster_slices` (c,) is the slice of each cluster whose samples changed by a sum other than 0,
    ascending, and `cluster_changes` (c,) the sum. `p` (s,) are the p-values of each slice against the rest, and `least`
    (s,) the smallest ones that the numbers of changed clusters allow. `group` names an attribute of images, whose
    slices are tested again without those that changed most certainly: `samples` has what this needs.
    """

    variable: str
    values: tuple[str, ...]
    whole: MetricComparison
    n: Ints
    n_clusters: Ints
    before: Floats
    after: Floats
    lost: Ints
    gained: Ints
    lost_rows: Ints
    lost_slices: Ints
    cluster_slices: Ints
    cluster_changes: Ints
    p: Floats
    least: Floats
    group: str = ""
    samples: "_Samples | None" = None

    @classmethod
    def count(
        cls,
        variable: SliceVariable,
        whole: MetricComparison,
        before: Floats,
        after: Floats,
        clusters: Ints | None = None,
    ) -> "SliceChanges":
        """Count samples with outcomes 1, 0 and NaN before and after (n,), which are in clusters (n,)."""
        size = len(variable.values)
        units = np.arange(len(before)) if clusters is None else clusters
        scored = ~np.isnan(before) & ~np.isnan(after)
        change = np.rint(after[scored] - before[scored]).astype(np.int64)
        samples = _Samples(variable.codes[scored], change, units[scored])
        p, least = samples.contrasts(size)
        counted = scored & (variable.codes >= 0)
        code, old, new = variable.codes[counted], before[counted], after[counted]
        width = int(units.max(initial=0)) + 1
        pairs, of_pair = np.unique(code * width + units[counted], return_inverse=True)
        sums = np.rint(np.bincount(of_pair.reshape(-1), new - old, len(pairs))).astype(np.int64)
        n = np.bincount(code, minlength=size)
        return cls(
            variable.name,
            variable.values,
            whole,
            n,
            np.bincount(pairs // width, minlength=size),
            np.bincount(code, old, size) / np.maximum(n, 1),
            np.bincount(code, new, size) / np.maximum(n, 1),
            np.bincount(code[new < old], minlength=size),
            np.bincount(code[new > old], minlength=size),
            np.flatnonzero(counted)[new < old],
            code[new < old],
            (pairs // width)[sums != 0],
            sums[sums != 0],
            p,
            least,
            variable.group,
            samples if variable.group else None,
        )

    @property
    def indices(self) -> Ints:
        """The indices of the slices that have some of the samples of the whole, but not all."""
        return np.flatnonzero((self.n > 0) & (self.n < self.whole.n))

    def name(self, index: int) -> str:
        """Return the name of a slice, such as `class=dog`."""
        return f"{self.variable}={self.values[index]}"

    def loss(self, index: int) -> float:
        """Return the loss of a slice, negative for a gain."""
        return float(self.before[index] - self.after[index]) * self.whole.metric.direction

    def changes_of(self, index: int) -> Ints:
        """Return the sums of the changed clusters of a slice."""
        first, last = np.searchsorted(self.cluster_slices, [index, index + 1])
        return self.cluster_changes[first:last]

    def effective_counts(self, index: int) -> tuple[float, float, float]:
        """Return the lost, the gained and all samples of a slice, divided by the design effect of its clusters."""
        lost, gained, n = int(self.lost[index]), int(self.gained[index]), int(self.n[index])
        share = 1 / design_effect_of_changes(self.changes_of(index), lost + gained) if lost + gained else 1.0
        return share * lost, share * gained, share * n

    def interval(self, index: int) -> Interval:
        """Return the 95 % interval of the change of a slice."""
        lost, gained, n = self.effective_counts(index)
        return change_interval_from_counts(gained, lost, n)

    def loss_limit(self, index: int, alpha: float) -> float:
        """Return the upper confidence limit of the loss of a slice, one-sided at 1 - alpha, as that of a metric."""
        lost, gained, n = self.effective_counts(index)
        worse, better = (lost, gained) if self.whole.metric.direction > 0 else (gained, lost)
        return loss_upper_limit(worse, better, n, alpha)

    def comparison(self, index: int) -> MetricComparison:
        """Return the comparison of a slice."""
        whole = self.whole
        before, after, n = float(self.before[index]), float(self.after[index]), int(self.n[index])
        return MetricComparison(
            case=whole.case,
            protocol=whole.protocol,
            model=whole.model,
            metric=msgspec.structs.replace(
                whole.metric, subset=self.name(index), level="", prompt="", value=after, n=n
            ),
            before=before,
            after=after,
            n=n,
            n_clusters=int(self.n_clusters[index]),
            delta=after - before,
            ci=self.interval(index),
            p=float(self.p[index]),
            method=AGAINST_REST,
            gained=int(self.gained[index]),
            lost=tuple(self.lost_rows[self.lost_slices == index].tolist()),
            family=SLICES,
            unchanged_model=whole.unchanged_model,
            compares_weights=whole.compares_weights,
            effective_n=nan,
            whole=whole,
        )


def compare_case_slices(
    before: Evidence, after: Evidence, run: Evidence, comparisons: Iterable[MetricComparison], folder: Path
) -> Iterator[SliceChanges]:
    """Yield the changes of the slices of a case, by variable; of a case without a proportion there are none.

    `run` is the evidence of the session; `before` and `after` may have a part of its samples. `folder` holds its
    evidence. A slice without samples or with all samples is left out. So are all slices of a sequential run: it stops
    when the whole metric is decided, and the tests of slices hold for a number of samples that is fixed before.
    """
    if run.slices is msgspec.UNSET or run.sequential is True:
        return
    rows, numbers = shared_rows(run, after), [*comparisons]
    for variable in read_slices(run, folder):
        yield from compare_variable(before, after, numbers, variable.select(rows))


def compare_variable(
    before: Evidence, after: Evidence, comparisons: Iterable[MetricComparison], variable: SliceVariable
) -> Iterator[SliceChanges]:
    """Yield the changes of the slices of one variable of the samples, nothing for a case without a proportion.

    They are about the first proportion, which is the primary metric if that is one.
    """
    whole = next((part for part in comparisons if part.is_proportion and part.metric.name != ANSWERED), None)
    if whole is None:
        return
    old = next(metric for metric in before.metrics if metric.key == whole.metric.key)
    outcomes = before.sample_outcomes(old), after.sample_outcomes(whole.metric)
    if outcomes[0] is None or outcomes[1] is None:
        return
    clusters = after.cluster_ids()
    clusters = before.cluster_ids() if clusters is None else clusters
    yield SliceChanges.count(variable, whole, outcomes[0], outcomes[1], clusters)


def shared_rows(run: Evidence, part: Evidence) -> Ints:
    """Return the indices in a run of the samples of a part of it."""
    if (run.fingerprint, run.samples) == (part.fingerprint, part.samples):
        return np.arange(run.samples)
    index = {key: row for row, key in enumerate(run.keys)}
    return np.array([index[key] for key in part.keys], np.int64)


def count_slices(slices: Iterable[SliceChanges]) -> int:
    """Return the number of slices that are compared."""
    return sum(len(part.indices) for part in slices)


@dataclass(frozen=True)
class _Finding:
    """What is tested once: a slice, or the slices of a group of correlated attributes, the most certain one first.

    `p` and `least` are those of the slice, or the smallest one of a group times the number of its slices (Bonferroni).
    """

    slices: tuple[tuple[SliceChanges, int], ...]
    p: float
    least: float

    @property
    def name(self) -> str:
        """The name of the most certain slice."""
        part, index = self.slices[0]
        return part.name(index)

    def p_without(self, other: "_Finding") -> float:
        """Return the p-value of a group on the samples that are not in the most certain slice of another one."""
        part, index = other.slices[0]
        assert part.samples is not None
        kept = part.samples.slices != index
        parts = {id(part): part for part, _ in self.slices}
        p = [part.samples.contrasts(len(part.n), kept).p.min() for part in parts.values() if part.samples is not None]
        return min(1.0, len(self.slices) * float(min(p)))


def _list_findings(slices: Iterable[SliceChanges]) -> Iterator[_Finding]:
    """Yield the findings of a session."""
    groups: dict[tuple[int, str], list[tuple[SliceChanges, int]]] = {}
    for part in slices:
        for index in part.indices.tolist():
            if part.group:
                groups.setdefault((id(part.whole), part.group), []).append((part, index))
            else:
                yield _Finding(((part, index),), float(part.p[index]), float(part.least[index]))
    for group in groups.values():
        group.sort(key=lambda item: (float(item[0].p[item[1]]), -abs(item[0].loss(item[1]))))
        p, least = (min(float(getattr(part, name)[index]) for part, index in group) for name in ("p", "least"))
        yield _Finding(tuple(group), min(1.0, len(group) * p), min(1.0, len(group) * least))


def _explanations(findings: Sequence[_Finding], named: Iterable[int], alpha: float) -> dict[int, str]:
    """Return the slice that explains each finding which is not significant without the samples of this slice.

    It is the most certain one of the attributes of a case.
    """
    most_certain: dict[int, _Finding] = {}
    explained = {}
    for number in sorted(named, key=lambda number: findings[number].p):
        finding, (part, _) = findings[number], findings[number].slices[0]
        if part.group:
            first = most_certain.setdefault(id(part.whole), finding)
            if first is not finding and finding.p_without(first) >= alpha:
                explained[number] = first.name
    return explained


def decide_slices(slices: Sequence[SliceChanges], rule: Rule, *, every: bool = False) -> list[Verdict]:
    """Return the verdicts on slices that changed significantly more than the rest, with the false discovery rate alpha.

    The attributes of a group are one test, whose verdict is on its most certain slice; other slices of the group that
    are as significant by themselves are named beside it and have no verdict of their own.
    With `every`, or if the policy has a rule on slices, there is a verdict on every slice; most are inconclusive. A
    slice has the margin of a rule that names it, and otherwise none.
    """
    findings = [*_list_findings(slices)]
    if not findings:
        return []
    p, least = (np.array([getattr(finding, name) for finding in findings]) for name in ("p", "least"))
    adjusted = discrete_benjamini_hochberg(p, least, rule.alpha)
    named = np.flatnonzero(adjusted < rule.alpha).tolist()
    explained = _explanations(findings, named, rule.alpha)
    shows_all = every or rule.policy.has_slices
    without_margin = replace(rule, margin=None)
    verdicts = []
    for number in range(len(p)) if shows_all else named:
        (first, *others), value = findings[number].slices, float(adjusted[number])
        is_loss, level = first[0].loss(first[1]) > 0, rule.alpha / (1 + len(others))
        like = [
            part.name(index)
            for part, index in others
            if part.p[index] < level and value < rule.alpha and (part.loss(index) > 0) == is_loss
        ]
        verdicts.append(_decide_slice(*first, value, without_margin, tuple(like), explained.get(number, "")))
        if shows_all:
            verdicts += [_decide_slice(*other, 1.0, without_margin) for other in others]
    return verdicts


def _decide_slice(
    part: SliceChanges, index: int, adjusted: float, rule: Rule, like: tuple[str, ...] = (), explained_by: str = ""
) -> Verdict:
    comparison = replace(part.comparison(index), like=like, explained_by=explained_by)
    has_margin = rule.for_metric(comparison).margin is not None
    return decide_metric(comparison, adjusted, rule, part.loss_limit(index, rule.alpha) if has_margin else nan)

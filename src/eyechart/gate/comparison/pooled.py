"""One comparison per model over all of its cases: the pooled decision.

Every answer of a primary metric that is a proportion has the same weight, whichever case it is of; so has every log
score. An image that several cases share is one sampling unit of the test, as is an observation with several
photographs.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import nan

import numpy as np
from scipy.special import stdtrit

from eyechart.gate.comparison.compare_metrics import (
    MCNEMAR,
    PRIMARY,
    SCORES,
    SIGN_FLIPS,
    ClusterChanges,
    MetricComparison,
    change_in_range,
)
from eyechart.messages.plurals import count_of
from eyechart.results.evidence import MetricEvidence
from eyechart.statistics.clusters import design_effect_of_changes, sign_flip_p
from eyechart.statistics.intervals import Interval
from eyechart.statistics.paired import change_interval_from_counts
from eyechart.statistics.proper_scores import sign_flip_mean_p

POOLED = "pooled"


def pool_models(comparisons: Iterable[MetricComparison]) -> list[MetricComparison]:
    """Return a comparison of each model with several primary proportions, and of each with several log scores."""
    groups: dict[tuple[str, str], list[MetricComparison]] = {}
    for comparison in comparisons:
        proportion = comparison.primary and comparison.is_proportion
        score = comparison.family == SCORES and comparison.metric.direction > 0
        if comparison.n and (proportion or score):
            groups.setdefault((comparison.model, comparison.family), []).append(comparison)
    return [
        (pool if family == PRIMARY else _pool_scores)(group) for (_, family), group in groups.items() if len(group) > 1
    ]


def pool(comparisons: Sequence[MetricComparison]) -> MetricComparison:
    """Return the comparison of all samples of one model's proportions, changed so that a higher value is better."""
    untested = _untested_pool(comparisons)
    n, images = untested.n, untested.n_clusters
    units = np.concatenate([part.changes for part in untested.changes]).astype(np.int64)
    worse, better = (sum(comparison.worse_and_better[side] for comparison in comparisons) for side in (0, 1))
    effective = n / design_effect_of_changes(units, worse + better) if worse + better else float(images)
    share = effective / n
    clustered = any(comparison.method == SIGN_FLIPS for comparison in comparisons) or len(units) < worse + better
    return replace(
        untested,
        delta=(better - worse) / n,
        ci=change_interval_from_counts(share * better, share * worse, effective),
        p=sign_flip_p(units),
        method=SIGN_FLIPS if clustered else MCNEMAR,
        gained=better,
        pooled_lost=worse,
        unchanged_model=all(comparison.is_equal for comparison in comparisons),
        effective_n=effective,
    )


def _pool_scores(comparisons: Sequence[MetricComparison]) -> MetricComparison:
    """Return the comparison of the mean log score over all samples of one model."""
    untested = _untested_pool(comparisons)
    delta, images = untested.delta, untested.n_clusters
    units = np.concatenate([part.changes for part in untested.changes])
    half = float(stdtrit(max(1, images - 1), 0.975)) * float(np.sqrt((units**2).sum())) / untested.n
    return replace(
        untested,
        ci=change_in_range(comparisons[0].metric.name, delta, Interval(delta - half, delta + half)),
        p=sign_flip_mean_p(units),
        unchanged_model=all(comparison.unchanged_model for comparison in comparisons),
        effective_n=float(images),
    )


def _untested_pool(comparisons: Sequence[MetricComparison]) -> MetricComparison:
    """Return the values of one model over all samples of its cases, changed so that a higher value is better."""
    first, n = comparisons[0], sum(comparison.n for comparison in comparisons)
    before, after = (
        sum(part.n * (value if part.metric.direction > 0 else 1 - value) for part, value in values) / n
        for values in ([(part, part.before) for part in comparisons], [(part, part.after) for part in comparisons])
    )
    return MetricComparison(
        case=first.model,
        protocol=count_of(len(comparisons), "case"),
        model=first.model,
        metric=MetricEvidence(POOLED, "", "", value=after, n=n, direction=1),
        before=before,
        after=after,
        n=n,
        n_clusters=_count_images(comparisons),
        delta=after - before,
        ci=None,
        p=nan,
        method=first.method,
        family=first.family,
        compares_weights=all(comparison.compares_weights for comparison in comparisons),
        changes=pool_changes(comparisons),
        pooled=tuple(comparisons),
    )


def _count_images(comparisons: Iterable[MetricComparison]) -> int:
    """Return the number of images of some comparisons, those of one split once."""
    images: dict[str, int] = {}
    for comparison in comparisons:
        (part,) = comparison.changes
        images[part.data] = max(images.get(part.data, 0), comparison.n_clusters)
    return sum(images.values())


def pool_changes(comparisons: Iterable[MetricComparison]) -> tuple[ClusterChanges, ...]:
    """Return the sum of the changes of each image, as improvements, by data."""
    by_data: dict[str, list[tuple[ClusterChanges, int]]] = {}
    for comparison in comparisons:
        for part in comparison.changes:
            by_data.setdefault(part.data, []).append((part, comparison.metric.direction))
    return tuple(_sum_changes(data, parts) for data, parts in by_data.items())


def _sum_changes(data: str, parts: Sequence[tuple[ClusterChanges, int]]) -> ClusterChanges:
    clusters, index = np.unique(np.concatenate([part.clusters for part, _ in parts]), return_inverse=True)
    total = np.bincount(index, np.concatenate([direction * part.changes for part, direction in parts]), len(clusters))
    changed = total != 0
    return ClusterChanges(data, clusters[changed].astype(np.int64), total[changed].astype(np.float64))

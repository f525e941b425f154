"""Which ranks each model may have by one metric: simultaneous rank sets of models over the same samples.

Ranks by a proportion or by a score of each sample come from the sign flips of sampling units (`rank_sets`). Ranks by
another metric come from the paired tests of the gate, with Holm's correction over both directions of all pairs.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import ceil

import numpy as np
from msgspec import structs
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from eyechart.gate.comparison.compare_metrics import MetricComparison, compare_metrics
from eyechart.reports.runs import CaseRun
from eyechart.results.evidence import Evidence
from eyechart.results.records import WHOLE, Metric
from eyechart.statistics.degenerate_intervals import ROUNDING
from eyechart.statistics.rank_sets import RankSets, rank_sets, sets_of_p_values
from eyechart.statistics.significance import holm

DRAWS = 2000  # of signs, at least; 100 / alpha if that is more

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class RankedMetric:
    """The metric that models are ranked by."""

    name: str
    labels: str
    subset: str

    def find(self, case: CaseRun) -> Metric | None:
        """Return the metric of a case, or None if it has no value."""
        metric = case.metric(self.name, self.labels, self.subset)
        return None if metric is None or metric.value is None else metric

    def __str__(self) -> str:
        part = "" if self.subset == WHOLE else f", {self.subset}"
        return f"{self.name} under {self.labels}{part}"


def metric_key(metric: Metric) -> RankedMetric:
    """Return the name, labels and subset of a metric."""
    return RankedMetric(*metric.printed_key)


@dataclass(frozen=True)
class ModelScore:
    """A model with its metric and the evidence of it."""

    name: str
    case: CaseRun
    metric: Metric
    evidence: Evidence

    @property
    def score(self) -> float:
        """Return the value with the sign that makes higher better."""
        value = self.metric.value or 0.0
        return -value if self.metric.higher_is_better is False else value

    def sample_values(self) -> Floats | None:
        """Return the value of each sample (samples,) with that sign, NaN where it does not count; None without them.

        The samples of a sequential case were chosen by its answers, so that no test of their mean is valid.
        """
        (metric,) = self.evidence.metrics
        if self.evidence.sequential:
            return None
        values = self.evidence.sample_outcomes(metric)
        values = self.evidence.sample_scores(metric) if values is None else values
        return values if values is None or metric.direction >= 0 else -values


@dataclass(frozen=True)
class RankedModel:
    """A model, the best and the worst rank that it may have, and its comparison with the model of the best value.

    `test` has the adjusted p-value of "that model is not better than this one"; it is None for that model itself.
    """

    lowest: int
    highest: int
    model: ModelScore
    test: tuple[MetricComparison, float] | None = None

    @property
    def ranks(self) -> str:
        """The ranks as text, such as "2–4"."""
        return _rank_text(self.lowest, self.highest)


@dataclass(frozen=True)
class _PooledRank:
    """A model's weighted mean over several splits, and the best and the worst rank that it may have."""

    name: str
    value: float
    lowest: int
    highest: int

    @property
    def ranks(self) -> str:
        """The ranks as text, such as "2–4"."""
        return _rank_text(self.lowest, self.highest)


@dataclass(frozen=True)
class PooledRanks:
    """The ranks of models over several splits, the best value first, and how many samples decided them."""

    models: tuple[_PooledRank, ...]
    samples: int
    left_out: int
    effective_units: float


def _rank_text(lowest: int, highest: int) -> str:
    return str(lowest) if lowest == highest else f"{lowest}–{highest}"


def score_cases(
    names: Mapping[int, str], scored: Iterable[tuple[CaseRun, Metric]], ranked: RankedMetric
) -> list[ModelScore]:
    """Return the models of some cases and their metric, best first, equal ones by name."""
    scores = [
        ModelScore(names[id(case)], case, metric, _select_metric(case.evidence, ranked)) for case, metric in scored
    ]
    ordered = sorted(scores, key=lambda score: -score.score)
    blocks = _group_equal_scores([score.score for score in ordered])
    return [score for block in blocks for score in sorted((ordered[i] for i in block), key=lambda score: score.name)]


def _select_metric(evidence: Evidence, ranked: RankedMetric) -> Evidence:
    key = (ranked.name, ranked.labels, ranked.subset)
    items = tuple(proof for proof in evidence.metrics if proof.printed_key == key)
    return structs.replace(evidence, metrics=items)


def _group_equal_scores(scores: Sequence[float]) -> list[list[int]]:
    """Group the indices of scores that are equal but for the order of a sum; the scores are sorted, highest first."""
    groups: list[list[int]] = []
    for index, score in enumerate(scores):
        if groups and scores[groups[-1][0]] - score <= ROUNDING:
            groups[-1].append(index)
        else:
            groups.append([index])
    return groups


def assign_ranks(scores: Sequence[ModelScore], alpha: float) -> list[RankedModel]:
    """Return the models of a split with their rank sets, in their order."""
    values = _common_values([scores])
    if values is None:
        sets = _sets_of_paired_tests(scores, alpha)
    else:
        sets = rank_sets(values.scores, values.units, values.weights, alpha, _draws(alpha))
    return [
        RankedModel(
            int(sets.lowest[i]),
            int(sets.highest[i]),
            score,
            (_compare_pair(scores[0].evidence, score.evidence), float(sets.p[0, i])) if i else None,
        )
        for i, score in enumerate(scores)
    ]


def pool_ranks(
    names: Sequence[str], splits: Sequence[Sequence[ModelScore]], alpha: float, *, equal_splits: bool = True
) -> PooledRanks | None:
    """Return the ranks of models over several splits; None if the metric has no value of each sample.

    Args:
        names: Of the models.
        splits: Of each split, the scores of these models in their order.
        alpha: The probability that some set is wrong.
        equal_splits: Whether each split has the same weight; otherwise each sample has.

    Returns:
        The models with their weighted means, the best first.
    """
    values = _common_values(splits, equal_splits=equal_splits)
    if values is None:
        return None
    sets = rank_sets(values.scores, values.units, values.weights, alpha, _draws(alpha))
    sign = -1 if splits[0][0].metric.higher_is_better is False else 1
    means = values.scores @ values.weights / values.weights.sum()
    models = [
        _PooledRank(name, sign * float(mean), int(low), int(high))
        for name, mean, low, high in zip(names, means, sets.lowest, sets.highest, strict=True)
    ]
    models.sort(key=lambda model: (-sign * round(model.value, 9), model.name))
    return PooledRanks(tuple(models), values.scores.shape[1], values.left_out, sets.effective_units)


@dataclass(frozen=True)
class _CommonValues:
    """Scores (k, n), sampling units (n,) and weights (n,) of the samples that all models have; others are left out."""

    scores: Floats
    units: Ints
    weights: Floats
    left_out: int


def _common_values(splits: Sequence[Sequence[ModelScore]], *, equal_splits: bool = True) -> _CommonValues | None:
    """Return the values of all models over the samples of several splits; None if a model has none."""
    scores, weights, kept, left_out = list[Floats](), list[Floats](), list[NDArray[np.bool_]](), 0
    for models in splits:
        rows = [model.sample_values() for model in models]
        known = [row for row in rows if row is not None]
        if len(known) < len(rows) or len({len(row) for row in known}) != 1:
            return None
        values = np.stack(known)
        missing = np.isnan(values).sum(axis=0)  # models without a value of the sample
        counted: NDArray[np.bool_] = missing == 0
        left_out += int(((missing > 0) & (missing < len(models))).sum())
        n = int(counted.sum())
        if not n:
            return None
        scores.append(values[:, counted])
        weights.append(np.full(n, 1 / n if equal_splits else 1.0))
        kept.append(counted)
    units = _sampling_units([models[0].evidence for models in splits], kept)
    return _CommonValues(np.hstack(scores), units, np.concatenate(weights), left_out)


def _sampling_units(evidence: Sequence[Evidence], kept: Sequence[NDArray[np.bool_]]) -> Ints:
    """Return the sampling unit (n,) of each kept sample; units of several splits that share a sample are one unit."""
    clusters, start = list[Ints](), 0
    for split, counted in zip(evidence, kept, strict=True):
        ids = split.cluster_ids()
        ids = np.arange(split.samples) if ids is None else np.unique(ids, return_inverse=True)[1]
        clusters.append(start + ids[counted])
        start += int(ids.max(initial=-1)) + 1
    units = np.concatenate(clusters)
    if len(evidence) == 1 or not all(split.sample_hashes in split.arrays for split in evidence):
        return units
    samples = np.concatenate([split.sample_identities()[one] for split, one in zip(evidence, kept, strict=True)])
    sample = start + np.unique(samples, return_inverse=True)[1]
    size = int(sample.max()) + 1
    graph = coo_array((np.ones(len(units), np.bool_), (units, sample)), (size, size))
    components: Ints = connected_components(graph, directed=False)[1].astype(np.int64)
    return components[units]


def _draws(alpha: float) -> int:
    return max(DRAWS, ceil(100 / alpha))


def _sets_of_paired_tests(scores: Sequence[ModelScore], alpha: float) -> RankSets:
    """Return the rank sets by the paired tests of the gate, each direction of a pair being a hypothesis of its own."""
    p, pairs = np.ones((len(scores), len(scores))), [*combinations(range(len(scores)), 2)]
    for i, j in pairs:
        test = _compare_pair(scores[i].evidence, scores[j].evidence)
        p[i, j], p[j, i] = (test.p / 2, 1 - test.p / 2) if test.loss > 0 else (1 - test.p / 2, test.p / 2)
    both = tuple(np.array([*pairs, *((j, i) for i, j in pairs)], np.int64).reshape(-1, 2).T)
    p[both] = holm(np.nan_to_num(p[both], nan=1.0))
    return sets_of_p_values(p, alpha)


def _compare_pair(better: Evidence, worse: Evidence) -> MetricComparison:
    """Compare one pair; bootstrap samples of different seeds are not paired and are left out."""
    if better.seed != worse.seed:
        better, worse = (
            structs.replace(
                evidence, metrics=tuple(structs.replace(proof, bootstrap_samples="") for proof in evidence.metrics)
            )
            for evidence in (better, worse)
        )
    return next(compare_metrics(better, worse))

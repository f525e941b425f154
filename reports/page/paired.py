"""The ranks of the models of a split by the paired tests of `leaderboard`, for the summary of the page."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from eyechart.gate.compare import MetricComparison
from eyechart.gate.value_texts import is_percent_change
from eyechart.records import Metric

from ..leaderboard import ModelScore, RankedMetric, RankedModel, assign_ranks, metric_key, score_cases
from ..render import one_line
from ..runs import CaseRun, ComparableCases, Runs
from .summary import first_metric, split_names

NO_EARLIER = "This page has no baseline and no earlier run."


@dataclass(frozen=True)
class Ranking:
    """The cases of a split with one main metric, the best first."""

    split: str
    ranks: tuple[RankedModel, ...]

    @property
    def leaders(self) -> list[str]:
        """The names of the cases with rank 1."""
        return [one_line(ranked.model.name) for ranked in self.ranks if ranked.rank == 1]


def rank_cases(runs: Runs, alpha: float) -> list[Ranking]:
    """Return the ranking of each split and main metric with several cases that have evidence and a direction."""
    names = split_names(runs)
    return [
        Ranking(one_line(names[id(group)]), tuple(assign_ranks(scores, alpha)))
        for group in runs.groups
        for scores in comparable_scores(group)
    ]


def comparable_scores(group: ComparableCases) -> Iterator[list[ModelScore]]:
    """Yield the scores of the cases of a split that have the same main metric, if they are several."""
    by_metric: dict[RankedMetric, list[tuple[CaseRun, Metric]]] = {}
    for case in group.cases:
        metric = first_metric(case)
        if metric is not None and metric.higher_is_better is not None and case.record.evidence:
            by_metric.setdefault(metric_key(metric), []).append((case, metric))
    names = group.model_names()
    return (score_cases(names, scored, ranked) for ranked, scored in by_metric.items() if len(scored) > 1)


def rank_rows(rankings: Sequence[Ranking]) -> dict[int, dict[str, Any]]:
    """Return the rank of each case by its id, and its comparison with the best case above it, None for that one."""
    return {
        id(ranked.model.case): {"rank": ranked.rank, "against": ranked.test and _row(*ranked.test)}
        for ranking in rankings
        for ranked in ranking.ranks
    }


def _row(comparison: MetricComparison, p: float) -> dict[str, Any]:
    counts = comparison.is_proportion
    return {
        "delta": comparison.delta,
        "ci": comparison.ci and [comparison.ci.low, comparison.ci.high],
        "p": p,
        "lost": comparison.n_lost if counts else None,
        "gained": comparison.gained if counts else None,
        "percent": is_percent_change(comparison),
    }


def describe_rankings(rankings: Sequence[Ranking], alpha: float) -> str:
    """Return sentences about which models are the best, by paired tests over the same samples; "" without a ranking."""
    if not rankings:
        return ""
    leaders, split = rankings[0].leaders, rankings[0].split
    if len(rankings) > 1:
        decided = sum(len(ranking.leaders) == 1 for ranking in rankings)
        what = (
            f"In {decided} of the {len(rankings)} comparisons below one model is significantly better than every other"
        )
    elif len(leaders) == 1:
        what = f"{leaders[0]} is significantly better than every other model on {split}"
    else:
        what = f"{len(leaders)} models on {split} share the first rank: no difference between them is significant"
    return f"{what} (paired tests over the same samples, p < {alpha:g} after Holm's correction). {NO_EARLIER}"

"""The ranks that the models of a split may have, as `leaderboard` finds them, for the summary of the page."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from eyechart.gate.comparison.compare_metrics import MetricComparison
from eyechart.gate.verdicts.value_texts import is_percent_change
from eyechart.protocol.imported import recorded_protocol
from eyechart.reports.comparison.ranks import (
    ModelScore,
    RankedMetric,
    RankedModel,
    assign_ranks,
    metric_key,
    score_cases,
)
from eyechart.reports.page.case_rows import first_metric, split_names
from eyechart.reports.runs import CaseRun, ComparableCases, Runs, short_protocol_name
from eyechart.reports.tables.render import one_line


@dataclass(frozen=True)
class Ranking:
    """The cases of a split with one main metric, the best first."""

    split: str
    ranks: tuple[RankedModel, ...]

    @property
    def title(self) -> str:
        """The split and the protocols of the cases, such as "pets/test (CW)"."""
        names = dict.fromkeys(ranked.model.case.record.protocol for ranked in self.ranks)
        return f"{self.split} ({', '.join(map(short_protocol_name, names))})"

    @property
    def leaders(self) -> list[str]:
        """The names of the cases that may have rank 1: none is significantly better."""
        return [one_line(ranked.model.name) for ranked in self.ranks if ranked.lowest == 1]


def rank_cases(runs: Runs, alpha: float) -> list[Ranking]:
    """Return the ranking of each split and main metric with several models that have evidence and a direction."""
    names = split_names(runs)
    return [
        Ranking(one_line(names[id(group)]), tuple(assign_ranks(scores, alpha)))
        for group in runs.groups
        for scores in _comparable_scores(group, runs)
    ]


def _comparable_scores(group: ComparableCases, runs: Runs) -> Iterator[list[ModelScore]]:
    """Yield the scores of the models of a split that have the same main metric, if they are several."""
    for ranked, cases in _primary_cases(group, runs).items():
        tested = [
            (case, metric)
            for case in cases
            if (metric := first_metric(case)) and metric.higher_is_better is not None and case.record.evidence
        ]
        if len(tested) > 1:
            yield score_cases({id(case): case.model for case, _ in tested}, tested, ranked)


def _primary_cases(group: ComparableCases, runs: Runs) -> Mapping[RankedMetric, list[CaseRun]]:
    """Return one case of each model of a split for each main metric, the same one whatever its value.

    It is the case of the newest run, then of the first protocol in the published order, then with the fewest options.
    """
    started = {folder: run.started for folder, run in runs.sessions}

    def rank(case: CaseRun) -> tuple[object, ...]:
        protocol = recorded_protocol(case.record.protocol)
        order = protocol.order if protocol.answers_in_text else 0
        return order, len(case.prompt_settings), case.record.case

    newest = sorted(group.cases, key=lambda case: started.get(case.folder, ""), reverse=True)
    cases: dict[RankedMetric, dict[str, CaseRun]] = {}
    for _, run_cases in groupby(newest, key=lambda case: case.folder):
        for case in sorted(run_cases, key=rank):
            if metric := first_metric(case):
                cases.setdefault(metric_key(metric), {}).setdefault(case.model, case)
    return {ranked: [*by_model.values()] for ranked, by_model in cases.items()}


def rank_rows(runs: Runs, rankings: Sequence[Ranking]) -> dict[int, dict[str, Any]]:
    """Return the fields of each model's main case by its id.

    They are the ranks that it may have, if it was tested, and its comparison with the best value, None for that one.
    """
    primary = {
        id(case): {"primary": True}
        for group in runs.groups
        for cases in _primary_cases(group, runs).values()
        for case in cases
    }
    ranks = {
        id(ranked.model.case): {
            "ranks": [ranked.lowest, ranked.highest],
            "against": ranked.test and {"model": one_line(ranking.ranks[0].model.name)} | _row(*ranked.test),
        }
        for ranking in rankings
        for ranked in ranking.ranks
    }
    return {case: fields | ranks.get(case, {}) for case, fields in primary.items()}


def _row(comparison: MetricComparison, p: float) -> dict[str, Any]:
    counts = comparison.counts_samples
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
    leaders, ranking = rankings[0].leaders, rankings[0]
    if len(rankings) > 1:
        decided = sum(len(ranking.leaders) == 1 for ranking in rankings)
        what = (
            f"In {decided} of the {len(rankings)} comparisons below one model is significantly better than every other"
        )
    elif len(leaders) == 1:
        what = f"{leaders[0]} is significantly better than every other model on {ranking.title}"
    else:
        what = f"{len(leaders)} of {len(ranking.ranks)} models may be the best on {ranking.title}"
    return f"{what} (paired tests of all pairs over the same samples, adjusted p ≤ {alpha:g})."

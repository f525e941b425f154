"""`leaderboard`: rank models by one metric; models without a significant difference share a rank.

Models are sorted by the metric. The best has rank 1. Each next model shares the rank above unless it is significantly
worse than the best model of that rank, by the paired test after Holm's correction over all pairs of the table. Then a
new rank begins: one more than the number of models above. The next models are compared with the best of this rank.
Models with equal values always share a rank, and start a new rank together. The ranks therefore do not depend on the
order of the input.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import isnan

from msgspec import structs

from eyechart.errors import ReportError
from eyechart.gate.baselines.stored_cases import case_evidence
from eyechart.gate.comparison.compare_metrics import MetricComparison, compare_metrics
from eyechart.messages.suggestions import did_you_mean
from eyechart.reports.comparison.verdict_cells import change_cell
from eyechart.reports.runs import CaseRun, ComparableCases, Runs
from eyechart.reports.tables.render import P_VALUE, NumberCell, Row, Table
from eyechart.results.evidence import Evidence
from eyechart.results.headlines import WITH_EMPTY, headlines
from eyechart.results.metric_definitions import define, main_metrics
from eyechart.results.records import LABELLED, WHOLE, Metric
from eyechart.statistics.degenerate_intervals import ROUNDING
from eyechart.statistics.significance import holm

COLUMNS = ("Rank", "Model")
COMPARED = ("Δ", "p after Holm", "Compared with")
REPORTED = ("Reported", "Source")


@dataclass(frozen=True)
class RankedMetric:
    """The metric that a leaderboard ranks by."""

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


Tests = Mapping[
    tuple[int, int], tuple[MetricComparison, float]
]  # of each pair, the better first, with p after correction


@dataclass(frozen=True)
class RankedModel:
    """A model's rank, and the test that decided it."""

    rank: int
    model: ModelScore
    against: str | None = None
    test: tuple[MetricComparison, float] | None = None


def leaderboards(runs: Runs, metric: str | None, labels: str | None, alpha: float) -> list[Table]:
    """Return a table for each split, protocol, label set and subset; the default metric is the accuracy."""
    names = _metrics_with_direction(runs)
    if metric is not None and metric not in names:
        suggestion = did_you_mean(metric, names)
        choices = ", ".join(names)
        raise ReportError(f"--metric: models cannot be ranked by '{metric}'{suggestion} Choose from: {choices}.")
    tables = [
        _leaderboard_table(group.with_protocols(protocol), ranked, group.reference, alpha)
        for group in runs.groups
        for protocol in sorted({case.record.protocol for case in group.cases})
        for ranked in _ranked_metrics(group.with_protocols(protocol), metric)
        if labels in (None, ranked.labels)
    ]
    if not tables:
        raise _no_metric_error(runs, metric, labels)
    return tables


def _metrics_with_direction(runs: Runs) -> list[str]:
    """Return the names of the metrics that have a direction."""
    metrics = (metric for case in runs.cases for metric in case.record.metrics)
    return sorted({metric.name for metric in metrics if metric.higher_is_better is not None})


def _ranked_metrics(group: ComparableCases, metric: str | None) -> list[RankedMetric]:
    """Return the metrics to rank by: over all images, or if there is none, over each subset."""
    candidates = dict.fromkeys(
        metric_key(recorded)
        for case in group.cases
        for recorded in case.record.metrics
        if recorded.name == (metric or case.accuracy_name) and recorded.value is not None
    )
    headline_keys = {metric_key(recorded) for case in group.cases for recorded in headlines(case.record.metrics)}
    headline_names = {(ranked.name, ranked.labels) for ranked in headline_keys}
    return [
        ranked for ranked in candidates if ranked in headline_keys or (ranked.name, ranked.labels) not in headline_names
    ]


def metric_key(metric: Metric) -> RankedMetric:
    """Return the name, labels and subset of a metric."""
    return RankedMetric(metric.name, metric.labels, metric.subset_text)


def _no_metric_error(runs: Runs, metric: str | None, labels: str | None) -> ReportError:
    """Return the error that lists the available metrics."""
    cases = [*runs.cases]
    available = {f"{metric.name} ({metric.labels})" for case in cases for metric in case.record.metrics}
    usable = sorted(name for name in available if name.partition(" ")[0] in _metrics_with_direction(runs))
    options = f"--metric={metric or main_metrics()[0]}" + (f" --labels={labels}" if labels else "")
    names = {metric.labels for case in cases for metric in case.record.metrics}
    near = did_you_mean(labels, sorted(names)) if labels and labels not in names else "."
    return ReportError(
        f"No record has a metric for {options}{near} There are: {', '.join(usable) or 'none to rank by'}."
    )


def _leaderboard_table(group: ComparableCases, ranked: RankedMetric, reference: str, alpha: float) -> Table:
    """Return the leaderboard of one split and protocol."""
    ranks = assign_ranks(_model_scores(group, ranked), alpha)
    is_main = define(ranked.name).is_main and ranked.labels == reference and ranked.subset == WHOLE
    published = is_main and any(case.record.reported for case in group.cases)
    protocol = group.cases[0].record.protocol
    return Table(
        f"{group.title}, {protocol}: {ranked}",
        (*COLUMNS, f"{ranked.name}, %", *COMPARED, *(REPORTED if published else ())),
        tuple((*_leaderboard_row(rank), *(_reported_cells(rank.model.case) if published else ())) for rank in ranks),
        (*_leaderboard_notes(alpha, ranked, ranks), *_unpaired_note(ranks), *group.notes()),
        {"split": group.title, "protocol": protocol, "labels": ranked.labels, "subset": ranked.subset},
    )


def _leaderboard_notes(alpha: float, ranked: RankedMetric, ranks: Sequence[RankedModel]) -> Iterator[str]:
    """Yield the explanation of a leaderboard."""
    if ranked.subset == LABELLED:
        yield f"{LABELLED}: images with a label. T4 has the accuracy that counts images without one, {WITH_EMPTY}."
    better = "Lower" if any(rank.model.metric.higher_is_better is False for rank in ranks) else "Higher"
    yield (
        "Brackets: 95 % intervals. A model shares the rank above unless it is worse than the best of that rank with "
        f"p below {alpha:g}, two-sided, over the same samples, after Holm's correction over all pairs of models; then "
        f"its own rank begins. {better} is better. Δ: the change from the model that it is compared with."
    )


def _unpaired_note(ranks: Sequence[RankedModel]) -> Iterator[str]:
    """Yield a sentence if metrics could only be compared by their intervals."""
    if any(rank.test and rank.test[0].method == "unpaired" for rank in ranks):
        yield "Some metrics have no stored evidence: they are compared by their intervals only."


def _model_scores(group: ComparableCases, ranked: RankedMetric) -> list[ModelScore]:
    """Return the models that have the metric, best first, equal ones by name."""
    scored = [(case, metric) for case in group.cases if (metric := ranked.find(case)) is not None]
    return score_cases(group.model_names(), scored, ranked)


def score_cases(
    names: Mapping[int, str], scored: Iterable[tuple[CaseRun, Metric]], ranked: RankedMetric
) -> list[ModelScore]:
    """Return the models of some cases and their metric, best first, equal ones by name."""
    scores = [
        ModelScore(names[id(case)], case, metric, _select_metric(case_evidence(case.record, case.folder), ranked))
        for case, metric in scored
    ]
    ordered = sorted(scores, key=lambda score: -score.score)
    blocks = _group_equal_scores([score.score for score in ordered])
    return [score for block in blocks for score in sorted((ordered[i] for i in block), key=lambda score: score.name)]


def _select_metric(evidence: Evidence, ranked: RankedMetric) -> Evidence:
    """Return the evidence of one metric only."""
    key = (ranked.name, ranked.labels, ranked.subset)
    items = tuple(proof for proof in evidence.metrics if (proof.name, proof.labels, proof.subset_text) == key)
    return structs.replace(evidence, metrics=items)


def _paired_tests(scores: Sequence[ModelScore]) -> Tests:
    """Return the test of every pair, the better model first."""
    comparisons = {
        (i, j): _compare_pair(scores[i].evidence, scores[j].evidence) for i, j in combinations(range(len(scores)), 2)
    }
    adjusted = holm([comparison.p for comparison in comparisons.values()]).tolist()
    return {pair: (comparison, p) for (pair, comparison), p in zip(comparisons.items(), adjusted, strict=True)}


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


def assign_ranks(scores: Sequence[ModelScore], alpha: float) -> list[RankedModel]:
    """Return the ranks as described in the module's docstring."""
    tests, ranks = _paired_tests(scores), list[RankedModel]()
    rank, leaders = 1, list[int]()
    for block in _group_equal_scores([score.score for score in scores]):
        starts_rank = not leaders or any(_is_worse(tests[leader, i], alpha) for leader in leaders for i in block)
        rank = block[0] + 1 if starts_rank else rank
        for i in block:
            near = _closest_leader(tests, leaders, i)
            ranks.append(RankedModel(rank, scores[i], *(() if near is None else (scores[near].name, tests[near, i]))))
        leaders = block if starts_rank else leaders
    return ranks


def _closest_leader(tests: Tests, leaders: Sequence[int], i: int) -> int | None:
    """Return the best model of a rank with the smallest p-value; None without one."""
    return min(leaders, key=lambda leader: (isnan(p := tests[leader, i][1]), p, leader), default=None)


def _is_worse(test: tuple[MetricComparison, float], alpha: float) -> bool:
    """Return whether the second model of a pair is significantly worse."""
    return test[1] < alpha and test[0].loss > 0


def _group_equal_scores(scores: Sequence[float]) -> list[list[int]]:
    """Group the indices of scores that are equal but for the order of a sum; the scores are sorted, highest first."""
    groups: list[list[int]] = []
    for index, score in enumerate(scores):
        if groups and scores[groups[-1][0]] - score <= ROUNDING:
            groups[-1].append(index)
        else:
            groups.append([index])
    return groups


def _leaderboard_row(ranked: RankedModel) -> Row:
    """Return a model's rank, metric, and comparison with the rank above."""
    metric, (comparison, p) = ranked.model.metric, ranked.test or (None, None)
    return (
        ranked.rank,
        ranked.model.name,
        NumberCell(metric.value, metric.n, metric.ci),
        None if comparison is None else change_cell(comparison),
        None if p is None else NumberCell(p, style=P_VALUE),
        ranked.against,
    )


def _reported_cells(case: CaseRun) -> Row:
    """Return the published value and its source."""
    reported = case.record.reported
    return (NumberCell(reported.value), reported.source) if reported else (None, None)

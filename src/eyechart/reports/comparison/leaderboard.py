"""`leaderboard`: the ranks that each model may have by one metric, on each split and over several splits."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from eyechart.errors import ReportError
from eyechart.messages.suggestions import did_you_mean
from eyechart.reports.comparison.ranks import (
    ModelScore,
    PooledRanks,
    RankedMetric,
    RankedModel,
    assign_ranks,
    metric_key,
    pool_ranks,
    score_cases,
)
from eyechart.reports.comparison.verdict_cells import change_cell
from eyechart.reports.runs import CaseRun, ComparableCases, Runs
from eyechart.reports.tables.render import P_VALUE, NumberCell, Row, Table
from eyechart.results.headlines import WITH_EMPTY, headlines
from eyechart.results.metric_definitions import define, main_metrics
from eyechart.results.records import LABELLED, WHOLE

COLUMNS = ("Rank", "Model")
COMPARED = ("Δ from the best value", "Adjusted p")
REPORTED = ("Reported", "Source")
FEW_UNITS = 10  # effective sampling units, below which little can be excluded
_Board = tuple[ComparableCases, RankedMetric, list[ModelScore]]  # of one split
WEIGHTS = SPLITS, SAMPLES = "splits", "samples"  # what has equal weight in a mean over several splits


def leaderboards(
    runs: Runs, metric: str | None, labels: str | None, alpha: float, weights: str = SPLITS
) -> list[Table]:
    """Return a table for each split, protocol, label set and subset, then those over several splits.

    Args:
        runs: The cases.
        metric: Its name; None for the accuracy.
        labels: Only this label set; None for all.
        alpha: The probability that some rank set of a table is wrong.
        weights: What has equal weight over several splits, `splits` or `samples`.

    Returns:
        The tables; those over several splits have the models that are in each of them.

    Raises:
        ReportError: If no case has the metric, or models cannot be ranked by it.
    """
    names = _metrics_with_direction(runs)
    if metric is not None and metric not in names:
        suggestion = did_you_mean(metric, names)
        choices = ", ".join(names)
        raise ReportError(f"--metric: models cannot be ranked by '{metric}'{suggestion} Choose from: {choices}.")
    boards = [
        (cases, ranked, _model_scores(cases, ranked))
        for group in runs.groups
        for protocol in sorted({case.record.protocol for case in group.cases})
        for cases in [group.with_protocols(protocol)]
        for ranked in _ranked_metrics(cases, metric)
        if labels in (None, ranked.labels)
    ]
    if not boards:
        raise _no_metric_error(runs, metric, labels)
    tables = [_leaderboard_table(cases, ranked, assign_ranks(scores, alpha), alpha) for cases, ranked, scores in boards]

    def protocol_and_metric(board: _Board) -> tuple[str, str]:
        return board[0].cases[0].record.protocol, str(board[1])

    for (protocol, ranked_by), same in groupby(sorted(boards, key=protocol_and_metric), key=protocol_and_metric):
        splits = [*same]
        benchmarks = dict.fromkeys(cases.cases[0].record.benchmark for cases, _, _ in splits)
        for benchmark in benchmarks:
            own = [board for board in splits if board[0].cases[0].record.benchmark == benchmark]
            tables += _pooled_tables(f"{benchmark}, {len(own)} splits, {protocol}: {ranked_by}", own, alpha, weights)
        if len(benchmarks) > 1:
            title = f"{len(benchmarks)} benchmarks, {len(splits)} splits, {protocol}: {ranked_by}"
            tables += _pooled_tables(title, splits, alpha, weights)
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


def _no_metric_error(runs: Runs, metric: str | None, labels: str | None) -> ReportError:
    cases = [*runs.cases]
    available = {f"{metric.name} ({metric.labels})" for case in cases for metric in case.record.metrics}
    usable = sorted(name for name in available if name.partition(" ")[0] in _metrics_with_direction(runs))
    options = f"--metric={metric or main_metrics()[0]}" + (f" --labels={labels}" if labels else "")
    names = {metric.labels for case in cases for metric in case.record.metrics}
    near = did_you_mean(labels, sorted(names)) if labels and labels not in names else "."
    return ReportError(
        f"No record has a metric for {options}{near} There are: {', '.join(usable) or 'none to rank by'}."
    )


def _leaderboard_table(
    group: ComparableCases, ranked: RankedMetric, ranks: Sequence[RankedModel], alpha: float
) -> Table:
    is_main = define(ranked.name).is_main and ranked.labels == group.reference and ranked.subset == WHOLE
    published = is_main and any(case.record.reported for case in group.cases)
    protocol = group.cases[0].record.protocol
    return Table(
        f"{group.title}, {protocol}: {ranked}",
        (*COLUMNS, f"{ranked.name}, %", *COMPARED, *(REPORTED if published else ())),
        tuple((*_leaderboard_row(rank), *(_reported_cells(rank.model.case) if published else ())) for rank in ranks),
        (*_leaderboard_notes(alpha, ranked, ranks), *group.notes()),
        {"split": group.title, "protocol": protocol, "labels": ranked.labels, "subset": ranked.subset},
    )


def _leaderboard_notes(alpha: float, ranked: RankedMetric, ranks: Sequence[RankedModel]) -> Iterator[str]:
    if ranked.subset == LABELLED:
        yield f"{LABELLED}: images with a label. T4 has the accuracy that counts images without one, {WITH_EMPTY}."
    if len(ranks) < 2:
        return
    better = "Lower" if any(rank.model.metric.higher_is_better is False for rank in ranks) else "Higher"
    yield f"{_describe_sets(alpha)} Brackets: 95 % intervals of single models. {better} is better."
    yield (
        'Adjusted p: of "the model of the first row is not better", one-sided, adjusted for all pairs of models. '
        "Δ: the change from that model."
    )
    methods = {rank.test[0].method for rank in ranks if rank.test}
    if "unpaired" in methods:
        yield "Some metrics have no stored evidence: they are compared by their intervals only."


def _describe_sets(alpha: float) -> str:
    return (
        "Rank: every rank that a model may have, by tests of all pairs of models over the same samples. All these "
        f"ranks together are right with a probability of about {1 - alpha:.4g}."
    )


def _pooled_tables(title: str, boards: Sequence[_Board], alpha: float, weights: str) -> Iterator[Table]:
    """Yield at most one table: the ranks over all splits of the models that each of them has."""
    by_model = [{_model_key(score, group): score for score in scores} for group, _, scores in boards]
    shared = [name for name in by_model[0] if all(name in scores for scores in by_model)]
    if len(boards) < 2 or len(shared) < 2:
        return
    splits = [[scores[name] for name in shared] for scores in by_model]
    pooled = pool_ranks(shared, splits, alpha, equal_splits=weights == SPLITS)
    if pooled is None:
        return
    titles = [group.title for group, _, _ in boards]
    missing = sorted({name for scores in by_model for name in scores} - {*shared})
    protocol, ranked = boards[0][0].cases[0].record.protocol, boards[0][1]
    yield Table(
        title,
        (*COLUMNS, f"{ranked.name}, %"),
        tuple((model.ranks, model.name, NumberCell(model.value, pooled.samples)) for model in pooled.models),
        (*_pooled_notes(pooled, titles, weights, missing), _describe_sets(alpha)),
        {
            "split": "; ".join(titles),
            "protocol": protocol,
            "labels": boards[0][1].labels,
            "subset": boards[0][1].subset,
        },
    )


def _model_key(score: ModelScore, group: ComparableCases) -> str:
    """Return the model, with its prompt settings if it may have several cases, by which other splits find it."""
    several = len(group.cases) > len({case.model for case in group.cases})
    settings = score.case.prompt_settings if several else ""
    return f"{score.case.model}, {settings}" if settings else score.case.model


def _pooled_notes(pooled: PooledRanks, titles: Sequence[str], weights: str, missing: Sequence[str]) -> Iterator[str]:
    """Yield what was pooled, and with which weights."""
    equal = "Each split has the same weight" if weights == SPLITS else "Each sample has the same weight"
    other = SAMPLES if weights == SPLITS else SPLITS
    yield (
        f"{equal}; --weights={other} may give other ranks. Splits: {', '.join(titles)}, "
        f"{pooled.samples:,} samples. A sample that several splits have is one sampling unit."
    )
    if pooled.left_out:
        yield f"Left out: {pooled.left_out:,} samples that not every model answered."
    if missing:
        yield f"Left out, since a split does not have it: {', '.join(missing)}."
    if pooled.effective_units < FEW_UNITS:
        yield f"Few ranks can be excluded: the weights count as much as {pooled.effective_units:.1f} equal units."


def _model_scores(group: ComparableCases, ranked: RankedMetric) -> list[ModelScore]:
    """Return the models that have the metric, best first, equal ones by name."""
    scored = [(case, metric) for case in group.cases if (metric := ranked.find(case)) is not None]
    return score_cases(group.model_names(), scored, ranked)


def _leaderboard_row(ranked: RankedModel) -> Row:
    """Return a model's ranks, metric, and comparison with the model of the best value."""
    metric, (comparison, p) = ranked.model.metric, ranked.test or (None, None)
    return (
        ranked.ranks,
        ranked.model.name,
        NumberCell(metric.value, metric.n, metric.ci),
        None if comparison is None else change_cell(comparison),
        None if p is None else NumberCell(p, style=P_VALUE),
    )


def _reported_cells(case: CaseRun) -> Row:
    reported = case.record.reported
    return (NumberCell(reported.value), reported.source) if reported else (None, None)

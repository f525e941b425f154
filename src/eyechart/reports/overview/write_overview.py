"""The overview of runs: Markdown, LaTeX and Mill's aggregate.csv."""

import csv
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from io import StringIO
from math import sqrt
from pathlib import Path

from msgspec import structs

from eyechart.files.atomic import write_atomic
from eyechart.protocol.imported import recorded_protocol
from eyechart.reports.runs import CaseRun, ComparableCases, EmptyTableError, Runs
from eyechart.reports.tables.registry import registered
from eyechart.reports.tables.render import (
    FRACTION,
    Cell,
    NumberCell,
    Table,
    markdown_item,
    metric_cell,
    to_latex,
    to_markdown,
)
from eyechart.results.failed_tests import failure_notes
from eyechart.results.headlines import WITH_EMPTY, headlines, subset_name
from eyechart.results.metric_definitions import define
from eyechart.results.records import LABELLED, Metric
from eyechart.results.run_names import describe_work, run_names

AGGREGATE = ("model", "benchmark", "task", "task_type", "n_shot", "metric", "performance", "stderr")


def write_overview(runs: Runs, folder: Path) -> str:
    """Write overview.md, overview.tex and aggregate.csv, and return the Markdown."""
    tables = overview_tables(runs)
    text = _markdown(runs, tables)
    folder.mkdir(parents=True, exist_ok=True)
    write_atomic(folder / "overview.md", text.encode())
    write_atomic(folder / "overview.tex", "\n".join(map(to_latex, tables)).encode())
    write_atomic(folder / "aggregate.csv", aggregate(runs).encode())
    return text


def _markdown(runs: Runs, tables: list[Table]) -> str:
    """Return the runs, failures and notes, then every table, as Markdown."""
    run_lines = [
        f"{name}: eyechart {run.eyechart}, {run.seconds:.0f} s, exit status {run.exit_status}, "
        f"{describe_work(run.workers, run.loads)}: {run.command}"
        for name, (_, run) in zip(run_names(runs.sessions), runs.sessions, strict=True)
    ]
    head = "".join(
        f"- {markdown_item(line)}\n"
        for line in (*run_lines, *failure_notes(case.record for case in runs.cases), *runs.notes)
    )
    return "\n".join((f"# eyechart\n\n{head}", *map(to_markdown, tables)))


def overview_tables(runs: Runs) -> list[Table]:
    """Return all tables of the overview, group by group."""
    return [table for group in runs.groups for table in _group_tables(_without_notes(group))]


def _without_notes(group: ComparableCases) -> ComparableCases:
    """Return the group without the notes of its records, which the overview prints once at its beginning."""
    return group.select(
        replace(case, extra_notes=(), record=structs.replace(case.record, notes=())) for case in group.cases
    )


def _group_tables(group: ComparableCases) -> Iterator[Table]:
    """Yield the tables of a group: categories, Mill's table, the published tables, outcomes, and all metrics."""
    for builder in registered("eyechart.overview").values():
        with suppress(EmptyTableError):
            yield from builder(Runs((group,), ()), None)
    yield _outcome_table(group)
    yield _metric_table(group)


def _outcome_table(group: ComparableCases) -> Table:
    """Return the number of images by outcome of every case."""
    protocols = group.protocol_names()
    outcome_names = ("correct", "wrong", "unparsed", "truncated", "error")
    columns = ("Model", "Protocol", "images", *outcome_names, "answered", "seconds")
    rows: list[tuple[Cell, ...]] = []
    for case in group.cases:
        outcomes, n = case.record.outcomes, case.record.data.n
        counts = [outcomes.correct, outcomes.wrong, outcomes.unparsed, outcomes.truncated, outcomes.error]
        total = max(n, sum(counts))  # several an image, or one
        answered = NumberCell(1 - outcomes.error / total if total else None)
        rows.append((case.model, protocols[id(case)], n, *counts, answered, round(case.record.seconds)))
    note = "Under the first label set of each case. Answered: the share of answers without error, in %."
    return Table(f"{group.title}: outcomes", columns, tuple(rows), (note, *group.notes()))


def _metric_table(group: ComparableCases) -> Table:
    protocols = group.protocol_names()
    rows = tuple(
        (
            *(case.model, protocols[id(case)], metric.name, metric.labels, subset_name(metric, case.record.metrics)),
            *(metric_cell(metric), metric.ci_method),
        )
        for case in group.cases
        for metric in case.record.metrics
    )
    columns = ("Model", "Protocol", "Metric", "Labels", "Subset", "Value", "Interval (95 %)")
    note = (
        "Shares are in percent; other numbers, such as log scores, are as they are. "
        f"{LABELLED}: images with a label. {WITH_EMPTY}: includes those without one, whose score is fixed."
    )
    return Table(f"{group.title}: every metric", columns, rows, (note, *group.notes()))


def aggregate(runs: Runs) -> str:
    """Return Mill's aggregate.csv: fractions, with a rollup row for each benchmark, whose task is its name."""
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(AGGREGATE)
    writer.writerows(row for group in runs.groups for case in group.cases for row in _aggregate_rows(case, group))
    return text.getvalue()


def _aggregate_rows(case: CaseRun, group: ComparableCases) -> Iterator[tuple[str, ...]]:
    """Yield one row per metric; only the whole imagenet/val is named `imagenet`, as in Mill."""
    benchmark = "imagenet" if group.title == "imagenet/val" else group.title
    task, protocol = _aggregate_task(case, benchmark), recorded_protocol(case.record.protocol)
    task_type = protocol.task_type or protocol.name, protocol.shots
    headline_metrics = headlines(case.record.metrics)
    for metric in case.record.metrics:
        if metric.value is None:
            continue
        rollup = case.labels[:1] == (metric.labels,) and metric in headline_metrics
        task_name = task if rollup else f"{task}/{metric.labels}/{metric.subset_text}"
        yield (
            case.model,
            benchmark,
            task_name,
            *task_type,
            _mill_metric(case, metric),
            FRACTION(metric.value),
            stderr(metric),
        )


def _aggregate_task(case: CaseRun, benchmark: str) -> str:
    """Return the task: the benchmark, or Mill's `imagenet_mcq`, with the options that are not the defaults."""
    record = case.record
    options = record.case.removeprefix(f"{record.benchmark}/{record.split}/{record.model.title}")
    own_task = recorded_protocol(record.protocol).own_task
    return f"{record.benchmark}_{record.protocol}{options}" if own_task else f"{benchmark}{options}"


def _mill_metric(case: CaseRun, metric: Metric) -> str:
    """Return Mill's name of a metric: `acc`, or `imagenet_mcq_acc`."""
    record = case.record
    published = define(metric.name).published_name
    if published and recorded_protocol(record.protocol).own_task:
        return f"{record.benchmark}_{record.protocol}_{published}"
    return published or metric.name


def stderr(metric: Metric) -> str:
    """Return Mill's standard error of a proportion, std(ddof=1) / √n; "" for other metrics."""
    if metric.value is None or metric.n < 2 or metric.ci_method != "wilson":
        return ""
    return FRACTION(sqrt(metric.value * (1 - metric.value) / (metric.n - 1)))

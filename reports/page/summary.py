"""What the page says of cases without looking at items: how each came out, and every number."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from eyechart.gate.headlines import category_name, headlines
from eyechart.records import Metric, Record, Run

from ..failures import failure_notes
from ..render import one_line
from ..run_names import folder_names, start_time
from ..runs import CaseRun, ComparableCases, Runs

ACCURACIES = ("acc1", "mc_acc", "repeated_acc")


def case_rows(pool: Runs, albums: Mapping[int, tuple[str, int, object]]) -> Iterator[tuple[CaseRun, dict[str, Any]]]:
    """A row a case; `albums` says where each can be looked at."""
    for group in pool.groups:
        tasks = group.task_names()
        for entry in group.cases:
            row = case_row(group, entry, tasks[id(entry)])
            if found := albums.get(id(entry)):
                row |= {"album": found[0], "exhibit": found[1]}
            yield entry, row


def case_row(group: ComparableCases, entry: CaseRun, task: str) -> dict[str, Any]:
    """How one case came out, by its first number."""
    record, first = entry.record, first_metric(entry)
    outcomes = record.outcomes
    counts = [outcomes.correct, outcomes.wrong, outcomes.unparsed, outcomes.truncated, outcomes.error]
    asked = max(record.data.n, sum(counts))
    return {
        "case": one_line(record.case),
        "protocol": record.protocol,
        "split": group.title,
        "model": one_line(entry.model),
        "task": task,
        "n": record.data.n,
        "counts": counts,
        "answered": 1 - outcomes.error / asked if asked else None,
        "metric": metric_fields(first, record) if first else None,
        "reported": record.reported and {"value": record.reported.value, "source": one_line(record.reported.source)},
        "seconds": record.seconds,
        "weights": record.model.weights_sha256[:12],
        "status": record.status,
        "notes": [*map(one_line, (*failure_notes([record]), *record.notes))],
    }


def first_metric(entry: CaseRun) -> Metric | None:
    """The number that a case is known by: its accuracy, or the first that has a value."""
    known = [metric for metric in entry.record.metrics if metric.value is not None]
    best = (metric for metric in headlines(known) if metric.name in ACCURACIES)
    return next(best, known[0] if known else None)


def metric_fields(metric: Metric, record: Record) -> dict[str, Any]:
    """A number with what belongs to it."""
    return {
        "name": metric.name,
        "labels": one_line(metric.labels),
        "category": one_line(category_name(metric, record.metrics)),
        "value": metric.value,
        "n": metric.n,
        "ci": metric.ci,
        "how": metric.ci_method,
    }


def metric_rows(pool: Runs) -> list[list[Any]]:
    """Every number of every case."""
    rows: list[list[Any]] = []
    for group in pool.groups:
        tasks = group.task_names()
        for entry in group.cases:
            head = [group.title, one_line(entry.model), tasks[id(entry)]]
            rows.extend([*head, *metric_fields(metric, entry.record).values()] for metric in entry.record.metrics)
    return rows


def run_rows(runs: Sequence[tuple[Path, Run]]) -> list[dict[str, Any]]:
    """Where numbers come from, run by run, each under a name of its own."""
    names = folder_names([folder for folder, _ in runs])
    return [run_row(name, run) for name, (_, run) in zip(names, runs, strict=True)]


def run_row(name: str, run: Run) -> dict[str, Any]:
    """Where numbers come from."""
    return {
        "folder": one_line(name),
        "started": one_line(start_time(run)),
        "seconds": run.seconds,
        "status": run.exit_status,
        "workers": run.workers,
        "loads": run.loads,
        "command": one_line(run.command),
        "eyechart": one_line(run.eyechart),
    }


def trend(runs: list[tuple[Path, Run, list[CaseRun]]]) -> dict[str, Any]:
    """Every number over all images of every case, run by run in the order of time."""
    ordered = sorted(runs, key=lambda run: run[1].started)
    series: dict[tuple[str, ...], dict[str, Any]] = {}
    for place, (_, _, entries) in enumerate(ordered):
        for entry in entries:
            for metric in trend_metrics(entry.record):
                key = (entry.record.case, entry.record.protocol, entry.prompt_settings, metric.name, metric.labels)
                line = series.setdefault(key, create_line(entry, metric))
                line["points"].append([place, metric.value, metric.ci, metric.n, source(entry.record)])
    return {"runs": run_rows([(folder, run) for folder, run, _ in ordered]), "lines": [*series.values()]}


def trend_metrics(record: Record) -> Iterator[Metric]:
    """The numbers that are followed: those over all images, or all where there are none such."""
    known = [metric for metric in record.metrics if metric.value is not None]
    yield from headlines(known) or known


def create_line(entry: CaseRun, metric: Metric) -> dict[str, Any]:
    """What a line is about."""
    name = one_line(f"{entry.record.case}, {entry.record.protocol}")
    return {"name": name, "metric": metric.name, "labels": one_line(metric.labels), "points": []}


def source(record: Record) -> str:
    """What tells a point's data and weights from another's."""
    return f"{record.data.fingerprint[:8]} {record.model.weights_sha256[:8]}"

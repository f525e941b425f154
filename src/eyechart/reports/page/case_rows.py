"""Summaries of cases without their samples: outcomes, metrics, runs and trends."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from eyechart.reports.runs import CaseRun, ComparableCases, Runs
from eyechart.reports.tables.render import one_line
from eyechart.results.failed_tests import failure_notes
from eyechart.results.glossary import is_counted, is_percent
from eyechart.results.headlines import headlines, subset_name
from eyechart.results.metric_definitions import define
from eyechart.results.records import Metric, Record, Run
from eyechart.results.run_names import describe_work, folder_names, start_time

LETTER = re.compile(r" \(([a-z]|\d+)\)")  # distinguishes prompt settings of one protocol


def case_rows(
    runs: Runs, sample_positions: Mapping[int, tuple[str, int, object]]
) -> Iterator[tuple[CaseRun, dict[str, Any]]]:
    """Yield one row per case; `sample_positions` says where its samples are."""
    names = split_names(runs)
    for group in runs.groups:
        protocols = group.protocol_names()
        for case in group.cases:
            row = _case_row(group, case, protocols[id(case)]) | {"split": names[id(group)]}
            if position := sample_positions.get(id(case)):
                row |= {"group": position[0], "position": position[1]}
            yield case, row


def lettered_settings(runs: Runs) -> Iterator[str]:
    """Yield the prompt settings that each letter behind a protocol stands for, a line for each benchmark."""
    for group in runs.groups:
        settings = group.protocol_settings().items()
        if lettered := [f"{name}: {text}" for name, text in settings if LETTER.search(name)]:
            yield one_line(f"{group.title}: prompt settings of {'; '.join(lettered)}.")


def _case_row(group: ComparableCases, case: CaseRun, protocol_name: str) -> dict[str, Any]:
    """Return the summary of one case by its first metric."""
    record, metric = case.record, first_metric(case)
    outcomes = record.outcomes
    counts = [outcomes.correct, outcomes.wrong, outcomes.unparsed, outcomes.truncated, outcomes.error]
    total = max(record.data.n, sum(counts))
    return {
        "case": one_line(record.case),
        "protocol": record.protocol,
        "choice": group.title.removeprefix(group.benchmark).removeprefix(", "),
        "model": one_line(case.model),
        "protocolName": protocol_name,
        "settings": one_line(case.prompt_settings),
        "n": record.data.n,
        "counts": counts,
        "answered": 1 - outcomes.error / total if total else None,
        "metric": metric_fields(metric, record) if metric else None,
        "reported": record.reported and {"value": record.reported.value, "source": one_line(record.reported.source)},
        "seconds": record.seconds,
        "weights": record.model.weights_sha256[:12],
        "status": record.status,
        "notes": [*map(one_line, (*failure_notes([record]), *record.notes))],
    }


def split_names(runs: Runs) -> dict[int, str]:
    """Return the name of each group by its id: its benchmark and split, or its title if several have the same."""
    benchmarks = [group.benchmark for group in runs.groups]
    return {
        id(group): group.benchmark if benchmarks.count(group.benchmark) == 1 else group.title for group in runs.groups
    }


def first_metric(case: CaseRun) -> Metric | None:
    """Return the main metric of a case: its accuracy, or the first metric with a value."""
    defined = [metric for metric in case.record.metrics if metric.value is not None]
    accuracies = (metric for metric in headlines(defined) if define(metric.name).is_main)
    return next(accuracies, defined[0] if defined else None)


def metric_fields(metric: Metric, record: Record) -> dict[str, Any]:
    """Return a metric with its n, interval and method."""
    return {
        "name": metric.name,
        "labels": one_line(metric.labels),
        "subset": one_line(subset_name(metric, record.metrics)),
        "value": metric.value,
        "n": metric.n,
        "ci": metric.ci,
        "how": metric.ci_method,
        "better": metric.higher_is_better,
        "percent": is_percent(metric.name, metric.value, counted=is_counted(metric.ci_method)),
    }


def metric_rows(runs: Runs) -> list[list[Any]]:
    """Return every metric of every case; the last but one cell is 1 for those over all samples."""
    rows: list[list[Any]] = []
    names = split_names(runs)
    for group in runs.groups:
        protocols = group.protocol_names()
        for case in group.cases:
            head = [names[id(group)], one_line(case.model), protocols[id(case)]]
            main = {metric.key for metric in (first_metric(case), *headlines(case.record.metrics)) if metric}
            rows.extend(
                [*head, *metric_fields(metric, case.record).values(), int(metric.key in main), case.record.protocol]
                for metric in case.record.metrics
            )
    return rows


def run_rows(runs: Sequence[tuple[Path, Run]]) -> list[dict[str, Any]]:
    """Return one row per run, with unique names."""
    names = folder_names([folder for folder, _ in runs])
    return [_run_row(name, run) for name, (_, run) in zip(names, runs, strict=True)]


def _run_row(name: str, run: Run) -> dict[str, Any]:
    """Return the summary of one run."""
    return {
        "folder": one_line(name),
        "started": one_line(start_time(run)),
        "seconds": run.seconds,
        "status": run.exit_status,
        "work": describe_work(run.workers, run.loads),
        "command": one_line(run.command),
        "eyechart": one_line(run.eyechart),
    }


def trend(runs: list[tuple[Path, Run, list[CaseRun]]]) -> dict[str, Any]:
    """Return every metric over all images of every case by run, ordered by time; all metrics of a case without any."""
    ordered = sorted(runs, key=lambda run: run[1].started)
    series: dict[tuple[str, ...], dict[str, Any]] = {}
    for index, (_, _, cases) in enumerate(ordered):
        for case in cases:
            defined = [metric for metric in case.record.metrics if metric.value is not None]
            name = one_line(f"{case.record.case}, {case.record.protocol}")
            for metric in headlines(defined) or defined:
                key = (case.record.case, case.record.protocol, case.prompt_settings, metric.name, metric.labels)
                empty = {"name": name, "metric": metric.name, "labels": one_line(metric.labels), "points": []}
                line = series.setdefault(key, empty)
                line["points"].append([index, metric.value, metric.ci, metric.n, source(case.record)])
    return {"runs": run_rows([(folder, run) for folder, run, _ in ordered]), "lines": [*series.values()]}


def source(record: Record) -> str:
    """Return a short digest of a point's data and weights."""
    return f"{record.data.fingerprint[:8]} {record.model.weights_sha256[:8]}"

"""The summary at the end of a session: one line for each case and metric or label set, with intervals."""

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest
from _pytest.pathlib import bestrelpath

from eyechart.gate.headlines import WITH_EMPTY, counts_empty
from eyechart.records import PASSED, Metric, Record

from .cases import find_case
from .recorder import Recorder

FIRST, SECOND = "acc1", "acc5"  # keys of the two value columns; the second has only top-5 accuracy
METHODS: Mapping[str, str] = {  # the titles of a record's ci_method
    "wilson": "Wilson",
    "clustered wilson": "Wilson at the effective number (several samples of an image or observation)",
    "bootstrap": "bootstrap over images or observations",
}
COLUMNS = ("case", "protocol", "metric/labels", "n", "value", "top-5", "errors", "")  # the last marks failed cases


class Summary:
    """Prints the table after the tests."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the skips, the table, the notes, the usage and the run's folder."""
        self.write_skips(terminalreporter)
        records = sorted(self.recorder.records.values(), key=sort_key)
        if not records:
            return
        rows = [COLUMNS, *(row for record in records for row in make_rows(record))]
        widths = [max(len(row[column]) for row in rows) for column in range(len(COLUMNS))]
        terminalreporter.section("eyechart")
        for row in rows if len(rows) > 1 else ():
            cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            terminalreporter.write_line("  ".join(cells).rstrip())
        for note in dict.fromkeys(note for record in records for note in record.notes):
            terminalreporter.write_line(f"note: {note}")
        for line in map(describe_usage, records):
            if line:
                terminalreporter.write_line(line)
        methods = "".join(f"95 %, {methods}; " for methods in [interval_methods(records)] if methods)
        folder = bestrelpath(Path.cwd(), self.recorder.folder)
        terminalreporter.write_line(f"intervals: {methods}records and answers: {folder}")

    def write_skips(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print why cases were skipped, so that a missing data set is noticed."""
        config = terminalreporter.config
        skipped = [report for report in terminalreporter.getreports("skipped") if find_case(config, report.nodeid)]
        reasons = Counter(skip_reason(report) for report in skipped)
        for why, cases in reasons.items():
            terminalreporter.write_line(f"eyechart: {cases} case{'s' * (cases > 1)} skipped: {why}")


def interval_methods(records: Iterable[Record]) -> str:
    """Return the methods of the intervals in the table, in the order of their first occurrence."""
    shown = (metric for record in records for metric in record.metrics if metric.title and metric.ci is not None)
    methods = dict.fromkeys(metric.ci_method for metric in shown)
    return ", ".join(METHODS.get(method, method) for method in methods)


def sort_key(record: Record) -> tuple[str, ...]:
    """Return the sort key of a record: the splits of a model are adjacent, so that they can be compared."""
    return record.benchmark, record.model.title, record.split, record.protocol


def skip_reason(report: pytest.TestReport) -> str:
    """Return why a test was skipped."""
    return str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr).removeprefix("Skipped: ")


def make_rows(record: Record) -> list[tuple[str, ...]]:
    """Return one row for each metric title of a record."""
    rows: dict[str, dict[str, Metric]] = {}
    last = {id(metric): counts_empty(metric, record.metrics) for metric in record.metrics}
    for metric in sorted(record.metrics, key=lambda metric: last[id(metric)]):
        if metric.title:
            title = f"{metric.title} {WITH_EMPTY}" if last[id(metric)] else metric.title
            column = SECOND if metric.name == SECOND else FIRST
            rows.setdefault(title, {}).setdefault(column, metric)
    return [
        (
            record.case,
            record.protocol,
            labels,
            str(metrics[FIRST].n),
            format_interval(metrics[FIRST]),
            format_interval(metrics.get(SECOND)),
            str(record.outcomes.error),
            "" if record.status == PASSED else record.status,
        )
        for labels, metrics in rows.items()
        if FIRST in metrics
    ]


def describe_usage(record: Record) -> str:
    """Return the requests, tokens and cost of a case; "" without cached tokens or cost."""
    took = record.usage
    if took is None or not (took.cached_tokens or took.cost):
        return ""
    cached = f"{took.cached_tokens / max(1, took.prompt_tokens):.0%} from cache"
    paid = "" if took.cost is None else f"; {took.cost:.4f} USD"
    tokens = f"{took.prompt_tokens:,} prompt tokens, {cached}; {took.answer_tokens:,} said{paid}"
    return f"{record.case} ({record.protocol}): {took.requests:,} requests, {tokens}"


def format_interval(metric: Metric | None) -> str:
    """Return a value in per cent with its interval, "-" without one."""
    if metric is None or metric.value is None or metric.ci is None:
        return "-"
    return f"{100 * metric.value:.2f} [{100 * metric.ci[0]:.2f}, {100 * metric.ci[1]:.2f}]"

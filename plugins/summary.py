"""The summary at the end of a session: the metrics of each case with their intervals, in about 30 lines.

With `-v` it has every metric. Otherwise it has the most detailed of these that fits: every metric, the primary metric
of each case, or the lowest and highest primary metric of a benchmark's splits for each model and protocol.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import pytest
from _pytest.pathlib import bestrelpath

from eyechart.messages.plurals import count_of
from eyechart.messages.terminal import align_texts
from eyechart.results.glossary import is_counted, is_percent
from eyechart.results.headlines import WITH_EMPTY, counts_empty
from eyechart.results.records import PASSED, Metric, Record

from .cases import find_case
from .recorder import Recorder
from .settings import get_settings

METHODS: Mapping[str, str] = {  # the titles of a record's ci_method
    "wilson": "Wilson",
    "clustered wilson": "Wilson at the effective number (several samples of an image or observation)",
    "bootstrap": "bootstrap over images or observations",
}
MAX_LINES, MAX_NOTES = 30, 5
INTERVAL = "value in % [95 % interval]"
OUTCOMES = ("error", "refused", "unparsed", "truncated")  # of a case; a column without one is left out
Row = tuple[str, ...]


@dataclass(frozen=True)
class _SummaryTable:
    """The head and rows, the number of metrics without a row, and the metrics whose intervals are shown."""

    rows: list[Row]
    left: int
    intervals: list[Metric]


class Summary:
    """Prints the table after the tests."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder, self.is_interrupted = recorder, False

    def pytest_keyboard_interrupt(self) -> None:
        """Note that the session ends by Ctrl-C."""
        self.is_interrupted = True

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the skips, the table, the notes, the usage and the run's folder."""
        self.write_skips(terminalreporter)
        records = sorted(self.recorder.records.values(), key=sort_key)
        if self.is_interrupted and self.recorder.has_cases:
            store = get_settings(terminalreporter.config).store
            terminalreporter.write_line(f"eyechart: answers so far are kept in {store}: the same command goes on")
        if not records:
            if self.recorder.has_cases and (latest := self.recorder.folder.parent / "latest").is_symlink():
                is_other = latest.readlink().name != self.recorder.folder.name
                still = f"; {bestrelpath(Path.cwd(), latest)} is still {latest.readlink().name}" if is_other else ""
                terminalreporter.write_line(f"eyechart: no case of this session recorded a metric{still}")
            return
        verbose = terminalreporter.config.get_verbosity() > 0
        write = terminalreporter.write_line
        terminalreporter.section("eyechart")
        table = select_rows(records, verbose=verbose)
        for line in align_texts(table.rows):
            write(line)
        for line in _provenance_lines(records, None if verbose else MAX_NOTES):
            write(line)
        notes = [*dict.fromkeys(note for record in records for note in record.notes)]
        shown = notes if verbose else notes[:MAX_NOTES]
        for note in shown:
            write(f"note: {note}")
        for line in filter(None, map(describe_usage, records)):
            write(line)
        more = [
            count_of(table.left, "more metric") * bool(table.left),
            count_of(len(notes) - len(shown), "more note") * (len(notes) > len(shown)),
        ]
        if any(more):
            write(f"{' and '.join(filter(None, more))}: pytest -v, or eyechart overview")
        methods = _interval_methods(table.intervals)
        folder = bestrelpath(Path.cwd(), self.recorder.folder)
        write(f"{f'intervals: {methods}; ' if methods else ''}records and answers: {folder}")
        write(f"the page: eyechart page {folder}")

    def write_skips(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print why cases were skipped, so that a missing data set is noticed."""
        config = terminalreporter.config
        skipped = [report for report in terminalreporter.getreports("skipped") if find_case(config, report.nodeid)]
        reasons = Counter(_skip_reason(report) for report in skipped)
        for why, cases in reasons.items():
            terminalreporter.write_line(f"eyechart: {count_of(cases, 'case')} skipped: {why}")


def _provenance_lines(records: Iterable[Record], most: int | None) -> list[str]:
    """Return a line for each split of the user that says where its labels and class names are from, at most `most`."""
    by_split = {f"{record.benchmark}/{record.split}": record.data.provenance for record in records if record.data.root}
    lines = [f"read {split}: {provenance}" for split, provenance in by_split.items() if provenance]
    left = 0 if most is None else len(lines) - most
    return [*lines[:most], *([f"{count_of(left, 'more split')}: pytest -v"] if left > 0 else [])]


def _interval_methods(metrics: Iterable[Metric]) -> str:
    """Return the methods of the intervals of some metrics, in the order of their first occurrence."""
    methods = dict.fromkeys(metric.ci_method for metric in metrics if metric.ci is not None)
    return ", ".join(METHODS.get(method, method) for method in methods)


def sort_key(record: Record) -> tuple[str, ...]:
    """Return the sort key of a record: the splits of a model are adjacent, so that they can be compared."""
    return record.benchmark, record.model.title, record.split, record.protocol


def _skip_reason(report: pytest.TestReport) -> str:
    """Return why a test was skipped."""
    return str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr).removeprefix("Skipped: ")


def select_rows(records: Sequence[Record], *, verbose: bool = False) -> _SummaryTable:
    """Return the most detailed table that fits."""
    every = [(record, metric) for record in records for metric in _titled_metrics(record)]
    if not every:
        return _SummaryTable([], 0, [])
    primary = [next(pairs) for _, pairs in groupby(every, lambda pair: id(pair[0]))]
    if verbose or len(every) < MAX_LINES:
        return _SummaryTable(metric_rows(every), 0, [metric for _, metric in every])
    if len(primary) < MAX_LINES:
        return _SummaryTable(metric_rows(primary), len(every) - len(primary), [metric for _, metric in primary])
    rows = _split_rows(primary)
    cut = [("…", *[""] * (len(rows[0]) - 1))] if len(rows) > MAX_LINES else []
    return _SummaryTable([*rows[:MAX_LINES], *cut], len(every) - len(primary), [metric for _, metric in primary])


def _titled_metrics(record: Record) -> list[Metric]:
    """Return the metrics with a title, the primary one first; those that count images without labels come last."""
    titled = [metric for metric in record.metrics if metric.title]
    return sorted(titled, key=lambda metric: counts_empty(metric, record.metrics))


def metric_rows(pairs: Iterable[tuple[Record, Metric]]) -> list[Row]:
    """Return a head, and a row for each metric of a record."""
    pairs = [*pairs]
    counted = [name for name in OUTCOMES if name == "error" or any(outcome(record, name) for record, _ in pairs)]
    rows = [
        (
            record.case,
            record.protocol,
            metric.name,
            _name_samples(record, metric),
            format_interval(metric),
            _format_count(metric),
            *(str(outcome(record, name)) for name in counted),
            status(record),
        )
        for record, metric in pairs
    ]
    heads = [f"{name}s" if name == "error" else name for name in counted]
    return [("case", "protocol", "metric", "labels or subset", INTERVAL, "n", *heads, ""), *rows]


def _split_rows(pairs: Sequence[tuple[Record, Metric]]) -> list[Row]:
    """Return a head, and a row for each benchmark, model, protocol and options: its lowest and highest split."""

    def group_key(pair: tuple[Record, Metric]) -> Row:
        record, metric = pair
        case = record.case.removeprefix(f"{record.benchmark}/{record.split}/")
        return record.benchmark, case, record.protocol, metric.name, _name_samples(record, metric, with_labels=False)

    groups: dict[Row, list[tuple[Record, Metric]]] = {}
    for pair in pairs:
        groups.setdefault(group_key(pair), []).append(pair)
    rows = [
        (
            *key,
            str(len(group)),
            _describe_split(group, min),
            _describe_split(group, max) if len(group) > 1 else "",
            str(sum(record.outcomes.error for record, _ in group)),
            " ".join(dict.fromkeys(filter(None, (status(record) for record, _ in group)))),
        )
        for key, group in groups.items()
    ]
    named = ("benchmark", "model", "protocol", "metric", "labels or subset", "splits")
    return [(*named, "lowest split, % [95 % interval]", "highest split", "errors", ""), *rows]


def _describe_split(group: Sequence[tuple[Record, Metric]], choose: Callable[..., tuple[Record, Metric]]) -> str:
    """Return the lowest or highest split of some cases with its value, interval and n, "-" if no value is defined."""
    defined = [(record, metric) for record, metric in group if metric.value is not None]
    if not defined:
        return "-"
    record, metric = choose(defined, key=lambda pair: (pair[1].value, pair[0].split))
    return f"{format_interval(metric)} n={_format_count(metric)} {record.split}"


def _name_samples(record: Record, metric: Metric, *, with_labels: bool = True) -> str:
    """Return the label set of a metric, or the subset of samples, level, prompt and, of several, the label set.

    Without `with_labels` the last part is left out.
    """
    if metric.title == metric.labels:
        return f"{metric.labels} {WITH_EMPTY}" if counts_empty(metric, record.metrics) else metric.labels
    several = with_labels and len({other.labels for other in record.metrics if other.title}) > 1
    return ", ".join(filter(None, (metric.subset, metric.level, metric.prompt, metric.labels if several else "")))


def outcome(record: Record, name: str) -> int:
    """Return the number of answers with an outcome."""
    return int(getattr(record.outcomes, name))


def status(record: Record) -> str:
    """Return the status of a case that did not pass, else ""."""
    return "" if record.status == PASSED else f"test {record.status}"


def describe_usage(record: Record) -> str:
    """Return the requests, tokens and cost of a case; "" without cached tokens or cost."""
    took = record.usage
    if took is None or not (took.cached_tokens or took.cost):
        return ""
    cached = f"{took.cached_tokens / max(1, took.prompt_tokens):.0%} from cache"
    paid = "" if took.cost is None else f"; {took.cost:.4f} USD"
    tokens = f"{took.prompt_tokens:,} prompt tokens, {cached}; {took.answer_tokens:,} answer tokens{paid}"
    return f"{record.case} ({record.protocol}): {took.requests:,} requests, {tokens}"


def format_interval(metric: Metric) -> str:
    """Return a value with its interval, in percent unless it is no proportion; "-" without a value."""
    if metric.value is None:
        return "-"
    in_percent = is_percent(metric.name, metric.value, counted=is_counted(metric.ci_method))
    value, *ends = (
        f"{100 * number:.2f}" if in_percent else f"{number:.4g}" for number in (metric.value, *(metric.ci or ()))
    )
    interval = f" [{', '.join(ends)}]" if ends else " [no interval]"
    return f"{value}{interval}{'' if in_percent else ' (not in %)'}"


def _format_count(metric: Metric) -> str:
    """Return n, with the number of independent images or observations if several samples are of one."""
    return str(metric.n) if metric.n_clusters == metric.n else f"{metric.n} ({metric.n_clusters} independent)"

"""What a session says at its end: every case in a line, under every label set, with its interval."""

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest
from _pytest.pathlib import bestrelpath

from eyechart.gate.headlines import LABELLED, WITH_EMPTY, counts_empty
from eyechart.oodbench.scoring import LABELS as PAIRS
from eyechart.records import PASSED, Metric, Record

from .cases import find_case
from .recorder import Recorder

SHOWN = {"acc1": "acc1", "acc5": "acc5", "mc_acc": "acc1", "repeated_acc": "acc1"}
OF_SETS = {  # numbers of sets of pairs: what follows the set's name
    "acc": "",
    "e_acc": " existence",
    "c_acc": " counting",
    "l_acc": " logic",
    "flagged": " flagged",
    "mmd2": " MMD² (× 100)",
}
OF_BIRDS = {  # numbers about birds, by labels, name and category
    ("all species", "ig", "A"): "IG",
    ("range", "ig", "A"): "IG, range",
    ("all species", "ua_a", "all"): "UA/A",
    ("range", "ua_a", "all"): "UA/A, range",
    ("all species", "acc", "A.species"): "A species",
    ("all species", "acc", "UA.genus"): "UA genus",
    ("all species", "hm", "all"): "HM",
    ("range", "hm", "all"): "HM, range",
    ("observations", "acc", "A.species"): "A species",
    ("observations", "abstained", "A"): "A abstained",
    ("observations", "abstained", "UA"): "UA abstained",
}
METHODS: Mapping[str, str] = {  # what a record's ci_method is called
    "wilson": "Wilson",
    "clustered wilson": "Wilson at the effective number (several samples of an image or observation)",
    "bootstrap": "bootstrap over images or observations",
}
COLUMNS = ("case", "protocol", "labels", "n", "top-1", "top-5", "errors", "")  # the last marks failed cases


class Summary:
    """Prints a table after the tests."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the table and where the files are."""
        self.say_skips(terminalreporter)
        records = sorted(self.recorder.records.values(), key=place)
        if not records:
            return
        rows = [COLUMNS, *(row for record in records for row in rows_of(record))]
        widths = [max(len(row[column]) for row in rows) for column in range(len(COLUMNS))]
        terminalreporter.section("eyechart")
        for row in rows if len(rows) > 1 else ():
            terminalreporter.write_line(
                "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            )
        for note in dict.fromkeys(note for record in records for note in record.notes):
            terminalreporter.write_line(f"note: {note}")
        for line in map(served, records):
            if line:
                terminalreporter.write_line(line)
        methods = "".join(f"95 %, {methods}; " for methods in [interval_methods(records)] if methods)
        folder = bestrelpath(Path.cwd(), self.recorder.folder)
        terminalreporter.write_line(f"intervals: {methods}records and answers: {folder}")

    def say_skips(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say why cases were skipped: a missing data set is easily overlooked."""
        config = terminalreporter.config
        skipped = [report for report in terminalreporter.getreports("skipped") if find_case(config, report.nodeid)]
        reasons = Counter(reason(report) for report in skipped)
        for why, cases in reasons.items():
            terminalreporter.write_line(f"eyechart: {cases} case{'s' * (cases > 1)} skipped: {why}")


def interval_methods(records: Iterable[Record]) -> str:
    """Return the methods of the intervals in the table, those of the records in the order in which they first occur."""
    shown = (metric for record in records for metric in record.metrics if is_shown(metric) and metric.ci is not None)
    found = dict.fromkeys(metric.ci_method for metric in shown)
    return ", ".join(METHODS.get(method, method) for method in found)


def place(record: Record) -> tuple[str, ...]:
    """Where a record stands: the splits of a model one below the other, so that a shift between them is seen."""
    return record.benchmark, record.model.title, record.split, record.protocol


def reason(report: pytest.TestReport) -> str:
    """Why a test was skipped."""
    return str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr).removeprefix("Skipped: ")


def rows_of(record: Record) -> list[tuple[str, ...]]:
    """One row a label set, or a set of pairs."""
    first: dict[str, dict[str, Metric]] = {}
    last = {id(metric): counts_empty(metric, record.metrics) for metric in record.metrics}
    for metric in sorted(record.metrics, key=lambda metric: last[id(metric)]):
        if metric.category in ("A", LABELLED) and metric.name in SHOWN:
            title = f"{metric.labels} {WITH_EMPTY}" if last[id(metric)] else metric.labels
            first.setdefault(title, {}).setdefault(SHOWN[metric.name], metric)
        elif title := of_pairs(metric) or of_birds(metric):
            first[title] = {"acc1": metric}
    return [
        (
            record.case,
            record.protocol,
            labels,
            str(found["acc1"].n),
            cell(found["acc1"]),
            cell(found.get("acc5")),
            str(record.outcomes.error),
            "" if record.status == PASSED else record.status,
        )
        for labels, found in first.items()
    ]


def is_shown(metric: Metric) -> bool:
    """Whether a number stands in the table."""
    accuracy = metric.category in ("A", LABELLED) and metric.name in SHOWN
    return accuracy or bool(of_pairs(metric) or of_birds(metric))


def of_pairs(metric: Metric) -> str:
    """What a number of pairs is called; nothing for others."""
    if metric.labels != PAIRS or metric.name not in OF_SETS:
        return ""
    return f"{metric.category.removeprefix('A')}{OF_SETS[metric.name]}".strip()


def of_birds(metric: Metric) -> str:
    """What a number about birds is called; nothing for others, and for those that compare lists."""
    among, _, wording = metric.category.partition("/")
    if metric.name == "abstention" and "/" not in wording:
        return f"{among} abstained, {wording}"
    return OF_BIRDS.get((metric.labels, metric.name, metric.category), "")


def served(record: Record) -> str:
    """What answers in words took, where a cache helped or somebody is to be paid."""
    took = record.served
    if took is None or not (took.cached_tokens or took.cost):
        return ""
    cached = f"{took.cached_tokens / max(1, took.prompt_tokens):.0%} from cache"
    paid = "" if took.cost is None else f"; {took.cost:.4f} USD"
    tokens = f"{took.prompt_tokens:,} prompt tokens, {cached}; {took.answer_tokens:,} said{paid}"
    return f"{record.case} ({record.protocol}): {took.requests:,} requests, {tokens}"


def cell(metric: Metric | None) -> str:
    """A value in per cent with its interval."""
    if metric is None or metric.value is None or metric.ci is None:
        return "-"
    return f"{100 * metric.value:.2f} [{100 * metric.ci[0]:.2f}, {100 * metric.ci[1]:.2f}]"

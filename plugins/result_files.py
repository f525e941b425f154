"""Files of a session for other programs: `--eye-summary` and `--eye-verdicts`."""

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence

import pytest

from eyechart.errors import ReportError
from eyechart.gate.session.gate_status import REGRESSION
from eyechart.gate.verdicts.decide import Verdict
from eyechart.gate.verdicts.value_texts import compared_values
from eyechart.gate.verdicts.verdict_file import write_verdicts
from eyechart.gate.verdicts.verdict_messages import format_adjusted

from .cases import find_case
from .exit_codes import KIND, MEANINGS
from .gate import Gate
from .options import get_option

FAILURES, LENGTH, NAME = 50, 4000, 300  # the page of a job has at most 1 MiB


class _ResultFile(ABC):
    """A file that the controller writes at the end of the session, after the gate and the exit status."""

    option = ""

    def __init__(self, config: pytest.Config, gate: Gate) -> None:
        self.config, self.gate, self.error = config, gate, ""
        self.path = config.invocation_params.dir / get_option(config, self.option)
        if not self.path.parent.is_dir():
            folder = self.path.parent
            raise pytest.UsageError(f"--eye-{self.option}: there is no folder {folder}. Make it, or name another.")

    @abstractmethod
    def write(self, status: int) -> None:
        """Write the file of a session that ends with this status."""

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the file; the session does not fail if it cannot be written."""
        try:
            self.write(int(session.exitstatus))
        except OSError as error:
            self.error = f"--eye-{self.option}: {self.path} cannot be written: {error.strerror or error}."
        except ReportError as error:
            self.error = f"--eye-{self.option}: {error}"

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the error if the file could not be written."""
        if self.error:
            terminalreporter.write_line(f"ERROR: {self.error}", red=True)


class VerdictFile(_ResultFile):
    """The verdicts of the gate as JSON."""

    option = "verdicts"

    def write(self, status: int) -> None:
        """Write the verdicts."""
        write_verdicts(self.path, self.gate.session.result.summarise(status))


class MarkdownSummary(_ResultFile):
    """The outcomes, failures and messages of the gate as Markdown, for the page of a job."""

    option = "summary"

    def __init__(self, config: pytest.Config, gate: Gate) -> None:
        super().__init__(config, gate)
        self.final_reports: dict[str, pytest.TestReport] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Store the last report of a case; a failure is not replaced by a passed phase."""
        before = self.final_reports.get(report.nodeid)
        if find_case(self.config, report.nodeid) and (report.when == "call" or not report.passed):
            self.final_reports[report.nodeid] = before if before and before.failed and report.passed else report

    def write(self, status: int) -> None:
        """Write the paragraphs."""
        self.path.write_text("\n".join(self.make_lines(status)) + "\n", encoding="utf-8")

    def make_lines(self, status: int) -> Iterator[str]:
        """Yield the paragraphs of the file."""
        counts = Counter(report.outcome for report in self.final_reports.values())
        outcomes = ", ".join(
            f"{counts[outcome]} {outcome}" for outcome in ("passed", "failed", "skipped") if counts[outcome]
        )
        yield f"# eyechart: {outcomes or 'no case ran'}\n"
        result = self.gate.session.result
        if result.verdicts:
            yield f"The gate: {result.summarise(status).sentence}.\n"
        yield f"Exit status {status}: {MEANINGS.get(status, 'not one of pytest or eyechart')}.\n"
        yield from _make_loss_table(result.verdicts)
        failed = sorted((report for report in self.final_reports.values() if report.failed), key=_is_not_regression)
        for report in failed[:FAILURES]:
            yield f"## {_inline_code(report.nodeid.rpartition('::')[2])}\n\n{_fence_block(report.longreprtext)}\n"
        if len(failed) > FAILURES:
            yield f"{len(failed) - FAILURES} more failed; the log has them.\n"
        if remarks := [*dict.fromkeys(self.gate.session.messages), *self.gate.session.errors]:
            yield _fence_block("\n".join(remarks))


def _is_not_regression(report: pytest.TestReport) -> bool:
    """Return whether a failure is not a regression; as a sort key, it puts regressions first."""
    return getattr(report, KIND, None) != REGRESSION


def _make_loss_table(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """Yield a table of the cases with regressions, sorted by significance.

    Each has the regression of its primary metric, or else its most significant one and below it the primary metric.
    """
    cases: dict[tuple[str, str], list[Verdict]] = {}
    lost = [verdict for verdict in verdicts if verdict.regression]
    for verdict in sorted(lost, key=lambda verdict: (verdict.adjusted, -verdict.comparison.loss)):
        cases.setdefault((verdict.comparison.case, verdict.comparison.protocol), []).append(verdict)
    primary = {(v.comparison.case, v.comparison.protocol): v for v in verdicts if v.comparison.primary}
    if cases:
        yield "| case | number | baseline | now | p | right→wrong | wrong→right | verdict | other numbers |"
        yield "|---|---|---|---|---|---|---|---|---|"
        for case, of_case in [*cases.items()][:FAILURES]:
            yield _make_row(*sorted(of_case, key=lambda verdict: not verdict.comparison.primary))
            if (main := primary.get(case)) and main not in of_case:
                yield _make_row(main)
        yield ""


def _make_row(shown: Verdict, *more: Verdict) -> str:
    """Return the table row of a case with a metric of it and the number of other regressions."""
    comparison = shown.comparison
    names = (
        _inline_code(text).replace("|", "\\|")
        for text in (f"{comparison.case} ({comparison.protocol})", comparison.name)
    )
    changed = (len(comparison.lost), comparison.gained) if comparison.lost or comparison.gained else ("", "")
    values = (
        *compared_values(comparison),
        format_adjusted(shown).removeprefix("p=").removeprefix("p"),
        *changed,
        shown.decision,
    )
    return f"| {' | '.join([*names, *map(str, values)])} | {len(more) or ''} |"


def _fence_block(text: str) -> str:
    """Return a text as a fenced Markdown block, cut to LENGTH characters."""
    shown = text if len(text) <= LENGTH else f"{text[:LENGTH]}\n… ({len(text):,} characters)"
    fence = "`" * max(3, 1 + _longest_backticks(shown))
    return f"{fence}text\n{shown}\n{fence}"


def _inline_code(text: str) -> str:
    """Return a name as inline Markdown code, cut to NAME characters."""
    shown = " ".join(text.split())
    shown = shown if len(shown) <= NAME else f"{shown[:NAME]}…"
    fence = "`" * (1 + _longest_backticks(shown))
    return f"{fence} {shown} {fence}"


def _longest_backticks(text: str) -> int:
    """Return the length of the longest sequence of backticks."""
    return max(map(len, re.findall("`+", text)), default=0)

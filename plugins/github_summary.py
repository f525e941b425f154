"""`--eye-summary=FILE`: how the session ended, what failed and what the gate said, as Markdown for a job's page."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

import pytest

from eyechart.gate.compare import Verdict
from eyechart.gate.messages import format_p_value

from .cases import find_case
from .exit_codes import KIND, MEANINGS, REGRESSION
from .gate import Gate
from .options import get_option
from .workers import is_worker

FAILURES, LENGTH, NAME = 50, 4000, 300  # a job's page holds 1 MiB


class GithubSummary:
    """Notes how every case ended, and writes the file when the session is over."""

    def __init__(self, config: pytest.Config, gate: Gate) -> None:
        path = get_option(config, "summary")
        self.path = config.invocation_params.dir / path if path and not is_worker(config) else None
        self.config, self.gate = config, gate
        self.final_reports: dict[str, pytest.TestReport] = {}
        self.error = ""
        if self.path and not self.path.parent.is_dir():
            raise pytest.UsageError(f"--eye-summary: there is no folder {self.path.parent}. Make it, or name another.")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep how a case ended; what failed stays failed."""
        before = self.final_reports.get(report.nodeid)
        if find_case(self.config, report.nodeid) and (report.when == "call" or not report.passed):
            self.final_reports[report.nodeid] = before if before and before.failed and report.passed else report

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the file, after the gate has judged."""
        if self.path:
            try:
                self.path.write_text("\n".join(self.make_lines(int(session.exitstatus))) + "\n", encoding="utf-8")
            except OSError as error:
                self.error = f"--eye-summary: {self.path} cannot be written: {error.strerror or error}."

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say why there is no file."""
        if self.error:
            terminalreporter.write_line(f"ERROR: {self.error}", red=True)

    def make_lines(self, status: int) -> Iterator[str]:
        """The whole text."""
        counts = Counter(report.outcome for report in self.final_reports.values())
        outcomes = ", ".join(
            f"{counts[outcome]} {outcome}" for outcome in ("passed", "failed", "skipped") if counts[outcome]
        )
        yield f"# eyechart: {outcomes or 'no case ran'}\n"
        yield f"Exit status {status}: {MEANINGS.get(status, 'not one of pytest or eyechart')}.\n"
        yield from make_loss_table([verdict for verdict in self.gate.verdicts if verdict.regression])
        failed = sorted((report for report in self.final_reports.values() if report.failed), key=is_not_regression)
        for report in failed[:FAILURES]:
            yield f"## {inline_code(report.nodeid.rpartition('::')[2])}\n\n{fence_block(report.longreprtext)}\n"
        if len(failed) > FAILURES:
            yield f"{len(failed) - FAILURES} more failed; the log has them.\n"
        if remarks := [*dict.fromkeys(self.gate.messages), *self.gate.errors]:
            yield fence_block("\n".join(remarks))


def is_not_regression(report: pytest.TestReport) -> bool:
    """Whether a failure is not a regression, of which one wants to hear first."""
    return getattr(report, KIND, None) != REGRESSION


def make_loss_table(lost: Sequence[Verdict]) -> Iterator[str]:
    """The cases that are worse, each with its surest loss, the surest first."""
    cases: dict[tuple[str, str], list[Verdict]] = {}
    for verdict in sorted(lost, key=lambda verdict: (verdict.adjusted, -verdict.comparison.loss)):
        cases.setdefault((verdict.comparison.case, verdict.comparison.protocol), []).append(verdict)
    if cases:
        yield "| worse | number | baseline | now | p | right→wrong | wrong→right | other numbers |"
        yield "|---|---|---|---|---|---|---|---|"
        yield from (make_row(*of_case) for of_case in [*cases.values()][:FAILURES])
        yield ""


def make_row(surest: Verdict, *more: Verdict) -> str:
    """A case that is worse, as a line of a table."""
    comparison = surest.comparison
    names = (
        inline_code(text).replace("|", "\\|")
        for text in (f"{comparison.case} ({comparison.protocol})", comparison.name)
    )
    changed = (len(comparison.lost), comparison.gained) if comparison.lost or comparison.gained else ("", "")
    values = (
        f"{comparison.before:.4f}",
        f"{comparison.after:.4f}",
        format_p_value(surest.adjusted).removeprefix("p="),
        *changed,
    )
    return f"| {' | '.join([*names, *map(str, values)])} | {len(more) or ''} |"


def fence_block(text: str) -> str:
    """A text that Markdown leaves as it is, whatever it holds, cut to a length that one reads."""
    shown = text if len(text) <= LENGTH else f"{text[:LENGTH]}\n… ({len(text):,} characters)"
    fence = "`" * max(3, 1 + longest_backticks(shown))
    return f"{fence}text\n{shown}\n{fence}"


def inline_code(text: str) -> str:
    """A name that Markdown leaves as it is, cut as well."""
    shown = " ".join(text.split())
    shown = shown if len(shown) <= NAME else f"{shown[:NAME]}…"
    fence = "`" * (1 + longest_backticks(shown))
    return f"{fence} {shown} {fence}"


def longest_backticks(text: str) -> int:
    """The longest row of backticks."""
    return max(map(len, re.findall("`+", text)), default=0)

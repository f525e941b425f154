"""The gate in a pytest session: prints and fails at its end what `GateSession` decides of the recorded cases.

With `--eye-sequential` it also gives each case the test that decides how many of its images are asked.
"""

from copy import copy
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import pytest
from _pytest.junitxml import xml_key

from eyechart.errors import EyechartError
from eyechart.evaluation.settings import Case
from eyechart.gate.baselines.baseline_files import read_baselines
from eyechart.gate.policy.tiers import unread_policy
from eyechart.gate.sequential.stop_early import SequentialTest, can_be_sequential, level_of_case
from eyechart.gate.session.gate_session import GateOptions, GateSession
from eyechart.gate.session.gate_status import INCONCLUSIVE, REGRESSION
from eyechart.gate.verdicts.decide import Rule
from eyechart.results.shared_samples import with_samples

from .cases import find_case, get_case
from .exit_codes import KIND
from .gate_options import read_rule
from .options import get_option
from .recorder import BY_GATE, Recorder
from .settings import get_settings

FINISHED = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)


class Gate:
    """Writes baselines under `--eye-update-baseline`, otherwise compares with those of `--eye-baseline`."""

    def __init__(self, config: pytest.Config, recorder: Recorder) -> None:
        self.config, self.recorder = config, recorder

    @cached_property
    def session(self) -> GateSession:
        """The gate of the session, with the values of its options."""
        settings = get_settings(self.config)
        options = GateOptions(
            folder=self.config.invocation_params.dir,
            run=self.recorder.folder,
            rule=read_rule(self.config),
            baseline=get_option(self.config, "baseline") or "",
            update=bool(get_option(self.config, "update-baseline")),
            strict=bool(get_option(self.config, "strict")),
            power=bool(get_option(self.config, "power")),
            verbose=self.config.get_verbosity() > 0,
            floors=tuple(get_option(self.config, "floor") or ()),
            floors_are_strict=bool(self.config.getoption("eye_floor")),
            policy=get_option(self.config, "policy") or "",
            data=settings.data,
            store=settings.store,
        )
        try:
            session = GateSession(options, self.recorder.records)
        except EyechartError as error:
            raise pytest.UsageError(f"--eye-baseline: {error}") from error
        if options.is_comparison and not options.policy and (unread := unread_policy(self.config.rootpath)):
            session.messages.append(unread)
        return session

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """Read the baselines, so that an unusable one is refused before any test runs."""
        if self.recorder.is_controller:
            _ = self.session

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Compare all cases at the end of the session, since the p-values are adjusted for all of its metrics."""
        if not self.recorder.is_controller or session.exitstatus not in FINISHED:
            return
        gate, own, reports = self.session, session.testsfailed, self.recorder.reports
        if self.recorder.records:
            failed = {nodeid for nodeid, report in reports.items() if report.failed}
            gate.decide(failed, has_failures=bool(own))
            self.count_confidence_regressions()
        elif not own and self.recorder.has_cases:
            passed = (nodeid for nodeid, report in reports.items() if report.passed)
            gate.refuse_no_record(
                len(self.recorder.skipped), some_passed=any(find_case(self.config, node) for node in passed)
            )
        for nodeid in sorted({*gate.failures, *gate.undecided}):
            reasons = [*gate.failures.get(nodeid, ()), *gate.undecided.get(nodeid, ())]
            kind = REGRESSION if nodeid in gate.failures else INCONCLUSIVE
            _report_failed(session, reports[nodeid], "\n\n".join(reasons), kind)
        if gate.errors and not gate.failures and not own:
            session.exitstatus = pytest.ExitCode.USAGE_ERROR

    def count_confidence_regressions(self) -> None:
        """Count the cases with a confidence regression in pytest's last line, which is then not green."""
        reporter: Any = self.config.pluginmanager.get_plugin("terminalreporter")
        verdicts = (*self.session.result.verdicts, *self.session.result.pooled)
        worse = (verdict.comparison for verdict in verdicts if verdict.confidence_regression)
        if cases := {(comparison.case, comparison.protocol) for comparison in worse}:
            reporter.stats["confidence regression"] = [SimpleNamespace(case=case) for case in sorted(cases)]

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the messages, then the errors."""
        for line in dict.fromkeys(self.session.messages):
            terminalreporter.write_line(f"eyechart: {line}")
        for line in self.session.errors:
            terminalreporter.write_line(f"ERROR: {line}", red=True)


class SequentialCases:
    """`--eye-sequential`: finds for each case, in every worker, the test that decides how many images are asked.

    A case without a usable baseline asks all images.
    """

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.cases = 0

    @cached_property
    def rule(self) -> Rule:
        """The levels and margins."""
        return read_rule(self.config)

    @cached_property
    def baselines(self) -> dict[tuple[str, str], SequentialTest]:
        """The tests of all cases whose baseline allows one, by case and protocol."""
        folder = self.config.invocation_params.dir / get_option(self.config, "baseline")
        tests = {}
        for key, (evidence, path) in read_baselines(folder).items():
            if can_be_sequential(evidence):
                baseline = with_samples(evidence, path.parent)
                level = level_of_case(self.rule.alpha, self.cases)
                tests[key] = SequentialTest(baseline, level, self.rule.alpha, self.rule.margin)
        return tests

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Count the cases that were selected, which share the significance level."""
        self.cases = sum(get_case(item) is not None for item in session.items)

    def find_test(self, case: Case) -> SequentialTest | None:
        """Return the test of a case, None without a usable baseline."""
        return self.baselines.get((str(case), case.protocol))


def _report_failed(session: pytest.Session, was: pytest.TestReport, why: str, kind: int) -> None:
    """Replace the report of a case with a failed one of a kind, in the terminal, JUnit file and `--lf`'s cache."""
    config = session.config
    report = copy(was)
    report.outcome, report.sections = "failed", []
    report.longrepr = f"{was.longreprtext}\n\n{why}" if was.failed else why
    setattr(report, BY_GATE, True)
    setattr(report, KIND, kind)
    if terminal := config.pluginmanager.get_plugin("terminalreporter"):
        for kept in terminal.stats.values():
            kept[:] = [other for other in kept if other is not was]
    if was.failed:
        session.testsfailed -= 1
    config.hook.pytest_runtest_logreport(report=report)
    if xml := config.stash.get(xml_key, None):
        _replace_in_junit(xml, was, report)


def _replace_in_junit(xml: Any, was: pytest.TestReport, report: pytest.TestReport) -> None:
    """Keep only the later of two entries of a case in the JUnit file: readers regard two entries as a flaky test."""
    now = xml.node_reporters_ordered[-1]
    xml.finalize(report)
    name = _junit_name(now)
    xml.node_reporters_ordered[:] = [
        reporter for reporter in xml.node_reporters_ordered if reporter is now or _junit_name(reporter) != name
    ]
    xml.stats["failure" if was.failed else "passed"] -= 1


def _junit_name(reporter: Any) -> tuple[str | None, str | None]:
    """Return the class name and the name of a case in the JUnit file."""
    element = reporter.to_xml()
    return element.get("classname"), element.get("name")

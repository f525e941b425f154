"""Answers outside of test functions: those that `--eye-answer` stores, and those of `--eye-ray` before the tests."""

import warnings
from dataclasses import replace
from pathlib import Path

import pytest

from eyechart.evaluation.evaluate import Evaluate
from eyechart.messages.plurals import count_of

from .cases import get_case, test_name
from .progress import Progress
from .recorder import Recorder
from .settings import get_settings


class OnlyAnswers:
    """Answers each case instead of running its test function, and scores nothing; counts the cases at the end."""

    def __init__(self, config: pytest.Config, recorder: Recorder) -> None:
        self.config, self.recorder = config, recorder
        self.counts = {"passed": 0, "failed": 0, "skipped": 0}

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> bool | None:
        """Answer a case; any other test runs as usual."""
        evaluate = pyfuncitem.funcargs.get("evaluate")
        if get_case(pyfuncitem) is None or not isinstance(evaluate, Evaluate):
            return None
        evaluate.get_result()
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count the cases by outcome."""
        if report.when == "call" or not report.passed:
            self.counts[report.outcome] += report.when != "teardown"

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print where the answers are, and how many cases have all of theirs."""
        if self.recorder.has_cases:
            done, others = self.counts["passed"], self.counts["failed"] + self.counts["skipped"]
            missing = f"; {count_of(others, 'case')} not, see above" if others else ""
            store = get_settings(self.config).store
            terminalreporter.write_line(f"eyechart: {count_of(done, 'case')} answered in the store {store}{missing}")


class PrefetchOfTests:
    """Answers the selected cases of `--eye-ray` after the collection: their models answer at the same time."""

    def __init__(self, config: pytest.Config, run: Path, progress: Progress) -> None:
        self.config, self.run, self.progress = config, run, progress

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> None:
        """Answer the cases, unless no test will run; a case that stops early asks by itself."""
        settings = get_settings(self.config)
        if session.testsfailed or self.config.option.collectonly or not settings.ray or settings.sequential:
            return
        cases = [replace(case, test=test_name(item)) for item in session.items if (case := get_case(item))]
        from eyechart.evaluation.prefetch import Prefetch

        with self.progress.before_tests(cases) as track, warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", RuntimeWarning)
            Prefetch(settings, self.run, track).answer(cases)
        for warning in caught:
            if issubclass(warning.category, RuntimeWarning):
                self.config.hook.pytest_warning_recorded.call_historic(
                    kwargs={"warning_message": warning, "nodeid": "", "when": "runtest", "location": None}
                )

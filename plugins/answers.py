"""`--eye-answer`: a session that stores the missing answers of its cases, and scores nothing."""

import pytest

from eyechart.evaluation.evaluate import Evaluate
from eyechart.messages.plurals import count_of

from .cases import get_case
from .recorder import Recorder
from .settings import get_settings


class OnlyAnswers:
    """Answers each case instead of running its test function, and counts the cases at the end."""

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

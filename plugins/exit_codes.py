"""Exit codes of a session: if all failures are of one kind, the exit code names this kind."""

from collections.abc import Generator, Mapping

import pytest

from eyechart.errors import AbsentError, ToleranceError
from eyechart.gate.session.gate_status import ABSENT, INCONCLUSIVE, REGRESSION

ERRORS = 12
MEANINGS: Mapping[int, str] = {
    0: "every case passed",
    1: "a case failed: a model or data cannot be used, or several of the reasons below at once",
    2: "interrupted, by the user or by a full disk",
    3: "an internal error of pytest or a plugin",
    4: "a wrong option, an unreadable baseline, a floor that matches no metric, or nothing to compare with "
    "--eye-baseline",
    5: "no case was selected",
    6: "more warnings than pytest's --max-warnings",
    REGRESSION: "a regression, and nothing else but inconclusive cases: a significant loss, a metric below its floor, "
    "a baseline of other data or, under --eye-strict, a missing or incomplete one",
    ABSENT: "missing data, or a missing case of the baseline, under --eye-strict, and nothing else",
    ERRORS: "more errors than --eye-max-errors allows, and nothing else",
    INCONCLUSIVE: "inconclusive cases, and nothing else: a loss of --eye-margin, or of the policy's margin, is neither "
    "shown nor excluded",
}
STATUS_OF_ERROR: dict[type, int] = {AbsentError: ABSENT, ToleranceError: ERRORS}
KIND = "eyechart_kind"  # an attribute of failed reports, also of those from workers


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(call: pytest.CallInfo[None]) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Set the kind of failure on a report."""
    report = yield
    if call.excinfo and report.failed:
        setattr(report, KIND, STATUS_OF_ERROR.get(type(call.excinfo.value.__context__)))
    return report


class ExitCodes:
    """Collects the kinds of failures and sets the exit status of the session."""

    def __init__(self) -> None:
        self.kinds: dict[str, set[int | None]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Store the kind of a failure; a case that fails twice may have two kinds."""
        if report.failed:
            self.kinds.setdefault(report.nodeid, set()).add(getattr(report, KIND, None))

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Set the exit status if there is only one kind, after the gate and before the records are written."""
        if session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED) and self.kinds:
            kinds = set().union(*self.kinds.values())
            (kind, *others) = kinds - {INCONCLUSIVE} if kinds == {REGRESSION, INCONCLUSIVE} else kinds
            session.exitstatus = pytest.ExitCode.TESTS_FAILED if others or kind is None else kind

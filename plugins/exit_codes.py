"""How a session ends: where all that failed is of one kind, the exit status says which."""

from collections.abc import Generator, Mapping

import pytest

from eyechart.errors import AbsentError, ToleranceError

REGRESSION, ABSENT, ERRORS = 10, 11, 12  # beyond what pytest has or may come to have
MEANINGS: Mapping[int, str] = {
    0: "every case passed",
    1: "a case failed: a model or data cannot be used, or several of the reasons below at once",
    2: "interrupted, by the user or by a full disk",
    3: "an internal error of pytest or a plugin",
    4: "a wrong option, an unreadable baseline, a floor that matches no metric, or nothing to compare with "
    "--eye-baseline",
    5: "no case was selected",
    6: "more warnings than pytest's --max-warnings",
    REGRESSION: "a regression, and nothing else: a significant loss, a metric below its floor, a baseline of other "
    "data or, under --eye-strict, a missing or incomplete one",
    ABSENT: "missing data, or a missing case of the baseline, under --eye-strict, and nothing else",
    ERRORS: "more errors than --eye-max-errors allows, and nothing else",
}
KINDS: dict[type, int] = {AbsentError: ABSENT, ToleranceError: ERRORS}
KIND = "eyechart_kind"  # on a failed report, which also comes from workers


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(call: pytest.CallInfo[None]) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Note on a report what kind of failure it is."""
    report = yield
    if call.excinfo and report.failed:
        setattr(report, KIND, KINDS.get(type(call.excinfo.value.__context__)))
    return report


class ExitCodes:
    """Collects the kinds of what failed."""

    def __init__(self) -> None:
        self.kinds: dict[str, set[int | None]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep of what kind a failure is; a case that fails twice may be of two."""
        if report.failed:
            self.kinds.setdefault(report.nodeid, set()).add(getattr(report, KIND, None))

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Say the one kind, after the gate has judged and before the session is written down."""
        if session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED) and self.kinds:
            (kind, *others) = set().union(*self.kinds.values())
            session.exitstatus = pytest.ExitCode.TESTS_FAILED if others or kind is None else kind

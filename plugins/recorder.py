"""Records of cases: workers attach them to test reports, and the controller writes them to the run's folder.

The report has a case's main metrics in place of its record afterwards, for `--junitxml` and other readers of reports.
"""

import shlex
import sys
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace

from eyechart.errors import AbsentError, EyechartError, ToleranceError, UnavailableError
from eyechart.evaluation.case_result import CaseResult
from eyechart.evaluation.evaluate import Evaluate
from eyechart.messages.secret_values import hide_secrets
from eyechart.models.runtime.phases import phase
from eyechart.protocol.base import Predictions
from eyechart.results.records import FAILED, PASSED, Metric, Record, among_text, from_plain, to_plain
from eyechart.results.run_folder import RunFolder, describe_environment, read_git_commit

from .cases import find_case, get_case
from .settings import get_settings
from .workers import is_worker

PROPERTY = "eyechart"
BY_GATE = "eyechart_judged"  # an attribute of the reports that the gate made
STARTED = pytest.StashKey[float]()


class Recorder:
    """Attaches the record of each case to its report and, on the controller, writes it to the run's folder."""

    def __init__(self, config: pytest.Config, folder: Path, started: float) -> None:
        self.config = config
        self.folder = folder
        self.files = RunFolder(folder, started)
        self.is_controller = not is_worker(config)
        self.command = hide_secrets(shlex.join(["pytest", *sys.argv[1:]]))
        self.records: dict[str, Record] = {}
        self.reports: dict[str, pytest.TestReport] = {}  # of the tests that were called, for the gate
        self.skipped: set[str] = set()
        self.has_cases = False
        self.git_commit = ""

    def start_cases(self) -> None:
        """Store that the session has cases, and the commit of the project before the first one runs."""
        if not self.has_cases:
            self.has_cases = True
            self.git_commit = read_git_commit(self.config.rootpath) if self.is_controller else ""

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Store that the session has a case, also if a worker runs it."""
        if find_case(self.config, nodeid) is not None:
            self.start_cases()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None]:
        """Store the start time of a case, before its fixtures run."""
        item.stash[STARTED] = time.time()
        if get_case(item) is not None:
            self.start_cases()
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> Generator[None, object, object]:
        """Attach the record to the report, then fail the case if too many images ended in an error.

        A test that fails after it recorded metrics keeps its record, so that its author can read them.
        """
        evaluate = pyfuncitem.funcargs.get("evaluate")
        if not get_case(pyfuncitem) or not isinstance(evaluate, Evaluate):
            return (yield)
        try:
            with self.errors_as_outcomes():
                outcome = yield
        except (Exception, pytest.fail.Exception) as error:
            if evaluate.result is not None and evaluate.result.estimates:
                try:
                    self.write_record(pyfuncitem, evaluate.result)
                except (Exception, pytest.fail.Exception) as other:
                    error.add_note(f"eyechart could not keep the record of this case: {other}")
            raise
        with self.errors_as_outcomes():
            result = evaluate.get_result()
            if not get_settings(self.config).only_answer:
                self.write_record(pyfuncitem, result)
            self.check_error_count(result)
        return outcome

    @contextmanager
    def errors_as_outcomes(self) -> Iterator[None]:
        """Convert an error of eyechart to the outcome of the test: a skip, or a failure without a traceback."""
        try:
            yield
        except UnavailableError as error:
            pytest.skip(str(error))
        except EyechartError as error:
            if isinstance(error, AbsentError) and not get_settings(self.config).strict:
                pytest.skip(str(error))
            raise pytest.fail.Exception(str(error), pytrace=False) from None

    def write_record(self, item: pytest.Function, result: CaseResult[Predictions]) -> None:
        """Write the files of a case and attach its record to the report of the test."""
        with self.write_errors_as(partial(pytest.fail.Exception, pytrace=False)):
            seconds = time.time() - item.stash[STARTED]
            with phase("evidence"):
                record = result.write_record(seconds, describe_environment(), self.command)
        item.user_properties.append((PROPERTY, to_plain(record)))

    def check_error_count(self, result: CaseResult[Predictions]) -> None:
        """Raise ToleranceError if a case has more errors than `--eye-max-errors` allows; its answers stay stored."""
        most = get_settings(self.config).max_errors
        errors = result.predictions.error_messages()
        if len(errors) > most:
            shown = "\n".join(f"  {error}" for error in errors[:10])
            raise ToleranceError(
                f"{len(errors)} of {result.predictions.describe_count()} ended in an error; --eye-max-errors allows "
                f"{most}. All other answers are kept and scored.\n{shown}"
            )

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep a report, and write its record at once; mark the record as failed if the gate fails the case later."""
        if self.is_controller and report.when == "call":
            self.reports[report.nodeid] = report
        if self.is_controller and report.skipped and find_case(self.config, report.nodeid):
            self.skipped.add(report.nodeid)
        if hasattr(report, BY_GATE) and report.nodeid in self.records:
            self.records[report.nodeid] = replace(self.records[report.nodeid], status=FAILED)
        known = report.when != "call" or hasattr(report, BY_GATE)
        for name, value in report.user_properties if self.is_controller and not known else ():
            if name == PROPERTY and isinstance(value, dict):
                status = PASSED if report.passed else FAILED
                record = replace(from_plain(value), status=status, test=report.nodeid)
                self.records[report.nodeid] = record
                with self.write_errors_as(_end_session):
                    self.files.append(record)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write records.json, sorted by case, and link `latest` to the run, unless it has no record and another has.

        The exit status is read from the session, since the argument of the hook is from before the gate.
        """
        if not self.is_controller or not self.has_cases or get_settings(self.config).only_answer:
            return
        harmless = () if self.records else (pytest.exit.Exception,)  # nothing is lost: the cases have failed
        with suppress(*harmless), self.write_errors_as(_end_session):
            run = self.files.describe_run(
                self.records.values(),
                command=self.command,
                git_commit=self.git_commit,
                exit_status=int(session.exitstatus),
                workers=int(getattr(self.config.option, "numprocesses", 0) or 0),
            )
            self.files.finish(self.records.values(), run)
        if self.records or not (self.folder.parent / "latest").exists():
            self.files.link_latest()

    @contextmanager
    def write_errors_as(self, outcome: Callable[[str], BaseException]) -> Iterator[None]:
        """Convert an error of the disk to an outcome with a message: a failed case, or the end of the session."""
        try:
            self.files.create()
            yield
        except OSError as error:
            raise outcome(
                f"The run's folder {self.folder} cannot be written: {error.strerror or error}. Answers are kept in the "
                "store all the same; free some space or choose another folder with --eye-out, and run again."
            ) from None


class JUnitProperties:
    """Properties of a case in the file of `--junitxml`: its main metrics instead of the whole record."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> Generator[None, object, object]:
        """Replace the record: on a call report after the recorder, on others before JUnit reads it.

        A session without that file keeps less in memory for it.
        """
        if report.when != "call":
            report.user_properties = list(_plain_properties(report))
        result = yield
        report.user_properties = list(_plain_properties(report))
        return result


def _plain_properties(report: pytest.TestReport) -> Iterator[tuple[str, object]]:
    """Yield the properties of a report, with plain ones instead of the record."""
    for name, value in report.user_properties:
        if name == PROPERTY and isinstance(value, dict):
            yield from _record_properties(from_plain(value))
        else:
            yield name, value


def _record_properties(record: Record) -> Iterator[tuple[str, str]]:
    """Yield the properties of a record: the case, its data and model, and each metric that the terminal shows."""
    yield f"{PROPERTY}.case", record.case
    yield f"{PROPERTY}.protocol", record.protocol
    yield f"{PROPERTY}.images", str(record.data.n)
    yield f"{PROPERTY}.errors", str(record.outcomes.error)
    yield f"{PROPERTY}.weights", record.model.weights_sha256
    yield f"{PROPERTY}.data", record.data.fingerprint
    for metric in record.metrics:
        if metric.title:
            yield from _metric_properties(metric)


def _metric_properties(metric: Metric) -> Iterator[tuple[str, str]]:
    """Yield the value, sample count and interval of a metric, under the name that floors use."""
    name = f"{PROPERTY}.{metric.name}[{among_text(metric.labels, metric.subset_text)}]"
    if metric.value is not None:
        yield name, repr(metric.value)
        yield f"{name}.n", str(metric.n)
    if metric.value is not None and metric.ci is not None:
        yield f"{name}.interval", f"{metric.ci[0]!r} {metric.ci[1]!r}"


def _end_session(message: str) -> BaseException:
    """Return what ends a session with status 2, also at its end, where the status would stay that of its tests."""
    return pytest.exit.Exception(message, returncode=int(pytest.ExitCode.INTERRUPTED))

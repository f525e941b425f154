"""`--eye-track=NAME`: log the records of the session to experiment trackers, after the gate."""

import pytest

from eyechart.errors import EyechartError
from eyechart.tracking.log_runs import TrackingResult, track_run
from eyechart.tracking.targets import Target, check_targets, parse_targets

from .gate import Gate
from .options import get_option
from .recorder import Recorder
from .settings import get_settings

UNFINISHED = (pytest.ExitCode.INTERRUPTED, pytest.ExitCode.INTERNAL_ERROR)


def read_trackers(config: pytest.Config) -> tuple[Target, ...]:
    """Return the trackers of `--eye-track`."""
    try:
        return parse_targets(get_option(config, "track") or ())
    except EyechartError as error:
        raise pytest.UsageError(f"--eye-track: {error}") from error


def check_trackers(config: pytest.Config) -> None:
    """Refuse trackers that cannot be used, before any model is asked."""
    try:
        check_targets(read_trackers(config), offline=bool(get_option(config, "offline")))
    except EyechartError as error:
        raise pytest.UsageError(f"--eye-track: {error}") from error


class Tracking:
    """Logs the run's folder at the end of the session, on the controller.

    An error of a tracker is a warning: the exit status says how the models did, and the run is in its folder.
    """

    def __init__(self, config: pytest.Config, recorder: Recorder, gate: Gate) -> None:
        self.config, self.recorder, self.gate = config, recorder, gate
        self.targets = read_trackers(config)
        self.results: list[TrackingResult] = []

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Log the run, after its records are written."""
        status = int(session.exitstatus)
        if not self.recorder.records:
            return
        if status in UNFINISHED:
            commands = " ".join(f"--to={target}" for target in self.targets)
            text = f"the session did not finish. Log it with: eyechart track {self.recorder.folder} {commands}"
            self.results = [TrackingResult(text, failed=True)]
            return
        result = self.gate.session.result
        verdicts = result.summarise(status) if result.verdicts else None
        offline = get_settings(self.config).offline
        try:
            self.results = track_run(self.recorder.folder, self.targets, offline=offline, verdicts=verdicts)
        except EyechartError as error:
            self.results = [TrackingResult(str(error), failed=True)]

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print where each tracker has the run, and a warning for one that failed."""
        for result in self.results:
            label = "WARNING: --eye-track" if result.failed else "tracked"
            terminalreporter.write_line(f"{label}: {result.text}", yellow=result.failed)

"""`--eye-verdicts=FILE`: the verdicts of the gate as JSON for other programs."""

import pytest

from eyechart.errors import ReportError
from eyechart.gate.verdicts.verdict_file import SessionVerdicts, write_verdicts

from .gate import Gate
from .options import get_option
from .workers import is_worker


class VerdictFile:
    """Writes the file at the end of the session."""

    def __init__(self, config: pytest.Config, gate: Gate) -> None:
        path = get_option(config, "verdicts")
        self.path = config.invocation_params.dir / path if path and not is_worker(config) else None
        self.gate, self.error = gate, ""
        if self.path and not self.path.parent.is_dir():
            raise pytest.UsageError(f"--eye-verdicts: there is no folder {self.path.parent}. Make it, or name another.")

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the file, after the gate and the exit status."""
        if self.path is None:
            return
        try:
            write_verdicts(self.path, self.summarise(int(session.exitstatus)))
        except ReportError as error:
            self.error = f"--eye-verdicts: {error}"

    def summarise(self, status: int) -> SessionVerdicts:
        """Return the verdicts of the session, which ends with this status."""
        return self.gate.session.result.summarise(status)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the error if the file could not be written."""
        if self.error:
            terminalreporter.write_line(f"ERROR: {self.error}", red=True)

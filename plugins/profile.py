"""`--eye-profile`: what the session does and how long it takes, as a Chrome trace in the run's folder."""

from collections.abc import Generator
from pathlib import Path

import pytest

from eyechart.models.runtime import tracing

from .cases import get_case
from .workers import is_worker, worker_name

PROFILE_FILE, PARTS = "profile.json", "profile"


class Profile:
    """Records the spans of this process; the controller unites those of all workers at the end of the session."""

    def __init__(self, config: pytest.Config, folder: Path) -> None:
        self.config, self.folder = config, folder
        self.name = worker_name(config) or "pytest"
        self.trace = tracing.start(self.name)
        self.lines: list[str] = []

    @pytest.hookimpl(wrapper=True)
    def pytest_collection(self) -> Generator[None, object, object]:
        """Record the time of the collection."""
        with tracing.span("collect"):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Record the time of a case."""
        case = get_case(item)
        with tracing.span("case" if case else "test", name=str(case or item.nodeid)):
            return (yield)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_sessionfinish(self) -> Generator[None, object, object]:
        """Write the trace after the gate and before the summary: a worker its part, the controller the whole."""
        with tracing.span("end of the session"):
            outcome = yield
        tracing.stop()
        parts = self.folder / PARTS
        try:
            parts.mkdir(parents=True, exist_ok=True)
            self.trace.write(parts / f"{self.name}.json")
            if not is_worker(self.config):
                self.unite(parts)
        except OSError as error:
            self.lines = [f"--eye-profile: {self.folder} cannot be written: {error.strerror or error}."]
        return outcome

    def unite(self, parts: Path) -> None:
        """Write one trace from those of all processes, and delete these."""
        events = []
        for path in sorted(parts.iterdir()):
            events += tracing.read_events(path)
            path.unlink()
        parts.rmdir()
        tracing.write_events(self.folder / PROFILE_FILE, events)
        times = ", ".join(f"{seconds:.1f} s {name}" for name, seconds in tracing.own_seconds(events).items())
        self.lines = [
            f"profile: {self.folder / PROFILE_FILE} (open it at https://ui.perfetto.dev)",
            f"time in all processes and threads: {times}",
        ]

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print where the trace is, and the sums of its times."""
        for line in self.lines:
            terminalreporter.write_line(line)

"""The interface of an experiment tracker."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

Value = str | int | float | None  # of a setting, or a cell of a table


@dataclass(frozen=True)
class TrackerRun:
    """What identifies a run of a tracker: its project, its group (a session of eyechart), its name and its settings."""

    project: str
    group: str
    name: str
    config: Mapping[str, Value]


class Tracker(Protocol):
    """One run of a tracker: `start`, then `log_metrics`, `log_table` and `log_files`, then `end`.

    The variables of the tracker's own client say where it sends and stores. A client is imported by `start`.
    """

    def check(self) -> None:
        """Raise SpecError if the environment names a server, for a session without it."""

    def start(self, run: TrackerRun, *, offline: bool) -> None:
        """Start the run; with `offline`, without a connection, or raise SpecError."""

    def log_metrics(self, metrics: Mapping[str, float]) -> None:
        """Log the metrics of a case by their names."""

    def log_table(self, name: str, rows: Sequence[Mapping[str, Value]]) -> None:
        """Log a table, one mapping for each row, all with the same keys."""

    def log_files(self, paths: Sequence[Path]) -> None:
        """Log files."""

    def end(self) -> str:
        """End the run, when all is sent, and return where it is: an address, a folder or a command."""

"""Runs in Trackio: in a local database, or where TRACKIO_SPACE_ID or TRACKIO_SERVER_URL says."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from eyechart.errors import SpecError
from eyechart.tracking.tracker import TrackerRun, Value

REMOTE = ("TRACKIO_SPACE_ID", "TRACKIO_SERVER_URL")


class TrackioTracker:
    """A run of trackio."""

    def __init__(self) -> None:
        self.run: Any = None
        self.project = ""

    def check(self) -> None:
        """Raise SpecError if the environment names a Space or a server."""
        for name in REMOTE:
            if os.environ.get(name):
                raise SpecError(
                    f"trackio logs to the network, as {name} says, and this session is offline. Unset {name}, or leave "
                    "the offline option out."
                )

    def start(self, run: TrackerRun, *, offline: bool) -> None:
        """Start a run, without measurements of this machine."""
        if offline:
            self.check()
        import trackio

        self.project = run.project
        self.run = trackio.init(
            project=run.project,
            name=run.name,
            group=run.group,
            config=dict(run.config),
            embed=False,
            auto_log_gpu=False,
            auto_log_cpu=False,
        )

    def log_metrics(self, metrics: Mapping[str, float]) -> None:
        """Log the metrics of a case."""
        self.run.log(dict(metrics))

    def log_table(self, name: str, rows: Sequence[Mapping[str, Value]]) -> None:
        """Log a table."""
        import pandas as pd
        import trackio

        self.run.log({name: trackio.Table(dataframe=pd.DataFrame(rows))})

    def log_files(self, paths: Sequence[Path]) -> None:
        """Log files, each as an artifact."""
        for path in paths:
            self.run.log_artifact(path, type="eyechart-records")

    def end(self) -> str:
        """End the run, and return where the metrics are."""
        import trackio

        trackio.finish()  # of the run object alone would leave it to be ended again, when the process ends
        remote = next(filter(None, map(os.environ.get, REMOTE)), "")
        return remote or f"trackio show --project {self.project}"

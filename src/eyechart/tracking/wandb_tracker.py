"""Runs in Weights & Biases; under `offline` in its offline mode, to send with `wandb sync`."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from eyechart.tracking.tracker import TrackerRun, Value

MODE = "WANDB_MODE"
REPORTS = "WANDB_ERROR_REPORTING"


class WandbTracker:
    """A run of wandb: each case is one step, so that a chart of a metric compares the runs of a project."""

    def __init__(self) -> None:
        self.run: Any = None

    def check(self) -> None:
        """Do nothing: wandb has an offline mode."""

    def start(self, run: TrackerRun, *, offline: bool) -> None:
        """Start a run beside a run that this process may already have."""
        if offline:
            os.environ[REPORTS] = "false"
        import wandb

        self.run = wandb.init(
            project=run.project,
            group=run.group,
            name=run.name,
            config=dict(run.config),
            job_type="evaluation",
            mode="offline" if offline and os.environ.get(MODE) != "disabled" else None,
            reinit="create_new",
            settings=wandb.Settings(console="off", silent=True, x_disable_stats=True),
        )

    def log_metrics(self, metrics: Mapping[str, float]) -> None:
        """Log the metrics of a case."""
        self.run.log(dict(metrics))

    def log_table(self, name: str, rows: Sequence[Mapping[str, Value]]) -> None:
        """Log a table."""
        import wandb

        self.run.log({name: wandb.Table(columns=[*rows[0]], data=[[*row.values()] for row in rows])})

    def log_files(self, paths: Sequence[Path]) -> None:
        """Log files as one artifact."""
        import wandb

        artifact = wandb.Artifact(f"run-{self.run.id}-records", type="eyechart-records")
        for path in paths:
            artifact.add_file(str(path))
        self.run.log_artifact(artifact)

    def end(self) -> str:
        """End the run, and return its address, or the command that sends it later."""
        offline, folder = self.run.offline, self.run.settings.sync_dir
        address = "" if offline else self.run.url
        self.run.finish()
        return f"wandb sync {folder}" if offline else str(address)

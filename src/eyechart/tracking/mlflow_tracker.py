"""Runs in MLflow: where MLFLOW_TRACKING_URI says."""

import os
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from eyechart.errors import SpecError
from eyechart.tracking.tracker import TrackerRun, Value

URI = "MLFLOW_TRACKING_URI"
LOCAL = ("", "file", "sqlite")
MAX_NAME, MAX_VALUE, BATCH = 250, 6000, 100  # of MLflow: characters of a key and of a setting, settings of a request


class MlflowTracker:
    """A run of MLflow, in the experiment of the project's name."""

    def __init__(self) -> None:
        self.client: Any = None
        self.id = self.experiment = ""

    def check(self) -> None:
        """Raise SpecError if the environment names a server."""
        _refuse_remote(os.environ.get(URI, ""))

    def start(self, run: TrackerRun, *, offline: bool) -> None:
        """Start a run; the experiment is made if it is missing."""
        if offline:
            os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"
        import mlflow
        from mlflow.entities import Param

        if offline:
            _refuse_remote(mlflow.get_tracking_uri())
        _prepare_local(mlflow.get_tracking_uri())
        self.client = mlflow.MlflowClient()
        experiment = self.client.get_experiment_by_name(run.project)
        self.experiment = experiment.experiment_id if experiment else self.client.create_experiment(run.project)
        tags = {"eyechart.evaluation.session": run.group}
        self.id = self.client.create_run(self.experiment, run_name=run.name, tags=tags).info.run_id
        names = _valid_names(run.config)
        settings = [Param(names[name], str(value)[:MAX_VALUE]) for name, value in run.config.items()]
        for start in range(0, len(settings), BATCH):
            self.client.log_batch(self.id, params=settings[start : start + BATCH])

    def log_metrics(self, metrics: Mapping[str, float]) -> None:
        """Log the metrics of a case, with names of the characters that MLflow takes."""
        from mlflow.entities import Metric

        now, names = int(1000 * time.time()), _valid_names(metrics)
        numbers = [Metric(names[name], value, now, 0) for name, value in metrics.items()]
        for start in range(0, len(numbers), BATCH):
            self.client.log_batch(self.id, metrics=numbers[start : start + BATCH])

    def log_table(self, name: str, rows: Sequence[Mapping[str, Value]]) -> None:
        """Log a table, as a JSON file that MLflow shows as a table."""
        columns = {column: [row[column] for row in rows] for column in rows[0]}
        self.client.log_table(self.id, columns, f"{name}.json")

    def log_files(self, paths: Sequence[Path]) -> None:
        """Log files."""
        for path in paths:
            self.client.log_artifact(self.id, str(path))

    def end(self) -> str:
        """End the run, and return the tracking URI and the id of the experiment."""
        self.client.set_terminated(self.id)
        return f"{self.client.tracking_uri}, experiment {self.experiment}"


def _refuse_remote(uri: str) -> None:
    """Raise SpecError for a tracking URI that is not a local folder or a file of SQLite."""
    if urlsplit(uri).scheme not in LOCAL or uri == "databricks":
        raise SpecError(
            f"mlflow logs to the network, as {URI} says, and this session is offline. Set it to a local folder or "
            "sqlite:///FILE, or leave the offline option out."
        )


def _prepare_local(uri: str) -> None:
    """Allow MLflow's store of files if the tracking URI is a folder; raise SpecError for a database without its driver.

    MLflow refuses a folder unless a variable allows it, since its store of files gets no new features.
    """
    scheme = urlsplit(uri).scheme
    if scheme in ("", "file"):
        os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")
    elif scheme == "sqlite" and (find_spec("alembic") is None or find_spec("sqlalchemy") is None):
        raise SpecError(
            f"mlflow logs to {uri}, but mlflow-skinny has no database. Set {URI} to a folder, or install the "
            "package mlflow itself."
        )


def _valid_names(names: Iterable[str]) -> dict[str, str]:
    """Return names of the characters that MLflow takes, by the original ones; no two are the same.

    >>> [*_valid_names(["pets/test/knn@k=5/acc1[ImGT, multi_label].low", "a,b", "a=b"]).values()]
    ['pets/test/knn k 5/acc1 ImGT multi_label.low', 'a b', 'a b 42144f39']
    """
    valid: dict[str, str] = {}
    for name in names:
        parts = re.sub(r"\s+(?=\.)", "", re.sub(r"[^\w./: -]+", " ", name)).split("/")
        words = "/".join(" ".join(part.split()) for part in parts if part.strip(" ."))  # MLflow takes a name for a path
        if not words or words in valid.values() or len(words) > MAX_NAME:
            digest = sha256(name.encode()).hexdigest()[:8]
            words = f"{words[: MAX_NAME - 9]} {digest}"
        valid[name] = words
    return valid

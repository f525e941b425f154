"""What trackers are tested with: places of their own, and readers of what they stored."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from eyechart.gate.verdicts.decide import Rule
from eyechart.gate.verdicts.verdict_file import SessionVerdicts
from eyechart.reports.comparison.run_comparison import compare_sides, match_runs
from eyechart.results.records import Record, read_run
from eyechart.tracking.log_runs import metric_name

HEADER, BLOCK, WHOLE, LAST = 7, 32768, 1, 4  # of the log format of LevelDB, in which wandb writes a run


@pytest.fixture(autouse=True)
def locations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to run in, where every client stores, whatever the environment of the tests says."""
    folder = tmp_path / "tracked"
    folder.mkdir()
    monkeypatch.chdir(folder)
    for name in ("WANDB_MODE", "WANDB_PROJECT", "TRACKIO_SPACE_ID", "TRACKIO_SERVER_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("WANDB_DIR", str(folder))
    monkeypatch.setenv("WANDB_ERROR_REPORTING", "false")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", str(folder / "mlruns"))
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # the extra has no database
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    return folder


def wandb_records(path: Path) -> Iterator[Any]:
    """The records of a run that wandb wrote offline, or has written so far."""
    from wandb.proto.wandb_internal_pb2 import Record

    data, index, parts = path.read_bytes(), HEADER, b""
    while index + HEADER <= len(data):
        if (left := BLOCK - index % BLOCK) < HEADER:
            index += left
            continue
        size, kind = int.from_bytes(data[index + 4 : index + 6], "little"), data[index + 6]
        parts += data[index + HEADER : index + HEADER + size]
        if (index := index + HEADER + size) > len(data):
            return  # the rest is not written yet
        if kind in (WHOLE, LAST):
            yield Record.FromString(parts)
            parts = b""


@pytest.fixture(scope="session")
def read_wandb() -> Any:
    """Read the records of a run that wandb wrote offline, when its process has written them all."""

    def read(path: Path) -> list[Any]:
        for _ in range(600):
            records = [*wandb_records(path)]
            if any(record.HasField("exit") for record in records):
                return records
            time.sleep(0.1)
        raise AssertionError(f"{path} was not finished")

    return read


Numbers = dict[str, dict[str, float]]  # by model and name


def numbers_of(record: Record) -> Iterator[tuple[str, float]]:
    """What a tracker must have of a case."""
    for metric in record.metrics:
        if metric.value is not None:
            name = metric_name(record, metric)
            yield from ((name, metric.value), (f"{name}.n", metric.n))
            for end, value in zip(("low", "high"), metric.ci or (), strict=False):
                yield f"{name}.{end}", value


@pytest.fixture
def numbers(run_folder: Path) -> Numbers:
    """The numbers of each model of the run."""
    models: Numbers = {}
    for record in read_run(run_folder).records:
        of_case = dict(numbers_of(record))
        assert len(of_case) > 10
        models.setdefault(record.model.title, {}).update(of_case)
    assert len(models) == 3
    return models


@pytest.fixture
def verdicts(run_folder: Path) -> SessionVerdicts:
    """The verdicts of a comparison of the run with itself."""
    rule = Rule(0.01, 0, None)
    return compare_sides(match_runs([run_folder, run_folder]), rule).session.summarise(0)

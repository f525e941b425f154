"""The real clients of trackers, offline: what they store is what the records have."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from eyechart.gate.verdicts.decide import Rule
from eyechart.gate.verdicts.verdict_file import SessionVerdicts
from eyechart.reports.comparison.run_comparison import compare_sides, match_runs
from eyechart.results.records import Record, read_run
from eyechart.tracking.log_runs import metric_name, track_run
from eyechart.tracking.mlflow_tracker import _valid_names
from eyechart.tracking.targets import parse_targets

pytestmark = pytest.mark.deep

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


def log(run: Path, name: str, verdicts: SessionVerdicts) -> str:
    (result,) = track_run(run, parse_targets([f"{name}:eyes"]), offline=True, verdicts=verdicts)
    assert not result.failed, result.text
    return result.text


def test_wandb_stores_each_model_as_a_run_of_the_session(
    run_folder: Path,
    locations: Path,
    numbers: Numbers,
    verdicts: SessionVerdicts,
    read_wandb: Callable[[Path], list[Any]],
) -> None:
    assert log(run_folder, "wandb", verdicts).count("wandb sync ") == 3
    runs = {}
    for path in locations.glob("wandb/offline-run-*/*.wandb"):
        records = read_wandb(path)
        run = next(record.run for record in records if record.HasField("run"))
        assert (run.project, run.run_group, run.job_type) == ("eyes", run_folder.name, "evaluation")
        config = {item.key: json.loads(item.value_json) for item in run.config.update}
        assert config["weights_sha256"] == "0" * 64
        assert config["gate.verdict"] in {verdict.verdict for verdict in verdicts.models}
        items = [item for record in records if record.HasField("history") for item in record.history.item]
        values = {item.key or "/".join(item.nested_key): json.loads(item.value_json) for item in items}
        table = json.loads((path.parent / "files" / values["gate_verdicts/path"]).read_bytes())
        assert {row[0].rpartition("/")[2] for row in table["data"]} == {run.display_name}
        artifacts = [record.artifact for record in records if record.HasField("artifact")]
        assert [
            artifact.manifest.contents[0].path for artifact in artifacts if artifact.type == "eyechart-records"
        ] == ["records.json"]
        runs[run.display_name] = {name: value for name, value in values.items() if "[" in name}
    assert runs == numbers


def test_mlflow_stores_each_model_as_a_run_of_the_experiment(
    run_folder: Path, numbers: Numbers, verdicts: SessionVerdicts
) -> None:
    from mlflow import MlflowClient

    assert "/mlruns, experiment " in log(run_folder, "mlflow", verdicts)
    client = MlflowClient()
    experiment = client.get_experiment_by_name("eyes")
    assert experiment is not None
    runs = client.search_runs([experiment.experiment_id])
    for run in runs:
        assert run.info.status == "FINISHED"
        assert run.data.tags["eyechart.evaluation.session"] == run_folder.name
        assert run.data.params["weights_sha256"] == "0" * 64
        files = [file.path for file in client.list_artifacts(run.info.run_id)]
        assert files == ["gate_verdicts.json", "records.json"]
        table = client.load_table(experiment.experiment_id, "gate_verdicts.json", [run.info.run_id])
        assert [*table["verdict"]]
    stored = {run.info.run_name: run.data.metrics for run in runs}
    assert stored == {
        title: {_valid_names(of_model)[name]: value for name, value in of_model.items()}
        for title, of_model in numbers.items()
    }


def test_a_second_session_is_in_the_same_experiment(run_folder: Path, verdicts: SessionVerdicts) -> None:
    from mlflow import MlflowClient

    texts = [log(run_folder, "mlflow", verdicts) for _ in range(2)]
    (experiment,) = [found for found in MlflowClient().search_experiments() if found.name == "eyes"]
    assert all(f"experiment {experiment.experiment_id}" in text for text in texts)
    assert len(MlflowClient().search_runs([experiment.experiment_id])) == 6


TRACKIO = """
import json, sys
from pathlib import Path
import trackio
from trackio.sqlite_storage import SQLiteStorage
from eyechart.cli import main

assert main(["track", sys.argv[1], "--to=trackio:eyes", "--offline"]) == 0
runs = {}
for run in trackio.Api().runs("eyes"):
    logs = {name: value for line in SQLiteStorage.get_logs("eyes", run.name) for name, value in line.items()}
    runs[run.name] = {"config": run.config, "logs": logs}
Path(sys.argv[2]).write_text(json.dumps(runs))
"""


@pytest.fixture(scope="module")
def trackio_folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Trackio in a folder of its own, with its own Pillow: it refuses Pillow 13, which vLLM requires."""
    if find_spec("trackio"):
        return ""
    folder = tmp_path_factory.mktemp("trackio")
    constraint = folder / "constraint.txt"
    constraint.write_text(f"numpy=={version('numpy')}\n", encoding="utf-8")  # which scipy here was built for
    command = [sys.executable, "-m", "pip", "install", "--no-compile", "--target", str(folder)]
    command += ["--constraint", str(constraint)]
    done = subprocess.run([*command, "trackio"], capture_output=True, text=True, timeout=300, check=False)
    if done.returncode:
        pytest.skip(f"trackio cannot be installed: {done.stderr.strip()[-300:]}")
    return str(folder)


def test_trackio_stores_each_model_as_a_run_of_the_project(
    run_folder: Path, locations: Path, numbers: Numbers, trackio_folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a process of its own, since trackio reads its folder once."""
    monkeypatch.setenv("TRACKIO_DIR", str(locations / "trackio"))
    monkeypatch.setenv("PYTHONPATH", trackio_folder, prepend=os.pathsep)
    command = [sys.executable, "-c", TRACKIO, str(run_folder), str(locations / "read.json")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "trackio:eyes has 3 models: trackio show --project eyes" in done.stdout
    runs = json.loads((locations / "read.json").read_bytes())
    assert {run["config"]["_Group"] for run in runs.values()} == {run_folder.name}
    assert {run["config"]["weights_sha256"] for run in runs.values()} == {"0" * 64}
    stored = {title: {name: value for name, value in run["logs"].items() if "[" in name} for title, run in runs.items()}
    assert stored == numbers
    (blob,) = [path for path in (locations / "trackio" / "artifacts").rglob("*") if path.is_file()]
    assert blob.read_bytes() == (run_folder / "records.json").read_bytes()

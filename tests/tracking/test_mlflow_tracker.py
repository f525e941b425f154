"""Tests of `eyechart.tracking.mlflow_tracker`."""

import os
from pathlib import Path

import pytest

from eyechart.errors import SpecError
from eyechart.gate.verdicts.verdict_file import SessionVerdicts
from eyechart.tracking.log_runs import track_run
from eyechart.tracking.mlflow_tracker import MAX_NAME, _prepare_local, _valid_names
from eyechart.tracking.targets import parse_targets

pytestmark = pytest.mark.deep
Numbers = dict[str, dict[str, float]]  # by model and name


def log(run: Path, name: str, verdicts: SessionVerdicts) -> str:
    (result,) = track_run(run, parse_targets([f"{name}:eyes"]), offline=True, verdicts=verdicts)
    assert not result.failed, result.text
    return result.text


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


def test_names_of_mlflow_are_valid_short_and_different() -> None:
    names = [
        "a[b]",
        "a(b)",
        "x" * 300,
        "x" * 301,
        "tests/a.py::test/acc1[ImGT,unanswerable/naive/01]",
        "/[a",
        "A∪B",
        "..",
        "a/../b//c",
    ]
    valid = _valid_names(names)
    assert len({*valid.values()}) == len(names)
    assert max(map(len, valid.values())) <= MAX_NAME
    from mlflow.utils.validation import _validate_metric_name

    for name in valid.values():
        _validate_metric_name(name)


def test_a_folder_of_mlflow_is_allowed_and_a_database_without_driver_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("MLFLOW_ALLOW_FILE_STORE", raising=False)
    _prepare_local(str(tmp_path / "mlruns"))
    assert os.environ.pop("MLFLOW_ALLOW_FILE_STORE") == "true"
    with pytest.raises(SpecError, match=r"mlflow-skinny has no database\. Set MLFLOW_TRACKING_URI to a folder"):
        _prepare_local("sqlite:///mlflow.db")

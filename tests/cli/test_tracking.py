"""`eyechart track`: its exit status, and one sentence for what cannot be tracked."""

from pathlib import Path

import pytest

from eyechart.cli import main

pytestmark = pytest.mark.deep  # they need the clients


def test_the_command_ends_with_1(
    run_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mlruns").write_text("no folder", encoding="utf-8")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", str(tmp_path / "mlruns"))
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    assert main(["track", run_folder, "--to=mlflow"]) == 1
    said = capsys.readouterr()
    assert said.err.startswith("eyechart: mlflow has 0 of 3 models: ")
    assert said.out == ""


def test_the_command_refuses_what_is_no_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["track", tmp_path, "--to=wandb"]) == 2
    assert "No run can be read at" in capsys.readouterr().err

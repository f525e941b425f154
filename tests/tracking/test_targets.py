"""Trackers by name, and what is refused before any model is asked."""

import sys
from pathlib import Path

import pytest

from eyechart.errors import SpecError
from eyechart.tracking.targets import check_targets, parse_targets

pytestmark = pytest.mark.deep  # they need the clients


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("wandbb", "'wandbb' is not a tracker; did you mean wandb? Trackers are mlflow, trackio, wandb."),
        ("", "'' is not a tracker. Trackers are mlflow, trackio, wandb."),
        ("wandb,", "'' is not a tracker. Trackers are mlflow, trackio, wandb."),
        (
            "mlflow:",
            "'mlflow:' has no project after the colon. Expected NAME or NAME:PROJECT, such as mlflow:pets.",
        ),
    ],
)
def test_a_wrong_name_is_refused(text: str, message: str) -> None:
    with pytest.raises(SpecError) as refused:
        parse_targets([text])
    assert str(refused.value) == message


def test_a_client_that_is_not_installed_is_refused_even_beside_a_folder_of_its_name(
    locations: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (locations / "wandb").mkdir()
    monkeypatch.delitem(sys.modules, "wandb", raising=False)
    monkeypatch.setattr(sys, "path", [str(locations)])
    with pytest.raises(SpecError, match=r"not installed. Install it with: pip install 'eyechart\[wandb\]'"):
        check_targets(parse_targets(["wandb"]), offline=False)


@pytest.mark.parametrize("uri", ["https://me:secret@host", "databricks", "databricks://me", "postgresql://host/db"])
def test_a_remote_mlflow_is_refused_offline(uri: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    check_targets(parse_targets(["mlflow"]), offline=False)
    with pytest.raises(SpecError, match=r"^mlflow logs to the network, as MLFLOW_TRACKING_URI says") as refused:
        check_targets(parse_targets(["mlflow"]), offline=True)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("uri", ["", "mlruns", "/tmp/x", "file:///tmp/x", "sqlite:///mlflow.db"])
def test_a_local_mlflow_is_accepted_offline(uri: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    check_targets(parse_targets(["mlflow"]), offline=True)

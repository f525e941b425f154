"""Tests of `eyechart.tracking.wandb_tracker`."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eyechart.gate.verdicts.verdict_file import SessionVerdicts
from eyechart.tracking.log_runs import track_run
from eyechart.tracking.targets import parse_targets

pytestmark = pytest.mark.deep
Numbers = dict[str, dict[str, float]]  # by model and name


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

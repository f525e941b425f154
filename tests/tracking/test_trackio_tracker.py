"""Tests of `eyechart.tracking.trackio_tracker`."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from eyechart.errors import SpecError

pytestmark = pytest.mark.deep
Numbers = dict[str, dict[str, float]]  # by model and name
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

    def install(*arguments: str) -> None:
        command = [sys.executable, "-m", "pip", "install", "--quiet", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        if done.returncode:
            pytest.skip(f"trackio cannot be installed: {done.stderr.strip()[-300:]}")

    folder = tmp_path_factory.mktemp("trackio")
    report = folder / "report.json"
    install("--dry-run", "--report", str(report), "trackio")  # says what is missing here
    missing = [each["metadata"] for each in json.loads(report.read_bytes())["install"]]
    pins = [f"{package['name']}=={package['version']}" for package in missing]
    install("--no-compile", "--no-deps", "--target", str(folder), *pins)
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


def test_a_remote_trackio_is_refused_offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACKIO_SPACE_ID", "me/space")
    from eyechart.tracking.trackio_tracker import TrackioTracker

    with pytest.raises(SpecError, match=r"^trackio logs to the network, as TRACKIO_SPACE_ID says"):
        TrackioTracker().check()

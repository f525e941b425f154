"""`--eye-track` of a session: after the gate, on the controller, without an effect on the exit status."""

import json
from typing import Any

import pytest

from eyechart.plugins.tracking import read_trackers
from eyechart.tracking.log_runs import COLUMNS

pytestmark = pytest.mark.deep

REFUSED = """
import socket

def refusing(connect):
    def refuse(self, address):
        if self.family == getattr(socket, "AF_UNIX", None):
            return connect(self, address)
        open("connected", "a").write(f"{address}\\n")
        raise OSError(f"a connection to {address} was tried")
    return refuse

for name in ("connect", "connect_ex"):
    setattr(socket.socket, name, refusing(getattr(socket.socket, name)))
"""


@pytest.fixture
def tracked(world: Any) -> Any:
    """A folder to run in, with a store of MLflow in it."""
    world.environment = {
        "MLFLOW_TRACKING_URI": str(world.folder / "mlruns"),
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "WANDB_ERROR_REPORTING": "false",
    }
    return world


def runs_of(world: Any, monkeypatch: pytest.MonkeyPatch, project: str = "eyechart") -> dict[str, Any]:
    """The runs of an experiment by name."""
    from mlflow import MlflowClient

    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    client = MlflowClient(str(world.folder / "mlruns"))
    experiment = client.get_experiment_by_name(project)
    assert experiment is not None
    runs = client.search_runs([experiment.experiment_id])
    assert len({run.info.run_name for run in runs}) == len(runs)
    return {str(run.info.run_name): run for run in runs}


def test_each_model_of_a_session_is_a_run_and_offline_no_connection_is_opened(
    tracked: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = tracked.passes("--eye-track=mlflow:pets,wandb", "--eye-offline", "-n2", tracked.plugin(REFUSED))
    result.stdout.fnmatch_lines(["tracked: wandb has 2 models: wandb sync *"])
    assert not (tracked.folder / "connected").exists()
    result.stdout.fnmatch_lines(["tracked: mlflow:pets has 2 models: *mlruns, experiment *"])
    runs = runs_of(tracked, monkeypatch, "pets")
    assert {*runs} == {"tiny[]", "tinyclass[]"}
    for record in tracked.records:
        run = runs[record["model"]["spec"]]
        assert run.data.tags["eyechart.evaluation.session"] == tracked.latest.resolve().name
        (accuracy,) = [m for m in record["metrics"] if (m["name"], m["subset"], m["labels"]) == ("acc1", "all", "ImGT")]
        name = f"{record['benchmark']}/{record['split']}/{record['protocol']}/acc1 ImGT"
        assert run.data.metrics[name] == accuracy["value"]
        assert run.data.metrics[f"{name}.n"] == accuracy["n"]
        assert [run.data.metrics[f"{name}.{end}"] for end in ("low", "high")] == accuracy["ci"]


def test_the_verdicts_of_a_failed_gate_are_logged_and_the_status_stays(
    gated: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = gated.world
    world.environment = {"MLFLOW_TRACKING_URI": str(world.folder / "mlruns")}
    gated.answer()
    gated.ran("--eye-baseline=kept", "--eye-update-baseline")
    gated.answer(wrong=18)
    gated.ran("--eye-baseline=kept", "--eye-track=mlflow", code=10)
    (run,) = runs_of(world, monkeypatch).values()
    assert run.data.params["gate.verdict"] == "regression"
    (path,) = world.folder.glob("mlruns/**/gate_verdicts.json")
    table = json.loads(path.read_bytes())
    assert table["columns"] == [*COLUMNS]
    assert "regression" in {row[-1] for row in table["data"]}


def test_a_failing_tracker_is_a_warning(tracked: Any) -> None:
    (tracked.folder / "mlruns").write_text("not a folder")
    result = tracked.passes("--eye-track=mlflow", "-W", "error::DeprecationWarning")
    result.stdout.fnmatch_lines(["WARNING: --eye-track: mlflow has 0 of 2 models: *eyechart track *--to=mlflow"])
    assert len(tracked.records) == 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--eye-track=wanbd",), "*--eye-track: 'wanbd' is not a tracker; did you mean wandb?*"),
        (("--eye-track=mlflow", "--eye-offline"), "*--eye-track: mlflow logs to the network*"),
        (("--eye-track=mlflow", "--eye-answer"), "*--eye-answer only stores answers. Leave out --eye-track."),
    ],
)
def test_what_cannot_be_tracked_is_refused_at_once(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], message: str
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "https://tracker.invalid")
    result = pytester.runpytest_inprocess("--pyargs", "eyechart.benchmarks", *arguments)
    assert result.ret == 4
    result.stderr.fnmatch_lines([message])


def test_a_tracker_of_the_ini_file_has_no_effect_on_answers_alone(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\neye_track =\n    mlflow\n")
    assert [str(target) for target in read_trackers(pytester.parseconfig())] == ["mlflow"]
    assert read_trackers(pytester.parseconfig("--eye-answer")) == ()


def test_an_interrupted_session_names_the_command(tracked: Any) -> None:
    code = "def pytest_runtest_teardown(item):\n    raise KeyboardInterrupt\n"
    result = tracked.run("--eye-track=mlflow", tracked.plugin(code))
    assert result.ret == 2
    result.stdout.fnmatch_lines(["WARNING: --eye-track: the session did not finish. *eyechart track *--to=mlflow"])
    assert not (tracked.folder / "mlruns").exists()

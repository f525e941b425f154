"""The recipes of examples/cluster: valid for the tools that read them, and the one for Slurm runs on this machine."""

import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
from copy import deepcopy
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import jsonschema
import psutil
import pytest
import yaml

from eyechart.plugins.options import OPTIONS

ROOT = Path(__file__).resolve().parents[3]
RECIPES = ROOT / "examples" / "cluster"
SCHEMA = json.loads((ROOT / "tests/vendor/kuberay-rayjob.json").read_bytes())
BIN = Path(sys.executable).parent
OWN_CLUSTER = """
from functools import lru_cache
from ray._private import services
from ray.scripts.scripts import main
services.find_gcs_addresses = lru_cache(frozenset)  # otherwise a cluster of another test is found, and refused
main()
"""


def read(name: str) -> Any:
    return yaml.safe_load((RECIPES / name).read_text(encoding="utf-8"))


def test_the_job_is_valid_for_kuberay() -> None:
    jsonschema.validate(read("rayjob.yaml"), SCHEMA)


@pytest.mark.parametrize(
    ("location", "name", "value"),
    [
        (("spec",), "shutdownAfterJobFinish", True),
        (("spec",), "backoffLimit", "3"),
        (("spec", "rayClusterSpec", "workerGroupSpecs", 0), "maxReplica", 3),
        (("spec", "rayClusterSpec", "headGroupSpec", "rayStartParams"), "num-cpus", 0),
    ],
)
def test_a_wrong_field_of_a_job_is_noticed(location: tuple[Any, ...], name: str, value: object) -> None:
    job = deepcopy(read("rayjob.yaml"))
    part = job
    for step in location:
        part = part[step]
    part[name] = value
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(job, SCHEMA)


def test_the_autoscaler_file_is_valid_for_ray() -> None:
    """Ray fills in its defaults and checks the rest."""
    from ray.autoscaler._private.util import prepare_config, validate_config

    prepared = prepare_config(read("autoscaler.yaml"))
    validate_config(prepared)
    starts = [*prepared["head_start_ray_commands"], *prepared["worker_start_ray_commands"]]
    assert {"RAY_USAGE_STATS_ENABLED=0" in command for command in starts if "ray start" in command} == {True}
    wrong = read("autoscaler.yaml") | {"max_worker": 3}
    with pytest.raises(jsonschema.ValidationError):
        validate_config(prepare_config(wrong))


@pytest.mark.parametrize("name", ["slurm.sh", "rayjob.yaml", "autoscaler.yaml"])
def test_every_option_is_known(name: str) -> None:
    used = {*re.findall(r"--eye-[a-z-]+", (RECIPES / name).read_text(encoding="utf-8"))}
    assert "--eye-ray" in used
    assert used <= {option.flag_name for option in OPTIONS}


def run_slurm_script(world: Any, start: str) -> subprocess.CompletedProcess[str]:
    """Run the script on this machine.

    srun runs its command once; `start` is the shell command for `ray`, and `ray stop` does nothing.
    """
    tools = world.folder / "bin"
    tools.mkdir()
    stand_ins = {
        "scontrol": "echo 127.0.0.1",
        "srun": 'exec "$@"',
        "ray": f'test "$1" = stop || {start}',
    }
    for name, body in stand_ins.items():
        (tools / name).write_text(f"#!/bin/sh\n{body}\n")
        (tools / name).chmod(0o755)
    with socket.socket() as socket_:
        socket_.bind(("127.0.0.1", 0))
        port = socket_.getsockname()[1]
    bash = shutil.which("bash")
    assert bash
    with TemporaryDirectory(dir="/tmp") as short:  # sockets have short paths
        job = {"SLURM_JOB_NODELIST": "node1", "SLURM_NNODES": "1", "RAY_PORT": str(port), "RAY_TMPDIR": short}
        own = {"DATA": str(world.data), "MODEL": "tinyclass[]", "STORE": str(world.folder / ".eyechart" / "store")}
        paths = {"PATH": os.pathsep.join([str(tools), str(BIN), os.environ["PATH"]]), "CUDA_VISIBLE_DEVICES": ""}
        environment = world.surroundings | job | own | paths | {"CASES": "imagenet/tiny/"}
        command = [bash, str(RECIPES / "slurm.sh")]
        try:
            return subprocess.run(
                command, cwd=world.folder, env=environment, capture_output=True, text=True, timeout=400, check=False
            )
        finally:
            for process in psutil.process_iter(["cmdline"]):
                if short in " ".join(process.info["cmdline"] or ()):
                    process.kill()


OWN_RAY = f'exec {shlex.quote(sys.executable)} -c {shlex.quote(OWN_CLUSTER)} "$@"'


@pytest.mark.deep
def test_the_slurm_script_answers_on_one_node(world: Any) -> None:
    """Ray neither sees nor stops the clusters of other tests."""
    world.warm = ()
    done = run_slurm_script(world, OWN_RAY)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 case answered in the store" in done.stdout
    assert world.asked == 18


@pytest.mark.deep
def test_a_slurm_job_fails_if_ray_does_not_start(world: Any) -> None:
    done = run_slurm_script(world, f'if test "$1" = start; then echo no port >&2; exit 1; else {OWN_RAY}; fi')
    assert done.returncode == 1
    assert "no port" in done.stderr
    assert "Ray did not run the command" in done.stderr

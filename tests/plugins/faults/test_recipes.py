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
from ray._private import services
from ray.scripts.scripts import main
services.find_gcs_addresses = frozenset  # symmetric-run refuses a machine that has a cluster, also one of another test
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


@pytest.mark.deep
def test_the_slurm_script_answers_on_one_node(world: Any) -> None:
    """srun runs its command once; Ray neither sees nor stops the clusters of other tests."""
    world.warm = ()
    tools = world.folder / "bin"
    tools.mkdir()
    stand_ins = {
        "scontrol": "echo 127.0.0.1",
        "srun": 'exec "$@"',
        "ray": f'test "$1" = stop || exec {shlex.quote(sys.executable)} -c {shlex.quote(OWN_CLUSTER)} "$@"',
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
        try:
            done = subprocess.run(
                [bash, str(RECIPES / "slurm.sh")], cwd=world.folder, env=environment, capture_output=True, text=True,
                timeout=400, check=False,
            )  # fmt: skip
        finally:
            for process in psutil.process_iter(["cmdline"]):
                if short in " ".join(process.info["cmdline"] or ()):
                    process.kill()
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 case answered in the store" in done.stdout
    assert world.asked == 18

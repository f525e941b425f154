"""Answers from a Ray cluster of two nodes: the store is that of a run without Ray, whatever dies meanwhile."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from runpy import run_path
from typing import Any

import pytest
from PIL import Image

TINY = run_path(str(Path(__file__).parents[1] / "site" / "tinyeyes.py"))
pytestmark = pytest.mark.slow

CLUSTER = """
import sys
from ray.cluster_utils import Cluster
memory = 100 * 1024**2
head = {"num_cpus": 0, "object_store_memory": memory, "include_dashboard": False}
cluster = Cluster(initialize_head=True, head_node_args=head)
nodes = [cluster.add_node(num_cpus=2, object_store_memory=memory) for _ in range(2)]
print(cluster.address, flush=True)
for line in sys.stdin:
    pass
cluster.shutdown()
"""
QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0", "CUDA_VISIBLE_DEVICES": ""}
PICTURES = 24  # of both small splits
MODELS = """
import os
import signal

from tinyeyes import TinyClass

class Poison(TinyClass):
    # ends its process whenever it sees one picture
    def see(self, images):
        if any(abs(image).sum() == SUM for image in images):
            os.kill(os.getpid(), signal.SIGKILL)
        return super().see(images)

class Other(TinyClass):
    # is another model in each process
    def __init__(self, spec, *, device, offline):
        super().__init__(spec, device=device, offline=offline)
        self.seed = os.getpid()
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    """A head without processors and two nodes, on this machine; its address."""
    environment = os.environ | QUIET | {"PYTHONPATH": ""}
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", CLUSTER], env=environment, **pipes) as process:
        assert process.stdout
        assert process.stdin
        yield process.stdout.readline().strip()
        process.stdin.close()
        process.wait(60)


@pytest.fixture(params=["processes", "ray"])
def distributed(world: Any, request: pytest.FixtureRequest) -> Any:
    """A folder to run in, and the options for two processes of each model, here or on the cluster."""
    world.warm = ()  # processes are started from the interpreter of the run
    if request.param == "ray":
        world.options = [f"--eye-ray={request.getfixturevalue('cluster')}", "--eye-ray-actors=2"]
    else:
        world.options = ["--eye-devices=2"]
    return world


def test_the_store_is_that_of_a_run_in_one_process(distributed: Any, serial: Any) -> None:
    """Two processes answer for each model, and the next run in one process finds all answers."""
    distributed.passes(*distributed.options)
    assert distributed.store == serial.store
    assert {record["loads"] for record in distributed.session["records"]} <= {0, 1, 2}
    before = distributed.asked
    distributed.passes()
    assert distributed.asked == before == PICTURES * len(distributed.models)


def test_a_process_that_dies_is_started_again_and_no_answer_is_lost(distributed: Any, serial: Any) -> None:
    """A process is killed in its second batch; at most the two leases that it had are asked twice."""
    distributed.order("tinyclass", 2, "die")
    distributed.passes(*distributed.options)
    assert distributed.store == serial.store
    batch = 4
    assert PICTURES * 2 < distributed.asked + batch <= PICTURES * 2 + 3 * batch


def test_a_picture_that_no_process_survives_is_an_error(distributed: Any) -> None:
    """All other pictures are answered."""
    picture = sorted((distributed.data / "imagenet" / "tiny").rglob("*.jpg"))[0]
    pixels = TINY["TinyClass"].prepare(None, Image.open(picture).convert("RGB"))
    (distributed.folder / "mine.py").write_text(MODELS.replace("SUM", repr(float(abs(pixels).sum()))))
    distributed.models = ("mine:Poison[batch_size=4]",)
    distributed.call(*distributed.usual, *distributed.options, "-k", "imagenet/tiny/")
    (record,) = distributed.records
    assert (record["outcomes"]["error"], record["data"]["n"]) == (1, 18)
    said = (distributed.latest / record["predictions"]["path"]).read_text()
    assert "The process of the model was lost several times" in said


def test_a_process_with_another_model_is_refused(distributed: Any) -> None:
    """The message names the node and what differs."""
    (distributed.folder / "mine.py").write_text(MODELS)
    distributed.models = ("mine:Other[]",)
    result = distributed.call(*distributed.usual, *distributed.options, "-k", "imagenet/tiny/")
    said = result.stdout.str()
    assert result.ret
    assert "Traceback" not in said
    assert "of this " in said
    assert ": weights_sha256 is" in said


def test_an_address_without_a_cluster_is_refused(world: Any) -> None:
    """A sentence, and no wait."""
    world.warm = ()
    said = world.call(*world.usual, "--eye-ray=127.0.0.1:1", "-k", "imagenet/tiny/").stdout.str()
    assert "--eye-ray=127.0.0.1:1: there is no Ray cluster" in said
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--eye-ray-actors=2",), "Name one with --eye-ray"),
        (("--eye-ray=auto", "--eye-ray-actors=none"), "--eye-ray-actors must be a whole number from 1 up"),
        (("--eye-ray=auto", "-n2"), "Leave out -n of pytest-xdist"),
    ],
)
def test_options_that_cannot_be_used_are_refused(world: Any, options: tuple[str, ...], said: str) -> None:
    """Before any case."""
    result = world.run(*options)
    assert result.ret == 4
    assert said in result.stdout.str() + result.stderr.str()

"""A node or the command is killed while a Ray cluster answers: nothing stored is lost, and little is asked twice."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random
from typing import Any

import pytest

pytestmark = pytest.mark.slow

CLUSTER = """
import sys
from ray.cluster_utils import Cluster
memory = 100 * 1024**2
cluster = Cluster(initialize_head=True, head_node_args={
    "num_cpus": 0, "object_store_memory": memory, "include_dashboard": False})
nodes = [cluster.add_node(object_store_memory=memory, num_cpus=2) for _ in range(2)]
print(cluster.address, flush=True)
for line in sys.stdin:
    cluster.remove_node(nodes.pop(), allow_graceful=False)
    print("removed", flush=True)
cluster.shutdown()
"""
QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0", "CUDA_VISIBLE_DEVICES": ""}
SLOW = """
import time
from tinyeyes import TinyClass

class Slow(TinyClass):
    # takes a while for each picture
    def see(self, images):
        time.sleep(0.2)
        return super().see(images)
"""
PICTURES = 24
IN_FLIGHT = 2  # leases of a process
KILLS = 4


@contextmanager
def start_cluster() -> Iterator[tuple[str, Callable[[], None]]]:
    """Start a cluster of two nodes; yield its address and a function that kills a node with its processes."""
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    environment = os.environ | QUIET | {"PYTHONPATH": ""}
    with subprocess.Popen([sys.executable, "-c", CLUSTER], env=environment, **pipes) as process:
        assert process.stdin
        assert process.stdout

        def remove_node() -> None:
            process.stdin.write("remove\n")  # type: ignore[union-attr]
            process.stdin.flush()  # type: ignore[union-attr]
            assert process.stdout.readline() == "removed\n"  # type: ignore[union-attr]

        yield process.stdout.readline().strip(), remove_node
        process.stdin.close()
        process.wait(60)


@pytest.fixture
def slow(new_world: Callable[[], Any]) -> Any:
    """A folder to run in, with a model that answers one picture at a time."""
    world = new_world()
    world.warm = ()  # processes are started from the interpreter of the run
    (world.folder / "mine.py").write_text(SLOW)
    world.models = ("mine:Slow[batch_size=1]",)
    return world


@pytest.fixture
def expected(new_world: Callable[[], Any]) -> dict[str, bytes]:
    """The store of a run in one process."""
    world = new_world()
    (world.folder / "mine.py").write_text(SLOW.replace("0.2", "0"))
    world.models = ("mine:Slow[batch_size=1]",)
    world.passes()
    store: dict[str, bytes] = world.store
    return store


def test_a_node_that_is_gone_for_good_loses_no_answer(slow: Any, expected: dict[str, bytes]) -> None:
    """The process on the other node answers what is left; what the lost one had is asked twice."""
    with start_cluster() as (address, remove_node):
        process = slow.start(*slow.usual, f"--eye-ray={address}", "--eye-ray-actors=2")
        slow.until(lambda: slow.asked >= 6)
        remove_node()
        said, complained = slow.ended(process)
        assert process.returncode == 0, said + complained
    assert slow.store == expected
    assert PICTURES <= slow.asked <= PICTURES + IN_FLIGHT


def test_a_command_that_is_killed_at_any_time_goes_on(slow: Any, expected: dict[str, bytes]) -> None:
    """What was stored is not asked again, whenever kill -9 comes."""
    random = Random(19)
    with start_cluster() as (address, _):
        for _ in range(KILLS):
            end = slow.asked + random.randrange(1, 7)
            process = slow.start(*slow.usual, f"--eye-ray={address}", "--eye-ray-actors=2")
            slow.until(lambda: slow.asked >= end or process.poll() is not None)  # noqa: B023
            process.kill()
            slow.ended(process)
        slow.passes(f"--eye-ray={address}", "--eye-ray-actors=2")
    assert slow.store == expected
    assert PICTURES <= slow.asked <= PICTURES + KILLS * IN_FLIGHT * 2  # of two processes

"""Processes, a node or the command are killed, 20 times in all, while a Ray cluster answers.

Nothing that is stored is lost, little is asked twice, and no run hangs.
"""

import os
import signal
from collections.abc import Callable
from pathlib import Path
from random import Random
from runpy import run_path
from typing import Any

import pytest

pytestmark = pytest.mark.deep

start_cluster = run_path(str(Path(__file__).parents[1] / "ray_cluster.py"))["start_cluster"]
NODES = ({"num_cpus": 2}, {"num_cpus": 2})
SLOW = """
import os
import time
from tinyeyes import TinyClass, log

class Slow(TinyClass):
    # takes a while for each picture
    def see(self, images):
        log("process", os.getpid())
        time.sleep(0.2)
        return super().see(images)
"""
PICTURES, MANY = 24, 420
IN_FLIGHT = 2  # leases of a process
BATCHES = 4  # of a lease at most, here of one picture
KILLS = 4
KILLED_PROCESSES = 15


def prepare(world: Any, nap: float = 0.2) -> Any:
    """Have a model that answers one picture at a time."""
    (world.folder / "mine.py").write_text(SLOW.replace("0.2", str(nap)))
    world.models = ("mine:Slow[batch_size=1]",)
    return world


@pytest.fixture
def slow(new_world: Callable[[], Any]) -> Any:
    """A folder to run in."""
    world = new_world()
    world.warm = ()  # processes are started from the interpreter of the run
    return prepare(world)


@pytest.fixture
def expected(new_world: Callable[[], Any]) -> dict[str, bytes]:
    """The store of a run in one process."""
    world = prepare(new_world(), nap=0)
    world.passes()
    store: dict[str, bytes] = world.store
    return store


def test_a_node_that_is_gone_for_good_loses_no_answer(slow: Any, expected: dict[str, bytes]) -> None:
    """The process on the other node answers what is left; what the lost one had is asked twice."""
    with start_cluster(*NODES) as cluster:
        process = slow.start(*slow.usual, f"--eye-ray={cluster.address}", "--eye-ray-actors=2")
        slow.until(lambda: slow.asked >= 6)
        cluster.remove_node()
        said, complained = slow.ended(process)
        assert process.returncode == 0, said + complained
    assert slow.store == expected
    assert PICTURES <= slow.asked <= PICTURES + IN_FLIGHT


def test_processes_that_are_killed_again_and_again_lose_no_answer(
    slow: Any, new_world: Callable[[], Any], large: Path
) -> None:
    """A process is killed after a random number of pictures, 15 times in one run."""
    alone = prepare(new_world(), nap=0)
    alone.data = slow.data = large
    alone.passes()
    prepare(slow, nap=0.05)
    random = Random(3)
    with start_cluster(*NODES) as cluster:
        process = slow.start(*slow.usual, f"--eye-ray={cluster.address}", "--eye-ray-actors=2")
        for _ in range(KILLED_PROCESSES):
            end = slow.asked + random.randrange(5, 20)
            slow.until(lambda: slow.asked >= end)  # noqa: B023
            os.kill(int(slow.lines("process")[-1][0]), signal.SIGKILL)
        said, complained = slow.ended(process)
    assert process.returncode == 0, said + complained
    assert slow.store == alone.store
    assert MANY <= slow.asked <= MANY + KILLED_PROCESSES * IN_FLIGHT * BATCHES


def test_a_command_that_is_killed_at_any_time_goes_on(slow: Any, expected: dict[str, bytes]) -> None:
    """What was stored is not asked again, whenever kill -9 comes."""
    random = Random(19)
    with start_cluster(*NODES) as cluster:
        for _ in range(KILLS):
            end = slow.asked + random.randrange(1, 7)
            process = slow.start(*slow.usual, f"--eye-ray={cluster.address}", "--eye-ray-actors=2")
            slow.until(lambda: slow.asked >= end or process.poll() is not None)  # noqa: B023
            process.kill()
            slow.ended(process)
        slow.passes(f"--eye-ray={cluster.address}", "--eye-ray-actors=2")
    assert slow.store == expected
    assert PICTURES <= slow.asked <= PICTURES + KILLS * IN_FLIGHT * 2  # of two processes

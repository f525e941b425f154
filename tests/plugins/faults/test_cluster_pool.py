"""Processes, a node or the command are killed or interrupted, six times in all, while a Ray cluster answers.

Nothing that is stored is lost, little is asked twice, and no run hangs.
"""

import os
import signal
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

pytestmark = pytest.mark.deep

SLOW = """
import os
import time
from tinyeyes import TinyClass, log

class Slow(TinyClass):
    # takes a while for each picture
    def see(self, images):
        log("process", os.getpid())
        time.sleep(float(os.environ["EYECHART_NAP"]))
        return super().see(images)
"""
PICTURES, MANY = 24, 48
IN_FLIGHT = 2  # work units of a process
BATCHES = 4  # of a work unit at most, here of one picture
ENDS = {0: signal.SIGKILL, 9: signal.SIGINT}  # of the command, after so many pictures: none yet, and some
KILLED_PROCESSES = 3


def prepare(world: Any, nap: float = 0.2) -> Any:
    """Have a model that answers one picture at a time."""
    (world.folder / "mine.py").write_text(SLOW)
    world.environment["EYECHART_NAP"] = str(nap)  # the code of a class is in the key of its answers
    world.models = ("mine:Slow[batch_size=1]",)
    return world


@pytest.fixture
def slow(world: Any) -> Any:
    """A folder to run in."""
    return prepare(world)


@pytest.fixture(scope="module")
def expected(new_world: Callable[[], Any]) -> dict[str, bytes]:
    """The store of a run in one process."""
    world = prepare(new_world(), nap=0)
    world.passes()
    store: dict[str, bytes] = world.store
    return store


def start(world: Any, on_cluster: str, *more: str) -> Any:
    """Begin a run of two processes on the cluster."""
    options = (on_cluster, "--eye-ray-actors=2", *more)
    return world.start(*world.usual, *options, python=world.fast)


def test_a_node_that_is_gone_for_good_loses_no_answer(
    slow: Any, expected: dict[str, bytes], cluster: Any, on_cluster: str
) -> None:
    """The process on the other node answers what is left; what the lost one had is asked twice."""
    process = start(slow, on_cluster)
    slow.until(lambda: slow.asked >= 6)
    cluster.remove_node()
    said, complained = slow.ended(process)
    cluster.add_node(num_cpus=2)
    assert process.returncode == 0, said + complained
    assert slow.store == expected
    assert PICTURES <= slow.asked <= PICTURES + IN_FLIGHT
    assert len({number for (number,) in slow.lines("process")}) > 1  # the lost node had one of them


def test_processes_that_are_killed_again_and_again_lose_no_answer(
    slow: Any, new_world: Callable[[], Any], large: Path, on_cluster: str
) -> None:
    """A process is killed after a random number of pictures, three times in one run."""
    alone = prepare(new_world(), nap=0)
    alone.data = slow.data = large
    alone.passes(f"--eye-limit={MANY}")
    prepare(slow, nap=0.05)
    random = Random(3)
    process = start(slow, on_cluster, f"--eye-limit={MANY}")
    for _ in range(KILLED_PROCESSES):
        end = slow.asked + random.randrange(4, 10)
        slow.until(lambda: slow.asked >= end)  # noqa: B023
        os.kill(int(slow.lines("process")[-1][0]), signal.SIGKILL)
    said, complained = slow.ended(process)
    assert process.returncode == 0, said + complained
    assert slow.store == alone.store
    assert MANY <= slow.asked <= MANY + KILLED_PROCESSES * IN_FLIGHT * BATCHES


def test_a_command_that_is_killed_or_interrupted_goes_on(
    slow: Any, expected: dict[str, bytes], on_cluster: str
) -> None:
    """What was stored is not asked again, whether the command ends before the first answer or among them."""
    for answered, how in ENDS.items():
        process = start(slow, on_cluster)
        slow.until(lambda: len(slow.lines("process")) > answered)  # noqa: B023
        process.send_signal(how)
        said, _ = slow.ended(process)
    assert process.returncode == pytest.ExitCode.INTERRUPTED, said
    slow.passes(on_cluster, "--eye-ray-actors=2")
    assert slow.store == expected
    assert PICTURES <= slow.asked <= PICTURES + len(ENDS) * IN_FLIGHT * 2  # of two processes

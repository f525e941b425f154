"""Answers from processes on a Ray cluster of two nodes, which models share.

Processes, a node or the command are killed or interrupted, six times in all: nothing that is stored is lost, little is
asked twice, and no run hangs.
"""

import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.inference.engines.odd_models import MODELS

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
PICTURES, MANY = 24, 48  # of both small splits, and of a large one
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


COUNTER = """
from pathlib import Path

def pytest_runtest_logstart():
    asked = Path("asked.log").read_text().count("ask ")
    with Path("before").open("a") as file:
        print(asked, file=file)
"""


def run_held(world: Any, *options: str) -> str:
    """Run two models, of which one waits in its first batch until the other has answered all pictures."""
    world.order("tiny", 1, "hold")
    with world.start(*world.usual, *options, world.plugin(COUNTER), python=world.fast) as process:
        world.until(lambda: (world.folder / "held").exists() or process.poll() is not None)
        world.until(lambda: asked_by_model(world, "tinyclass") == PICTURES or process.poll() is not None)
        assert process.poll() is None
        (world.folder / "go").touch()
        said, _ = world.ended(process)
    assert process.returncode == 0, said
    return str(said)


def asked_by_model(world: Any, model: str) -> int:
    """How many pictures a model was shown."""
    return sum(int(count) for name, count in world.lines("ask") if name == model)


def test_two_models_are_at_work_at_the_same_time_and_the_tests_ask_nothing(
    world: Any, on_cluster: str, serial: Any
) -> None:
    """The cluster has room for both; all answers are stored before the first test."""
    run_held(world, on_cluster, "--eye-ray-actors=2")
    assert {*(world.folder / "before").read_text().split()} == {str(len(world.lines("ask")))}
    assert world.store == serial.store
    assert {record["loads"] for record in world.session["records"]} == {0}


def test_models_wait_for_room_and_leave_it_to_an_encoder_that_both_need(world: Any, on_cluster: str) -> None:
    """Each model asks for all four processors; the encoder of answers gets one of them in time."""
    (world.folder / "mine.py").write_text(MODELS)
    world.models = ("mine:Talker[]", "mine:Talker[weights=1]")
    keep = ("-k", "imagenet/tiny/ and (mcq or closed_world)")
    result = world.call(*world.usual, on_cluster, "--eye-ray-actors=4", world.plugin(COUNTER), *keep)
    assert result.ret == 0, result.stdout.str()
    assert {*(world.folder / "before").read_text().split()} == {str(len(world.lines("ask")))}
    keys = [json.loads(content) for path, content in world.store.items() if path.endswith("key.json")]
    assert sum(key["model"]["backend"] == "sentence" for key in keys) >= 1  # asked once for both


@pytest.fixture(scope="module")
def gpus(cluster: Any) -> Iterator[str]:
    """The address of the cluster with one more node, which says that it has two GPUs."""
    cluster.add_node(num_cpus=4, num_gpus=2)
    yield cluster.address
    cluster.remove_node()


@pytest.fixture
def on_gpus(world: Any, gpus: str, warm_ray: tuple[str, ...]) -> str:
    """The option for that cluster; Ray has been imported before a run."""
    world.warm = warm_ray
    return f"--eye-ray={gpus}"


def test_models_with_half_a_gpu_share_the_gpus(world: Any, on_gpus: str, serial: Any) -> None:
    """Two processes of each of two models run at once on two GPUs."""
    run_held(world, on_gpus, "--eye-ray-actors=2", "--eye-ray-gpus=tiny=0.5,tinyclass=0.5")
    assert world.store == serial.store


def test_a_process_of_a_model_with_two_parts_has_two_gpus(world: Any, on_gpus: str) -> None:
    """There is one such process, since the node has two GPUs."""
    (world.folder / "mine.py").write_text(MODELS)
    world.models = ("mine:Wide[tensor_parallel_size=2]",)
    result = world.call(*world.usual, on_gpus, "-k", "imagenet/tiny/")
    assert result.ret == 0, result.stdout.str()
    assert [sorted(ids) for ids in world.lines("gpus")] == [["0", "1"]]


def test_an_address_without_a_cluster_is_refused(world: Any) -> None:
    """A sentence, and no wait."""
    said = world.call(*world.usual, "--eye-ray=127.0.0.1:1", "-k", "imagenet/tiny/").stdout.str()
    assert "--eye-ray=127.0.0.1:1: there is no Ray cluster" in said
    assert "Traceback" not in said

"""Answers from several processes of a model, on this machine or on a Ray cluster of two nodes.

The store is that of a run in one process, whatever dies meanwhile.
"""

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from runpy import run_path
from typing import Any

import pytest
from PIL import Image

SITE = Path(__file__).parents[1] / "site"
TINY = run_path(str(SITE / "tinyeyes.py"))
pytestmark = pytest.mark.deep

PICTURES = 24  # of both small splits
MODELS = """
import json
import os
import signal
import sys
import zlib

import numpy as np
from eyechart.models.choices.trie import ExhaustiveScorer
from eyechart.models.types import Answer, Usage
from eyechart.models.spec import ModelSpec
from tinyeyes import Base, TinyClass, log

class Poison(TinyClass):
    # ends its process whenever it sees one picture
    def see(self, images):
        if any(abs(image).sum() == SUM for image in images):
            os.kill(os.getpid(), signal.SIGKILL)
        return super().see(images)

class Absent(TinyClass):
    # ends every process but the one of the run
    def __init__(self, spec, *, device, offline):
        super().__init__(spec, device=device, offline=offline)
        if "pytest" not in sys.argv[0]:
            sys.exit(3)

def words(request):
    return "".join(part for part in request.parts if isinstance(part, str))

class Talker(Base, ExhaustiveScorer):
    # answers with a choice by the colour of the picture
    def generate(self, requests, max_tokens, schema=None):
        for number, request in enumerate(requests):
            log("ask", self.name, len(request.images))
            shade = sum(int(self.prepare(image).sum() * 1000) for image in request.images)
            yield number, Answer("ABCD"[shade % 4], (shade % 7,), True, usage=Usage(len(words(request)), 0, 1, 0))

    def score(self, requests, choices, *, until="end"):
        texts = [words(request) for request in requests]
        codes = [[zlib.crc32(f"{text}|{choice}".encode()) % 997 for choice in choices] for text in texts]
        return -np.asarray(codes, np.float32) / 100

class Wide(TinyClass):
    # tells its GPUs
    def __init__(self, spec, *, device, offline, tensor_parallel_size=1, data_parallel_size=1):
        if "pytest" not in sys.argv[0]:
            import ray
            log("gpus", *ray.get_gpu_ids())
        super().__init__(ModelSpec(spec.backend), device=device, offline=offline)

class Other(TinyClass):
    # is another model in each process
    def __init__(self, spec, *, device, offline):
        super().__init__(spec, device=device, offline=offline)
        self.seed = os.getpid()
"""


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


@pytest.fixture(params=["processes", "ray"])
def distributed(world: Any, request: pytest.FixtureRequest) -> Any:
    """A folder to run in, and the options for two processes of each model, here or on the cluster."""
    if request.param == "ray":
        world.options = [request.getfixturevalue("on_cluster"), "--eye-ray-actors=2"]
    else:
        world.options = ["--eye-devices=2"]
    return world


@pytest.fixture
def divided(world: Any) -> Any:
    """A folder to run in, and the options for two processes of each model on this machine."""
    world.options = ["--eye-devices=2"]
    return world


def test_a_process_that_dies_is_started_again_and_no_answer_is_lost(divided: Any, serial: Any) -> None:
    """A process is killed in its second batch; at most the two work units that it had are asked twice."""
    divided.order("tinyclass", 2, "die")
    divided.passes(*divided.options)
    assert divided.store == serial.store
    assert {record["loads"] for record in divided.session["records"]} <= {0, 1, 2, 3}
    batch = 4
    assert PICTURES * 2 < divided.asked + batch <= PICTURES * 2 + 3 * batch


def test_a_run_that_is_interrupted_ends_its_processes_and_goes_on_later(divided: Any, serial: Any) -> None:
    """Ctrl-C arrives while a process works; the next run, of one process, asks for what is missing."""
    divided.order("tinyclass", 3, "hold")
    arguments = (*divided.usual, *divided.options)
    with divided.start(*arguments, python=divided.fast) as process:
        divided.until(lambda: (divided.folder / "held").exists() or process.poll() is not None)
        process.send_signal(signal.SIGINT)
        said, _ = divided.ended(process)
    assert process.returncode == pytest.ExitCode.INTERRUPTED, said
    divided.passes()
    assert divided.store == serial.store
    assert divided.asked < 3 * PICTURES


def test_models_that_processes_cannot_hold_or_survive_are_named(distributed: Any) -> None:
    """One picture ends every process that sees it, and all others are answered; another model differs in each process.

    On this machine a third model does not start, and a fourth one divides its work by itself.
    """
    picture = sorted((distributed.data / "imagenet" / "tiny").rglob("*.jpg"))[0]
    pixels = TINY["TinyClass"].prepare(None, Image.open(picture).convert("RGB"))
    (distributed.folder / "mine.py").write_text(MODELS.replace("SUM", repr(float(abs(pixels).sum()))))
    distributed.models = ("mine:Poison[batch_size=4]", "mine:Other[]")
    here = distributed.options == ["--eye-devices=2"]
    if here:
        distributed.models += ("mine:Absent[]", "mine:Wide[data_parallel_size=2]")
    result = distributed.call(*distributed.usual, *distributed.options, "-k", "imagenet/tiny/")
    said = result.stdout.str()
    assert result.ret
    assert "Traceback" not in said
    (record,) = distributed.records
    assert (record["outcomes"]["error"], record["data"]["n"]) == (1, 18)
    assert (
        "The process of the model was lost several times"
        in (distributed.latest / record["predictions"]["path"]).read_text()
    )
    assert "of this " in said
    assert ": weights_sha256 is" in said
    if here:
        assert "a process on processor 0 cannot start (it ended with 3 each time)" in said
        assert "All answers so far are stored; run the same command again" in said
        assert (
            "--eye-devices=2 divides the work among processes itself. Leave out data_parallel_size=2 of the model."
            in said
        )


KEEP = ("-k", "imagenet/tiny/ and (mcq or closed_world or posterior)")
ENCODER = "--eye-set=closed_world_plus.text_encoder=tinyeyes:Tiny[]"


@pytest.fixture(scope="module")
def alone(new_world: Any) -> Any:
    """After a run in one process of a model that scores choices and gives answers, with protocols that need both."""
    world = new_world()
    talk(world)
    return world


def talk(world: Any, *options: str) -> None:
    """Have such a model answer."""
    (world.folder / "mine.py").write_text(MODELS)
    world.models = ("mine:Talker[]",)
    result = world.call(*world.usual, *options, *KEEP, ENCODER)
    assert result.ret == 0, result.stdout.str()


def test_texts_scores_and_replies_are_stored_as_by_one_process(distributed: Any, alone: Any) -> None:
    talk(distributed, *distributed.options)
    assert len({path.split("/")[1] for path in alone.store if path.endswith("done.json")}) >= 3
    assert distributed.store == alone.store
    assert distributed.asked == alone.asked


ROWS_OF_TEXTS = """
from pathlib import Path
from eyechart.inference.requests.row_requests import ClassWeights, Encode, ScoreChoices
from eyechart.inference.runner.runner import Runner
from eyechart.evaluation.settings import Settings
from eyechart.evaluation.session import Session
from eyechart.models.spec import parse_spec

texts = tuple(f"text {number}" for number in range(30))
asked = {
    "mine:Talker[]": [ScoreChoices(texts, (0,), ("yes", "no", "perhaps"))],
    "tinyeyes:Tiny[]": [Encode(texts), ClassWeights(texts[:3], ("a {c}", "the {c}"))],
}
for name, options in {"one": {}, "several": {"devices": 2}}.items():
    with Session(Settings(store=Path(name), **options)) as session:
        runner = Runner(session.store, None, 0, lambda *_: None, session.get_engine)
        for model, requests in asked.items():
            for request in requests:
                runner.run(request, session.models[parse_spec(model)])
"""


def test_rows_of_texts_are_stored_as_by_one_process(world: Any) -> None:
    """Scores of texts, features of texts and class weights."""
    (world.folder / "mine.py").write_text(MODELS)
    command = [*world.fast, "-c", ROWS_OF_TEXTS]
    subprocess.run(command, cwd=world.folder, env=world.surroundings, check=True, timeout=300)
    one, several = (
        {
            path.relative_to(root): path.read_bytes()
            for path in root.rglob("*")
            if path.is_file() and path.name != "lock"
        }
        for root in (world.folder / "one", world.folder / "several")
    )
    assert one == several
    assert sum(path.name == "done.json" for path in one) == 2  # rows of scored texts are never complete


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


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--eye-ray-actors=2",), "Name one with --eye-ray"),
        (("--eye-ray=auto", "--eye-ray-actors=none"), "--eye-ray-actors must be a whole number from 1 up"),
        (("--eye-ray=auto", "-n2"), "Leave out -n of pytest-xdist"),
        (("--eye-devices=2", "-n2"), "Leave out -n, or --eye-devices"),
        (("--eye-devices=0",), "--eye-devices must be a whole number from 1 up"),
        (("--eye-devices=2", "--eye-ray=auto"), "Set the processes on a cluster with --eye-ray-actors"),
        (("--eye-ray=auto", "--eye-ray-gpus=tiny=1.5"), "a share of one GPU, such as 0.25, or a whole number"),
    ],
)
def test_options_that_cannot_be_used_are_refused(
    pytester: pytest.Pytester, options: tuple[str, ...], said: str
) -> None:
    """Before any case."""
    with pytest.raises(pytest.UsageError) as error:
        pytester.parseconfigure(*options)
    assert said in str(error.value)


def test_gpus_of_an_unknown_model_are_refused(world: Any) -> None:
    """In a session of its own, since a suggestion of names imports packages of models."""
    result = world.run("--eye-ray=auto", "--eye-ray-gpus=tinny=1")
    assert result.ret == 4
    assert "--eye-ray-gpus=tinny: " in result.stderr.str()

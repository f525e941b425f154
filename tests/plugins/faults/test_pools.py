"""Answers from several processes of a model, on this machine or on a Ray cluster of two nodes.

The store is that of a run in one process, whatever dies meanwhile.
"""

from pathlib import Path
from runpy import run_path
from typing import Any

import pytest
from PIL import Image

from tests.inference.engines.odd_models import MODELS

SITE = Path(__file__).parents[1] / "site"
TINY = run_path(str(SITE / "tinyeyes.py"))
pytestmark = pytest.mark.deep


@pytest.fixture(params=["processes", "ray"])
def distributed(world: Any, request: pytest.FixtureRequest) -> Any:
    """A folder to run in, and the options for two processes of each model, here or on the cluster."""
    if request.param == "ray":
        world.options = [request.getfixturevalue("on_cluster"), "--eye-ray-actors=2"]
    else:
        world.options = ["--eye-devices=2"]
    return world


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
        assert "a process on processor 0 cannot start (it ended with -9 each time)" in said
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

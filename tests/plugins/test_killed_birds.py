"""Birds in words, killed while reasons are asked for: the next run asks only for what is missing and ends the same."""

import signal
from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.deep

MLLM, CASE = "hf[toybox-mllm]", "realbirdid/sample-drawn/ and abstention"
OPTIONS = (f"--eye-model={MLLM}", "--eye-limit=6", "--eye-set=abstention.prompt_set=mine.toml")
WORDS = """
naive = ["What species of bird is in this image?", "Tell me the species of this bird."]
refuse = ["What species is it? If unsure, refuse and say why.", "Which bird? Rather decline than guess."]
"""
KILLED = -signal.SIGKILL

# Dies when so many answers were kept: about pictures, or about words.
DIES = """
import os
import signal

from eyechart.inference.store import responses
from eyechart.inference.runner.runner import BatchRun

STAGE, AT = os.environ["DIES"].split(":")
reached, names = [], []

def come_to(stage):
    reached.append(stage)
    if stage == STAGE and reached.count(stage) == int(AT):
        os.kill(os.getpid(), signal.SIGKILL)

def request_missing(run, writer, stored, real=BatchRun.request_missing):
    names.append("birds" if run.batch.about_images else "extraction")
    return real(run, writer, stored)

def append(*told, real=responses.append):
    found = real(*told)
    come_to(names[-1])
    return found

BatchRun.request_missing, responses.append = request_missing, append
"""
MOMENTS = ("birds:7", "extraction:1")


def put(world: Any, *arguments: str) -> pytest.RunResult:
    """Ask the packaged model about the drawn birds, where it may abstain."""
    (world.folder / "mine.toml").write_text(WORDS)
    result: pytest.RunResult = world.call(
        "--pyargs", "eyechart.benchmarks", "--eye-offline", "-k", CASE, *OPTIONS, *arguments
    )
    return result


@pytest.fixture(scope="module")
def whole(new_world: Callable[[], Any]) -> Any:
    """A world after a run that nobody killed."""
    world = new_world()
    result = put(world)
    assert result.ret == 0, result.stdout.str() + result.stderr.str()
    return world


def test_killed_while_abstentions_are_asked_for(whole: Any, world: Any) -> None:
    for moment in MOMENTS:
        world.environment["DIES"] = moment
        assert put(world, world.plugin(DIES)).ret == KILLED
        assert [path for path in world.folder.rglob("*.part") if path.stat().st_size]
    assert put(world).ret == 0
    assert world.files == whole.files
    assert world.records == whole.records
    assert world.store == whole.store

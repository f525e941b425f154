"""Closed, an engine leaves the process as it was; several copies or devices answer together."""

import gc
import multiprocessing
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing import resource_tracker

import numpy as np
import pytest
import torch
from PIL import Image

from eyechart.models.generation import generate_all
from eyechart.models.hf.generator import HfGenerator
from eyechart.models.spec import parse_spec
from eyechart.models.types import Floats, Generator, Request
from eyechart.models.vllm.engine import device_slots
from eyechart.models.vllm.generator import VllmGenerator
from tests.models.vllm.pairs import Pair, told

pytestmark = pytest.mark.deep

ENVIRONMENT = dict(os.environ)


SEVERAL = {"data_parallel_size=2": 2, "tensor_parallel_size=2": 1}  # options, and how many copies work


@dataclass(frozen=True)
class Several:
    """Requests, and what transformers gives for them."""

    asked: list[Request]
    names: list[str]
    expected: list[tuple[int, ...]]
    scores: Floats

    def told(self, model: Generator) -> list[tuple[int, ...]]:
        """Return the tokens of short answers."""
        return [answer.tokens for answer in generate_all(model, self.asked, 4)]


@pytest.fixture(scope="module")
def several() -> Several:
    asked = [Request((f"what is {index}?", Image.new("RGB", (60, 60), (index * 9, 0, 0)))) for index in range(4)]
    reference, names = (
        HfGenerator(parse_spec("hf[toybox-mllm]"), offline=True),
        ["cat", "caterpillar", "dog", "hot dog"],
    )
    expected = [answer.tokens for answer in generate_all(reference, asked, 4)]
    return Several(asked, names, expected, reference.score(asked, names))


@pytest.fixture
def forked_processes(warm_vllm: Sequence[str], pair: Pair) -> Iterator[None]:
    """Let processes that an engine spawns be forks of one that has imported vLLM, which takes long."""
    pair.vllm.close()  # vLLM's groups of processes are global: the end of one engine would break another
    resource_tracker.ensure_running()  # with Python itself
    multiprocessing.set_executable(warm_vllm[0])
    yield
    multiprocessing.set_executable(sys.executable)
    gc.collect()  # what vLLM leaves open


@pytest.fixture
def three_threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let torch have three threads."""
    threads = torch.get_num_threads()
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)  # where it is set, vLLM leaves torch's threads alone
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(threads)


@pytest.mark.parametrize("option", SEVERAL)
@pytest.mark.usefixtures("forked_processes", "three_threads")
@pytest.mark.filterwarnings("ignore:Unclosed context:ResourceWarning")  # vLLM does not close all that it opens
def test_several_processes_answer_together(option: str, several: Several) -> None:
    model = VllmGenerator(parse_spec(f"vllm[toybox-mllm,max_model_len=512,max_num_seqs=2,{option}]"), offline=True)
    try:
        assert several.told(model) == several.expected
        left = model.generate(several.asked, 4)
        next(left)
        left.close()
        assert several.told(model) == several.expected
        np.testing.assert_allclose(model.score(several.asked, several.names), several.scores, rtol=0, atol=1e-4)
        assert model.best(several.asked, several.names)[0].tolist() == several.scores.argmax(axis=1).tolist()
        assert model._scorer._agrees
        assert len(model._engine.llms) == SEVERAL[option]
    finally:
        model.close()
    assert torch.get_num_threads() == 3


def test_closed_it_leaves_the_process_as_it_was(pair: Pair, questions: list[Request]) -> None:
    assert told(pair.vllm, questions) == pair.answers
    pair.vllm.close()
    assert torch.set_num_threads.__name__ == "set_num_threads"
    assert gc.get_freeze_count()  # what tests/conftest.py froze before
    assert not {"LD_PRELOAD", "VLLM_DIST_IDENT"} & set(os.environ) - set(ENVIRONMENT)
    assert generate_all(HfGenerator(parse_spec(f"hf[{pair.folder}]"), offline=True), questions, 8) == pair.answers
    assert told(pair.vllm, questions) == pair.answers  # it starts anew when asked again


@pytest.mark.parametrize(
    ("device", "together", "copies", "indices"),
    [
        ("cuda", 1, 1, [[0]]),
        ("cuda:3", 1, 2, [[3], [4]]),
        ("cuda", 2, 2, [[0, 1], [2, 3]]),
    ],
)
def test_every_copy_has_its_own_devices(device: str, together: int, copies: int, indices: list[list[int]]) -> None:
    assert [index["device_ids"] for index in device_slots(device, together, copies)] == indices

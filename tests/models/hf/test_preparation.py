"""Tests of `eyechart.models.hf.preparation`."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eyechart.models.hf import preparation
from eyechart.models.hf.generator import HfGenerator
from eyechart.models.hf.preparation import BATCHES_AHEAD
from eyechart.models.spec import parse_spec
from eyechart.models.types import Request

pytestmark = pytest.mark.deep

Tiny = Callable[[str], Path]


def ours(folder: Path, more: str = "") -> HfGenerator:
    return HfGenerator(parse_spec(f"hf[{folder}{more}]"), offline=True)


def test_requests_are_prepared_while_the_model_computes_and_no_further(
    tiny_chat: Tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    window, prepared = 2 * BATCHES_AHEAD, threading.Semaphore(0)
    model, taken = ours(tiny_chat("fast_vlm"), ",batch_size=2"), []
    prepare, compute = model._chat.prepare_inputs, model._module.generate

    def count(request: Request) -> Any:
        inputs = prepare(request)
        prepared.release()
        return inputs

    def wait(**inputs: Any) -> Any:  # as long as the next prompts take, were the model that slow
        if len(taken) <= 2 * window:
            assert all(prepared.acquire(timeout=60) for _ in range(2 * window))
            prepared.release(2 * window)
        return compute(**inputs)

    monkeypatch.setattr(model._chat, "prepare_inputs", count)
    monkeypatch.setattr(model._module, "generate", wait)
    requests = (taken.append(index) or Request((str(index),)) for index in range(1000))
    answers = model.generate(requests, 1)
    assert {next(answers)[0], next(answers)[0]} <= set(range(window))
    assert len(taken) == 2 * window
    answers.close()
    assert len(taken) == 2 * window


def test_large_prompts_are_prepared_fewer_at_once(tiny_chat: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preparation, "MAX_BYTES", 1)
    model, taken = ours(tiny_chat("fast_vlm"), ",batch_size=2"), []
    answers = model.generate((taken.append(index) or Request((str(index),)) for index in range(9)), 1)
    assert next(answers)[0] == 0
    answers.close()
    assert len(taken) == 2

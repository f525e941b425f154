"""Tests of `eyechart.models.hf.cache`."""

from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from eyechart.models.hf.decoding import _tensors
from eyechart.models.hf.generator import HfGenerator
from eyechart.models.spec import parse_spec
from eyechart.models.types import Request
from tests.models.hf.choices import CHOICES

pytestmark = pytest.mark.deep
FAMILIES = ("fast_vlm", "qwen3_vl")

Tiny = Callable[..., Path]


def ours(folder: Path | str, more: str = "") -> HfGenerator:
    return HfGenerator(parse_spec(f"hf[{folder}{more}]"), offline=True)


@pytest.mark.parametrize("family", [*FAMILIES, "qwen3_5"])
@pytest.mark.parametrize("task", ["score", "best"])
def test_the_cache_of_a_prompt_is_never_changed(
    tiny_chat: Tiny, questions: list[Request], monkeypatch: pytest.MonkeyPatch, family: str, task: str
) -> None:
    model, caches = ours(tiny_chat(family)), []
    generate = model._module.generate

    def watched_generate(**options: Any) -> Any:
        read = generate(**options)
        caches.append((read.state.cache, deepcopy(read.state.cache)))
        return read

    monkeypatch.setattr(model._module, "generate", watched_generate)
    getattr(model, task)(questions[:6], CHOICES)
    pairs = [pair for after, before in caches for pair in zip(_tensors(after), _tensors(before), strict=True)]
    assert pairs
    assert all(after.equal(before) for after, before in pairs)

"""The plugin is loaded, and an engine on a processor neither compiles nor takes memory that it does not use."""

import re
from pathlib import Path

import pytest

from eyechart.models.generation import generate_all
from eyechart.models.types import Request
from eyechart.models.vllm import plugin
from tests.models.vllm.pairs import CHOICES, Pair

pytestmark = pytest.mark.deep


def test_vllm_loads_the_plugin_that_repairs_torchvision() -> None:
    from vllm.plugins import load_plugins_by_group

    assert load_plugins_by_group("vllm.general_plugins")["eyechart"] is plugin.load


def test_log_probabilities_need_no_compiler(pair: Pair, questions: list[Request]) -> None:
    assert pair.vllm.score(questions[:2], CHOICES).shape == (2, len(CHOICES))
    assert [*pair.compiled.iterdir()] == []


def test_the_cache_takes_memory_as_it_fills(pair: Pair, questions: list[Request]) -> None:
    assert generate_all(pair.vllm, questions[:1], 1)
    core = pair.vllm._engine.llms[0].llm_engine.engine_core.engine_core
    memory = core.model_executor.driver_worker.worker.model_runner.kv_caches[0].untyped_storage()
    assert memory.nbytes() > 2**29
    areas = re.findall(
        r"^(\w+)-(\w+) .*\n(?:\w+: .*\n)*?Rss: +(\d+) kB",
        Path("/proc/self/smaps").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    (taken,) = (int(taken) << 10 for first, end, taken in areas if int(first, 16) <= memory.data_ptr() < int(end, 16))
    assert taken < memory.nbytes() / 2

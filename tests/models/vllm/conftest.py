"""One engine for all tests of this folder: each start of one takes seconds, the first many."""

from contextlib import ExitStack
from pathlib import Path

import pytest

from eyechart.models.generation import generate_all
from eyechart.models.hf.generator import HfGenerator
from eyechart.models.spec import parse_spec
from eyechart.models.types import Request
from eyechart.models.vllm.generator import VllmGenerator
from tests.models.vllm.pairs import CHOICES, FAMILY, MANY, Pair, Tiny

FOLDER = Path(__file__).parent
STARTED = ExitStack()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> None:
    """Stop the engine after the last test of this folder: others expect a process without one."""
    if nextitem is None or FOLDER not in nextitem.path.parents:
        STARTED.close()


@pytest.fixture(scope="session")
def pair(tiny_chat: Tiny, questions: list[Request], tmp_path_factory: pytest.TempPathFactory) -> Pair:
    """What transformers gives, asked before vLLM starts."""
    folder = tiny_chat(FAMILY)
    hf = HfGenerator(parse_spec(f"hf[{folder}]"), offline=True)
    patch = STARTED.enter_context(pytest.MonkeyPatch.context())
    patch.setenv("VLLM_CACHE_ROOT", str(tmp_path_factory.mktemp("cache")))  # nothing found out earlier helps
    compiled = tmp_path_factory.mktemp("compiled")
    patch.setenv("TORCHINDUCTOR_CACHE_DIR", str(compiled))
    vllm = VllmGenerator(parse_spec(f"vllm[{folder},max_model_len=512]"), offline=True)
    STARTED.callback(vllm.close)
    scores, cut = (hf.score(questions, CHOICES, until=until) for until in ("end", "unique"))
    return Pair(generate_all(hf, questions, 8), scores, cut, hf.score(questions[:2], MANY), vllm, folder, compiled)

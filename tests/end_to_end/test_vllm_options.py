"""Options of `vllm[…]` reach the engine, are in the identity, and give what transformers gives under the same ones."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PIL import Image

from eyechart.errors import EyechartError, ModelError
from eyechart.models.generation import generate_all
from eyechart.models.hf.generator import HfGenerator
from eyechart.models.options import names_of
from eyechart.models.spec import parse_spec
from eyechart.models.types import Request
from eyechart.models.vllm.generator import VllmGenerator

pytestmark = pytest.mark.deep

BIG = [Request((Image.effect_noise((200, 160), 90).convert("RGB"), "what is this?"))]
Start = Callable[..., VllmGenerator]


@pytest.fixture
def start() -> Iterator[Start]:
    """Make models, and stop their engines in the end."""
    models = []

    def start(folder: Path, *options: str) -> VllmGenerator:
        models.append(VllmGenerator(parse_spec(f"vllm[{','.join([str(folder), 'max_model_len=512', *options])}]")))
        return models[-1]

    yield start
    for model in models:
        model.close()


def test_sizes_of_images_and_the_system_prompt_are_those_of_transformers(
    tiny_chat: Callable[[str], Path], start: Start
) -> None:
    folder = tiny_chat("qwen3_vl")
    more = ("max_pixels=1024", "system_prompt=be short")
    plain, hf = (HfGenerator(parse_spec(f"hf[{','.join([str(folder), *some])}]")) for some in ((), more))
    (expected,), (other,) = generate_all(hf, BIG, 8), generate_all(plain, BIG, 8)
    (answer,) = generate_all(start(folder, *more), BIG, 8)
    assert (answer.tokens, answer.usage.prompt) == (expected.tokens, expected.usage.prompt)
    assert answer.usage.prompt != other.usage.prompt


def test_the_cache_may_have_less_precision(tiny_chat: Callable[[str], Path], start: Start) -> None:
    import torch

    folder = tiny_chat("qwen3_vl")
    model = start(folder, "kv_cache_dtype=fp8_e5m2")
    if "AVX512" not in torch.backends.cpu.get_cpu_capability():  # vLLM has these kernels for such processors alone
        with pytest.raises(ModelError, match=r"vLLM cannot start with .*AVX-512.* or other options of vllm"):
            generate_all(model, BIG, 8)
        return
    (answer,) = generate_all(model, BIG, 8)
    assert not answer.error
    assert model._engine.llms[0].llm_engine.vllm_config.cache_config.cache_dtype == "fp8_e5m2"


def test_a_budget_needs_tokens_of_thinking(tiny_chat: Callable[[str], Path], start: Start) -> None:
    with pytest.raises(ModelError, match=r"has none of the tokens <think>.* thinking_budget cannot end thinking"):
        generate_all(start(tiny_chat("qwen3_vl"), "thinking_budget=2"), BIG, 8)


@pytest.mark.parametrize(
    ("option", "sentence"),
    [
        ("kv_cache_dtype=fp7", "has kv_cache_dtype=fp7. Expected one of float16, bfloat16"),
        ("max_logprobs=129", "has max_logprobs=129. Expected a whole number from 1 to 128."),
        ("pipeline_parallel_size=0", "has pipeline_parallel_size=0. Expected a whole number of at least 1."),
        ("mm_processor_kwarg.a=1", "did you mean mm_processor_kwargs.KEY"),
        ("kv_cache_type=fp8", "did you mean kv_cache_dtype"),
    ],
)
def test_wrong_values_are_sentences(option: str, sentence: str) -> None:
    with pytest.raises(EyechartError) as raised:
        VllmGenerator(parse_spec(f"vllm[toybox-mllm,{option}]"))
    assert sentence in str(raised.value)


def test_an_unknown_quantisation_is_refused_by_the_engine_in_a_sentence(
    tiny_chat: Callable[[str], Path], start: Start
) -> None:
    with pytest.raises(ModelError, match=r"vLLM cannot start with .*quantization"):
        generate_all(start(tiny_chat("qwen3_vl"), "quantization=none_such"), BIG, 8)


def test_every_option_that_changes_answers_is_in_the_identity() -> None:
    changed = {
        "dtype": "bfloat16",
        "max_model_len": "99",
        "gpu_memory_utilization": "0.5",
        "tensor_parallel_size": "2",
        "pipeline_parallel_size": "2",
        "enforce_eager": "false",
        "quantization": "fp8",
        "kv_cache_dtype": "fp8",
        "thinking_budget": "9",
        "thinking": "on",
        "chat_template_kwargs.KEY": "true",
        "system_prompt": "be short",
        "trust_remote_code": "true",
        "min_pixels": "1",
        "max_pixels": "9",
        "mm_processor_kwargs.KEY": "1",
    }
    same = {"max_num_seqs": "2", "data_parallel_size": "2", "max_logprobs": "2"}
    assert {*changed, *same} == {*names_of(VllmGenerator.declared_options)}

    def identity(name: str, value: str) -> str:
        return str(VllmGenerator(parse_spec(f"vllm[toybox-mllm,{name}={value}]")).identity)

    plain = str(VllmGenerator(parse_spec("vllm[toybox-mllm]")).identity)
    assert len({plain, *(identity(*setting) for setting in changed.items())}) == len(changed) + 1
    assert {identity(*setting) for setting in same.items()} == {plain}

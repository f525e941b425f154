"""Every declared option of every backend is in the key of answers, or changes none."""

from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import pytest

from eyechart.models.open_clip.encoder import OpenClipEncoder
from eyechart.models.options import names_of
from eyechart.models.registry import backends, create_model
from eyechart.models.spec import parse_spec

SPEED = {"batch_size", "max_num_seqs", "gpu_memory_utilization", "tensor_parallel_size", "pipeline_parallel_size",
         "data_parallel_size", "max_logprobs"}  # fmt: skip
ASKING = {"key_env", "concurrency", "timeout", "retries", "backoff", "batch", "batch_folder", "poll"}
PAYING = {"prices", "price_in", "price_cached", "price_out", "budget", "budget_tokens"}
OTHER = {  # options whose effect is a file of weights, a device, or tested where the backend is
    "hf_clip": {"dtype"},
    "blip2": {"dtype", "head", "scale"},
    "hf": {"quantization", "adapter"},  # models/hf/test_loading
    "replay": {"path", "of"},
    "sentence": {"prompt"},
    "openai": {"effort"},
    "vllm_server": {"effort"},
    "open_clip": {"pretrained"},
    "timm": {"pretrained"},
    "onnx_clip": {"like", "preprocessing", "file", "engine", "threads", "optimise"},
    "openvino": {"like", "preprocessing", "precision", "threads", "imagenet", "probabilities"},
    "executorch": {"like", "preprocessing", "threads", "imagenet", "probabilities"},
    "litert": {"like", "preprocessing", "threads", "imagenet", "probabilities"},
    "onnx": {"like", "preprocessing", "engine", "threads", "imagenet", "probabilities", "optimise"},  # models/exported
    "knn": {"encoder"},
    "linear_probe": {"encoder"},
    "conse": {"classifier", "text"},
}
WITH_TEST_ALL = {"vllm", "hf device_map"}  # packages that README's second command does not install
PLAIN = {
    "open_clip": "open_clip[toybox-clip]",
    "timm": "timm[]",
    "conse": "conse[]",
    "sentence": "sentence[]",
    "knn": "knn[timm[],support=imagenet/sample]",
    "linear_probe": "linear_probe[timm[],support=imagenet/sample]",
    "hf": "hf[toybox-mllm]",
    "vllm": "vllm[toybox-mllm]",
    "openai": "openai[m,served=m]",
    "vllm_server": "vllm_server[m,served=m]",
    "anthropic": "anthropic[m,served=m]",
    "gemini": "gemini[m,served=m]",
}
VALUES = {
    "dtype": "float16", "num_classes": "0", "top": "3", "names": "openai", "scale": "7", "prompt": "x: ", "k": "3",
    "C": "2", "validation": "0.5",
    "support": "imagenet/tiny", "weights": "cosine", "thinking": "off", "thinking_budget": "50",
    "system_prompt": "Hi.",
    "attn_implementation": "eager", "quantization": "torchao_int8", "compile": "eager", "min_pixels": "1000",
    "max_pixels": "2000", "chat_template_kwargs.KEY": "1", "mm_processor_kwargs.KEY": "1", "api": "responses",
    "device_map": "auto", "trust_remote_code": "true", "max_model_len": "512", "enforce_eager": "false",
    "kv_cache_dtype": "fp8",
    "seed": "7", "reasoning": "true", "temperature": "1", "effort": "low", "revision": "2",
    "served": "n", "base_url": "http://127.0.0.1:9/v1",
}  # fmt: skip
OWN_VALUES = {("anthropic", "thinking"): "disabled", ("vllm", "quantization"): "fp8"}
CASES = [
    pytest.param(
        name,
        option,
        id=f"{name} {option}",
        marks=[pytest.mark.deep] * bool(WITH_TEST_ALL & {name, f"{name} {option}"}),
    )
    for name, backend in backends().items()
    for option in names_of(resolve_name(backend.target).declared_options)
    if name in PLAIN and option not in SPEED | ASKING | PAYING | OTHER.get(name, set())
]


def key(spec: str) -> Any:
    model = create_model(parse_spec(spec), device="cpu", offline=False)
    return model.identity.in_key, model.owner


@pytest.mark.parametrize(("backend", "option"), CASES)
def test_an_option_that_changes_answers_is_in_their_key(backend: str, option: str) -> None:
    plain = PLAIN[backend]
    value = OWN_VALUES.get((backend, option), VALUES[option])
    parts = [part for part in plain.removesuffix("]").partition("[")[2].split(",") if part]
    kept = [part for part in parts if not part.startswith(f"{option}=")]
    other = f"{backend}[{','.join((*kept, f'{option}={value}'))}]"
    assert key(other) != key(plain)


def test_every_backend_is_looked_at() -> None:
    assert {*backends()} == {*PLAIN, *OTHER}


def test_a_file_of_weights_tells_no_gelu_and_a_note_says_so(tmp_path: Path) -> None:
    spec = f"open_clip[ViT-B-32,pretrained={tmp_path / 'weights.pt'}]"
    assert "name open_clip[ViT-B-32-quickgelu,…]" in OpenClipEncoder(parse_spec(spec)).model_note
    assert OpenClipEncoder(parse_spec(spec.replace("ViT-B-32", "ViT-B-32-quickgelu"))).model_note == ""
    assert OpenClipEncoder(parse_spec("open_clip[toybox-clip]")).model_note == ""

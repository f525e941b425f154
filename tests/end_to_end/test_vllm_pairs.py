"""Pairs put to one model through vLLM are answered and scored as through transformers; an image is computed once."""

import re
from typing import Any

import pytest

pytestmark = pytest.mark.deep

HF, VLLM = "hf[toybox-mllm]", "vllm[toybox-mllm]"
PROTOCOLS = ("existence", "progression")
SERVED = re.compile(
    r"sample-coco/vllm\[toybox-mllm\] \((\w+)\): [\d,]+ requests, [\d,]+ prompt tokens, (\d+)% from cache"
)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_they_answer_every_question_alike(engine_runs: Any, protocol: str) -> None:
    said = engine_runs.rows(HF, protocol)
    assert len(said) > 5
    assert engine_runs.rows(VLLM, protocol) == said


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_records_have_the_same_numbers(engine_runs: Any, protocol: str) -> None:
    hf, vllm = (engine_runs.records[model, protocol] for model in (HF, VLLM))
    for same in ("outcomes", "data", "variant", "metrics"):
        assert vllm[same] == hf[same]
    assert vllm["outcomes"]["error"] == 0
    assert vllm["model"]["weights_sha256"] == hf["model"]["weights_sha256"]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_they_read_as_many_tokens_and_vllm_keeps_what_questions_share(engine_runs: Any, protocol: str) -> None:
    hf, vllm = (engine_runs.records[model, protocol]["usage"] for model in (HF, VLLM))
    for same in ("requests", "prompt_tokens", "answer_tokens"):
        assert vllm[same] == hf[same] > 0
    assert (hf["cached_tokens"], vllm["cached_tokens"] > 0) == (0, True)


def test_the_share_from_the_cache_is_printed(engine_runs: Any) -> None:
    printed = {protocol: int(share) for protocol, share in SERVED.findall(engine_runs.printed)}
    assert {*printed} == {*PROTOCOLS}
    for protocol, share in printed.items():
        took = engine_runs.records[VLLM, protocol]["usage"]
        assert share == round(100 * took["cached_tokens"] / took["prompt_tokens"]) > 0

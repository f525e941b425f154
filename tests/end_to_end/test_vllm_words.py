"""The whole command through vLLM gives the numbers that it gives through transformers."""

from collections.abc import Mapping
from typing import Any

import pytest

pytestmark = pytest.mark.deep

HF, VLLM = "hf[toybox-mllm]", "vllm[toybox-mllm]"


def named(record: dict[str, Any]) -> list[tuple[Any, ...]]:
    facts = ("name", "labels", "subset", "n", "ci_method")
    return [tuple(each[fact] for fact in facts) for each in record["metrics"]]


def numbers(record: dict[str, Any]) -> list[float | None]:
    return [number for each in record["metrics"] for number in (each["value"], *(each["ci"] or ()))]


PROTOCOLS = ("mcq", "closed_world", "closed_world_plus", "open_world", "multiple_choice", "posterior")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_records_have_the_same_numbers(engine_runs: Any, protocol: str) -> None:
    hf, vllm = (engine_runs.records[model, protocol] for model in (HF, VLLM))
    for same in ("outcomes", "data", "variant"):
        assert vllm[same] == hf[same]
    assert named(vllm) == named(hf)
    assert numbers(vllm) == pytest.approx(numbers(hf), abs=1e-4)  # as log-probabilities are
    assert (hf["model"]["weights_sha256"], hf["model"]["backend"]) == (vllm["model"]["weights_sha256"], "hf")


@pytest.mark.parametrize("protocol", PROTOCOLS[:-1])
def test_they_said_the_same_about_every_image(engine_runs: Any, protocol: str) -> None:
    said = [engine_runs.rows(model, protocol) for model in (HF, VLLM)]
    assert said[0] == said[1]
    assert len(said[0]) == 6 * (1 + (protocol == "multiple_choice"))


@pytest.mark.parametrize("protocol", PROTOCOLS[:-1])
def test_they_read_and_said_as_many_tokens(engine_runs: Any, protocol: str) -> None:
    hf, vllm = ({**engine_runs.records[model, protocol]["usage"], "cached_tokens": 0} for model in (HF, VLLM))
    assert vllm == hf


def test_the_class_list_is_read_once_where_it_comes_first(engine_runs: Any) -> None:
    cached = {
        (each["variant"]["images_per_request"], each["variant"]["prompt_order"]): share(each["usage"])
        for each in engine_runs.orders
    }
    assert all(cached[images, "text-first"] > 2 * cached[images, "image-first"] for images in "13")
    for record in engine_runs.orders:
        assert record["outcomes"]["error"] == 0


def share(served: Mapping[str, int]) -> float:
    return served["cached_tokens"] / served["prompt_tokens"]

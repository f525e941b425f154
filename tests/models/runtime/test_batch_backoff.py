"""One request that a processor or a model cannot take, or that has no room in memory, costs no other its answer."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image

from eyechart.errors import RequestError
from eyechart.inference.engines.local import LocalEngine
from eyechart.inference.requests.text_requests import Generate, TextRequest
from eyechart.models.generation import generate_all
from eyechart.models.hf.generator import HfGenerator
from eyechart.models.hf.preparation import BATCHES_AHEAD
from eyechart.models.spec import parse_spec
from eyechart.models.types import Answer, Request

Tiny = Callable[[str], Path]
CHOICES = ["cat", "dog", "a bird", "caterpillar"]
ODD = {"qwen2_5_vl": (2, 600), "mistral3": (1, 1)}  # the first fails in the processor, the second in the model
WHY = {"qwen2_5_vl": "absolute aspect ratio must be smaller than 200", "mistral3": r"RuntimeError: split_with_sizes"}


def ours(folder: Path, more: str = ",batch_size=4") -> HfGenerator:
    return HfGenerator(parse_spec(f"hf[{folder}{more}]"), offline=True)


def picture(colour: int, size: tuple[int, int] = (64, 48)) -> Image.Image:
    return Image.new("RGB", size, (colour, 90, 255 - colour))


GOOD = [Request((picture(20 * index), f"what is thing {index}?")) for index in range(7)]


def mixed(family: str, at: int = 3) -> list[Request]:
    """Good requests with an odd picture among them."""
    return [*GOOD[:at], Request((picture(0, ODD[family]), "what?")), *GOOD[at:]]


@pytest.mark.parametrize("family", ODD)
def test_a_request_that_cannot_be_answered_is_an_error_and_the_others_are_answered(
    tiny_chat: Tiny, family: str
) -> None:
    model = ours(tiny_chat(family))
    said = generate_all(model, mixed(family), 4)
    assert re.search(WHY[family], said[3].error)
    assert (said[3].text, said[3].retry) == ("", False)
    assert [*said[:3], *said[4:]] == generate_all(model, GOOD, 4)
    assert not any(answer.error for answer in [*said[:3], *said[4:]])


@pytest.mark.parametrize("family", ODD)
@pytest.mark.parametrize("ask", ["score", "best"])
def test_requests_without_a_score_are_named_and_the_others_can_be_scored(
    tiny_chat: Tiny, family: str, ask: str
) -> None:
    model = ours(tiny_chat(family))
    with pytest.raises(RequestError) as caught:
        getattr(model, ask)(mixed(family), CHOICES)
    assert [*caught.value.errors] == [3]
    assert re.search(WHY[family], caught.value.errors[3])
    assert len(model.score(GOOD, CHOICES)) == len(GOOD)


def test_a_choice_for_a_text_that_cannot_be_read_is_an_error_of_its_own(tiny_chat: Tiny) -> None:
    model = ours(tiny_chat("fast_vlm"))

    def chosen(*texts: str) -> list[Answer]:
        batch = Generate(tuple(TextRequest((text,), 8, tuple(CHOICES)) for text in texts))
        answers = dict(LocalEngine().answer_requests(batch, model, None, range(len(texts))))
        return [answers[number] for number in range(len(texts))]

    one, long, two = chosen("one", "so on " * 900, "two")
    assert "leaves no room" in long.error
    assert [one, two] == chosen("one", "two")


@pytest.fixture
def cramped(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[int]]:
    """Let a model run out of memory with more than so many requests, or with one as long as that; what it was given."""
    import torch

    def cramp(model: HfGenerator, most: int, longest: int = 10**9) -> list[int]:
        real, sizes = model._module.generate, []

        def generate(**inputs: Any) -> Any:
            rows, length = inputs["input_ids"].shape
            sizes.append(rows)
            if rows > most or length > longest:
                raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
            return real(**inputs)

        monkeypatch.setattr(model._module, "generate", generate)
        return sizes

    return cramp


@pytest.mark.deep
def test_out_of_memory_halves_the_batch_and_goes_on(tiny_chat: Tiny, cramped: Callable[..., list[int]]) -> None:
    expected = generate_all(ours(tiny_chat("fast_vlm"), ",batch_size=2"), GOOD, 4)
    model = ours(tiny_chat("fast_vlm"), ",batch_size=8")
    sizes = cramped(model, most=2)
    with pytest.warns(RuntimeWarning) as warned:
        assert generate_all(model, GOOD, 4) == expected
    assert [str(one.message) for one in warned] == [
        "Memory ran out with 7 requests at once; going on with 3.",
        "Memory ran out with 3 requests at once; going on with 1.",
    ]
    assert sizes == [7, 3, *[1] * 7]


@pytest.mark.deep
@pytest.mark.parametrize("ask", ["score", "best"])
def test_out_of_memory_halves_the_batch_of_scores(tiny_chat: Tiny, cramped: Callable[..., list[int]], ask: str) -> None:
    expected = getattr(ours(tiny_chat("fast_vlm")), ask)(GOOD, CHOICES)
    model = ours(tiny_chat("fast_vlm"))
    cramped(model, most=2)
    with pytest.warns(RuntimeWarning, match="Memory ran out with 4 requests at once; going on with 2"):
        found = getattr(model, ask)(GOOD, CHOICES)
    np.testing.assert_allclose(np.stack(found), np.stack(expected), rtol=0, atol=1e-5)


@pytest.mark.deep
def test_one_request_without_room_in_memory_is_an_error_and_the_batch_grows_back(
    tiny_chat: Tiny, cramped: Callable[..., list[int]]
) -> None:
    long, short = (
        Request(("what is it " * 60,)),
        [Request((f"and {index}?",)) for index in range(2 * BATCHES_AHEAD + 3)],
    )
    model = ours(tiny_chat("fast_vlm"), ",batch_size=2")
    sizes = cramped(model, most=2, longest=100)
    with pytest.warns(RuntimeWarning, match="Memory ran out with 2 requests"):
        said = generate_all(model, [*short[:3], long, *short[3:]], 4)
    assert [index for index, answer in enumerate(said) if answer.error] == [3]
    assert re.search(r"Memory ran out on a single request to 'hf\[.*Use a smaller model", said[3].error)
    assert said[3].retry
    assert sizes[-5:] == [2, 1, 1, 2, 2]
    with pytest.warns(RuntimeWarning, match="Memory ran out"), pytest.raises(RequestError) as caught:
        model.score([short[0], long], CHOICES)
    assert [*caught.value.errors] == [1]


def test_a_broken_accelerator_ends_the_run(tiny_chat: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    model = ours(tiny_chat("fast_vlm"))

    def fails(**_: Any) -> Iterator[Answer]:
        raise RuntimeError("CUDA error: device-side assert triggered")

    monkeypatch.setattr(model._module, "generate", fails)
    with pytest.raises(RuntimeError, match="device-side assert"):
        generate_all(model, GOOD, 4)


def test_what_is_wrong_with_the_program_is_no_error_of_an_image(
    tiny_chat: Tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = ours(tiny_chat("fast_vlm"))
    monkeypatch.setattr(model._module, "generate", SimpleNamespace())
    with pytest.raises(TypeError, match="not callable"):
        generate_all(model, GOOD, 4)

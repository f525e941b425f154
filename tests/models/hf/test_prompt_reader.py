"""What prompts about an image have in common is read once, and answers that have ended leave the batch."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from eyechart.models.generation import generate_all
from eyechart.models.hf.batches import Prompt
from eyechart.models.hf.generator import HfGenerator
from eyechart.models.hf.prompt_reader import _find_shared_prefixes
from eyechart.models.spec import parse_spec
from eyechart.models.types import Request

Tiny = Callable[[str], Path]
FAMILIES = {  # and whether prompts share beginnings: not with linear attention, or if tokens see later ones
    "qwen3_vl": True,
    "qwen3_5": False,
    "paligemma": False,
}
BEGINNING = "say what you see in this picture, in one word or in two words, and nothing else. "
ENDS = ("what is it?", "is it a cat, a dog or a bird?", "bird?", "a house?")
CHOICES = ["cat", "dog house"]
PIXELS = np.random.default_rng(1).integers(0, 256, (3, 48, 48, 3), np.uint8)
REQUESTS = [Request((Image.fromarray(pixels), BEGINNING + end)) for pixels in PIXELS for end in ENDS]
TOKENS = 12

deep = pytest.mark.deep
of_paligemma = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")


def create(folder: Path, more: str = "") -> HfGenerator:
    return HfGenerator(parse_spec(f"hf[{folder}{more}]"), offline=True)


class Passes:
    """The rows and the tokens that the text model of a generator reads in each pass."""

    def __init__(self, model: HfGenerator) -> None:
        self.sizes: list[tuple[int, int]] = []
        model._module.get_decoder().register_forward_pre_hook(self.count, with_kwargs=True)

    def count(self, module: Any, given: tuple[Any, ...], named: dict[str, Any]) -> None:
        self.sizes.append(tuple(named["inputs_embeds"].shape[:2]))

    @property
    def n_tokens(self) -> int:
        return sum(rows * length for rows, length in self.sizes)


@deep
@of_paligemma
@pytest.mark.parametrize("family", FAMILIES)
def test_answers_and_scores_are_those_of_each_prompt_alone(tiny_chat: Tiny, family: str) -> None:
    model, alone = create(tiny_chat(family), ",batch_size=6"), create(tiny_chat(family), ",batch_size=1")
    asked = REQUESTS[:8]
    answers = generate_all(model, asked, TOKENS)
    assert model._reader.shares_prefixes is FAMILIES[family]
    expected = generate_all(alone, asked, TOKENS)
    assert [answer.tokens for answer in answers] == [answer.tokens for answer in expected]
    assert [answer.usage for answer in answers] == [answer.usage for answer in expected]
    assert len({answer.tokens for answer in answers}) > 1
    np.testing.assert_allclose(model.score(asked, CHOICES), alone.score(asked, CHOICES), rtol=0, atol=1e-5)


@deep
def test_what_an_image_s_prompts_have_in_common_is_read_once(tiny_chat: Tiny) -> None:
    model = create(tiny_chat("qwen3_vl"), ",batch_size=4")
    generate_all(model, REQUESTS[:4], 1)  # the first batch is read in both ways
    passes = Passes(model)
    generate_all(model, REQUESTS[4:], 1)
    whole = sum(model._chat.prepare_inputs(request)["input_ids"].shape[1] for request in REQUESTS[4:])
    assert [rows for rows, _ in passes.sizes] == [1, 4, 1, 4]
    assert passes.n_tokens < 0.6 * whole


@deep
def test_answers_that_have_ended_leave_the_batch(tiny_chat: Tiny) -> None:
    model = create(tiny_chat("fast_vlm"))
    answers = generate_all(model, REQUESTS, TOKENS)
    passes = Passes(model)
    assert generate_all(model, REQUESTS, TOKENS) == answers
    steps = [rows for rows, length in passes.sizes if length == 1]
    unfinished = [sum(len(answer.tokens) > step for answer in answers) for step in range(1, len(steps) + 1)]
    assert unfinished[-1] < len(REQUESTS) / 2
    assert steps[0] == len(REQUESTS)
    assert all(rows < 2 * left for rows, left in zip(steps, unfinished, strict=True))


def prompt(index: int, tokens: list[int], images: bytes = b"one") -> Prompt:
    return Prompt(index, {"input_ids": np.array([tokens])}, images)


@pytest.mark.parametrize(
    ("rows", "shared"),
    [
        ([[9, 9, 1, 2, 3], [9, 9, 1, 4]], 3),
        ([[9, 9, 1], [9, 9, 1]], 2),  # a token is left for each prompt to end in
        ([[1, 2, 3, 9, 4], [1, 2, 3, 9, 5]], 4),
        ([[1, 2, 3, 4, 9], [1, 2, 3, 5, 9]], 0),  # an image after what is shared
        ([[1, 9, 9, 9, 9], [2, 9, 9, 9, 9]], 0),
        ([[9, *range(10, 30)], [9, *range(30, 50)]], 0),  # too little
        ([[9, 9, 1, 2]], 0),
    ],
)
def test_the_tokens_that_prompts_about_an_image_share(rows: list[list[int]], shared: int) -> None:
    prompts = {index: prompt(index, row) for index, row in enumerate(rows)}
    assert {found.shared for found in _find_shared_prefixes(prompts, 9).values()} == {shared}
    assert {found.shared for found in _find_shared_prefixes(prompts, None).values()} == {0}


def test_prompts_about_different_images_or_none_share_nothing() -> None:
    tokens = [9, 9, 1, 2, 3]
    prompts = {index: prompt(index, tokens, images) for index, images in enumerate((b"one", b"two", b"", b""))}
    assert _find_shared_prefixes(prompts, 9) == prompts

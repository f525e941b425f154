"""Extreme images: each family answers them as transformers does, or says why it cannot, and loses no other answer."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from families import FAMILIES
from families.check import Comparison
from PIL import Image

from eyechart.models.generation import generate_all
from eyechart.models.types import Request

pytestmark = [
    pytest.mark.deep,
    pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning"),  # of PaliGemma's processor
    pytest.mark.filterwarnings("ignore:`hidden_state` is deprecated:FutureWarning"),  # of Mllama's own code
]


def noise(width: int, height: int) -> Image.Image:
    return Image.fromarray(np.random.default_rng(width).integers(0, 256, (height, width, 3), dtype=np.uint8))


@cache
def draw_images() -> dict[str, Image.Image]:
    """Return RGB images, which is what a model is given whatever the file is (test_images.py)."""
    return {"plain": noise(50, 40), "one pixel": noise(1, 1), "high": noise(2, 600), "wide": noise(3000, 4)}


@pytest.mark.parametrize("family", FAMILIES)
def test_an_image_is_answered_as_by_transformers_or_is_an_error(tiny_chat: Callable[[str], Path], family: str) -> None:
    requests = [Request((image, "what?")) for image in draw_images().values()]
    comparison = Comparison(tiny_chat(family), requests)
    answers = dict(zip(draw_images(), generate_all(comparison.generator, requests, 5), strict=True))
    assert not answers["plain"].error
    for request, answer in zip(requests, answers.values(), strict=True):
        if "leaves no room for an answer" in answer.error:  # more tokens than the model was made for
            continue
        expected = comparison.ask_transformers(request)
        if isinstance(expected, Exception):
            refusals = (f"{comparison.generator.spec}' cannot {verb} this request" for verb in ("take", "answer"))
            assert any(f"{refusal} ({type(expected).__name__}" in answer.error for refusal in refusals)
        else:
            assert (answer.error, answer.tokens) == ("", expected)

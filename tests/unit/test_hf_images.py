"""Extreme images: each family answers them as transformers does, or says why it cannot, and loses no other answer."""

from collections.abc import Callable
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from families import FAMILIES
from families.check import Comparison
from PIL import Image

from eyechart.data.images import decode_image
from eyechart.models.generation import generate_all
from eyechart.models.types import Request

pytestmark = [
    pytest.mark.deep,
    pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning"),  # of PaliGemma's processor
    pytest.mark.filterwarnings("ignore:`hidden_state` is deprecated:FutureWarning"),  # of Mllama's own code
]


def noise(width: int, height: int, channels: int = 3) -> Image.Image:
    pixels = np.random.default_rng(width).integers(0, 256, (height, width, channels), dtype=np.uint8)
    return Image.fromarray(pixels)


def reread(image: Image.Image, kind: str, **options: Any) -> Image.Image:
    """Return the RGB image that eyechart reads from a file."""
    file = BytesIO()
    image.save(file, kind, **options)
    return decode_image(file.getvalue(), kind)


@cache
def draw_images() -> dict[str, Image.Image]:
    deep = Image.fromarray(np.random.default_rng(0).integers(0, 2**16, (30, 40), dtype=np.uint16))
    frames = [noise(40, 30), noise(41, 30).crop((0, 0, 40, 30))]
    return {
        "plain": noise(50, 40),
        "one pixel": noise(1, 1),
        "high": noise(2, 600),
        "wide": noise(3000, 4),
        "16 bit": reread(deep, "PNG"),
        "CMYK": reread(noise(40, 30).convert("CMYK"), "JPEG"),
        "animated": reread(frames[0], "GIF", save_all=True, append_images=frames[1:]),
        "transparent": reread(noise(40, 30, channels=4), "PNG"),
    }


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

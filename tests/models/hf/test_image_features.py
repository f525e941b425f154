"""A model through transformers encodes the images of several prompts once, and answers as to each prompt alone."""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from eyechart.models.generation import generate_all
from eyechart.models.hf.generator import HfGenerator
from eyechart.models.spec import parse_spec
from eyechart.models.types import Request

pytestmark = pytest.mark.deep

Tiny = Callable[[str], Path]
FAMILIES = ("fast_vlm", "qwen3_vl", "mistral3")  # in one tensor, with deeper layers, and a tensor each
TEXTS = ("what is it?", "a cat or a dog?", "say the name of the bird that you see")


def create(folder: Path, more: str = "") -> HfGenerator:
    return HfGenerator(parse_spec(f"hf[{folder}{more}]"), offline=True)


def pictures(count: int) -> list[Image.Image]:
    chance = np.random.default_rng(1)
    return [Image.fromarray(chance.integers(0, 256, (48, 48, 3), np.uint8)) for _ in range(count)]


def ask_all(images: list[Image.Image]) -> list[Request]:
    return [Request((image, text)) for image in images for text in TEXTS]


class Encoder:
    """Counts the images that a model encodes."""

    def __init__(self, model: HfGenerator) -> None:
        self.n_images = 0
        module = model._module.base_model
        encode = module.get_image_features

        @wraps(encode)
        def count(*arguments: Any, **named: Any) -> Any:
            output = encode(*arguments, **named)
            self.n_images += len(output.pooler_output)
            return output

        module.get_image_features = count


@pytest.mark.parametrize("family", FAMILIES)
def test_an_image_of_several_prompts_is_encoded_once(tiny_chat: Tiny, family: str) -> None:
    model = create(tiny_chat(family), ",batch_size=4")
    encoder = Encoder(model)
    requests = ask_all(pictures(5))
    answers = generate_all(model, requests, 8)
    assert encoder.n_images == 5
    alone = generate_all(create(tiny_chat(family), ",batch_size=1"), requests[1::3], 8)  # of each image one
    assert [answer.tokens for answer in answers[1::3]] == [answer.tokens for answer in alone]
    assert len({answer.tokens for answer in answers}) > 1


def test_scores_use_the_features_of_answers(tiny_chat: Tiny) -> None:
    model = create(tiny_chat("qwen3_vl"))
    encoder = Encoder(model)
    requests = ask_all(pictures(2))
    generate_all(model, requests, 2)
    scores = model.score(requests, ["cat", "dog"])
    assert encoder.n_images == 2
    assert scores == pytest.approx(create(tiny_chat("qwen3_vl")).score(requests, ["cat", "dog"]), abs=1e-5)


def test_two_images_of_a_prompt_are_kept_in_their_order(tiny_chat: Tiny) -> None:
    one, two = pictures(2)
    requests = [Request((*pair, "which is it?")) for pair in ((one, two), (two, one), (one, two))]
    model = create(tiny_chat("qwen3_vl"))
    first, second, third = model.score(requests, ["cat", "dog"])
    assert first == pytest.approx(third, abs=1e-6)
    assert first != pytest.approx(second, abs=1e-6)
    alone = [create(tiny_chat("qwen3_vl")).score([request], ["cat", "dog"])[0] for request in requests]
    assert np.stack([first, second, third]) == pytest.approx(np.stack(alone), abs=1e-5)


def test_the_oldest_features_are_forgotten_when_the_memory_is_full(tiny_chat: Tiny) -> None:
    model = create(tiny_chat("fast_vlm"), ",batch_size=1")
    encoder = Encoder(model)
    one, two = pictures(2)
    generate_all(model, [Request((one, "so?"))], 1)
    model._reader.image_features.max_bytes = model._reader.image_features.n_bytes
    generate_all(model, [Request((two, "so?"))], 1)
    generate_all(model, [Request((two, "so?")), Request((one, "so? and so on"))], 1)
    assert encoder.n_images == 3

"""The trainer of toybox-mllm, on a few classes for a step or two of each stage."""

import json
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image

from eyechart.models.runtime.torchvision_repair import repair

repair()
from toybox import train_mllm  # noqa: E402
from toybox.crowds import crowds  # noqa: E402
from toybox.eyes import Eyes  # noqa: E402
from toybox.lessons import Lesson, augment_pixels, sequences  # noqa: E402
from toybox.pieces import IMAGE, Reader  # noqa: E402
from toybox.questions import QAPair  # noqa: E402
from toybox.sprites import sprites  # noqa: E402
from toybox.train_mllm import Words  # noqa: E402
from toybox.training import Plan  # noqa: E402

pytestmark = [pytest.mark.usefixtures("one_thread"), pytest.mark.deep]
FEW = (0, 2, 40, 80)
SHORT = Plan(seed=3, steps=3, batch=6, workers=0, classes=FEW)  # a step of the eyes, and two of the words
QUESTIONS = ("What is this?", "Which?\nA) cat\nB) dog face", "How many cat are there in the picture?")
Train = Callable[..., Path]


@pytest.fixture(scope="module")
def train(tmp_path_factory: pytest.TempPathFactory) -> Train:
    """Train in a folder, from its last checkpoint."""
    root = tmp_path_factory.mktemp("trained")

    def run(name: str, **changes: Any) -> Path:
        (root / name).mkdir(exist_ok=True)
        train_mllm.train(root / name, replace(SHORT, **changes))
        return root / name

    return run


@pytest.fixture(scope="module")
def whole(train: Train) -> Path:
    return train("whole")


def _state(folder: Path, name: str) -> dict[str, Any]:
    found: dict[str, Any] = torch.load(folder / name, weights_only=True)
    return found


def test_a_run_that_was_stopped_in_both_stages_ends_as_one_that_was_not(whole: Path, train: Train) -> None:
    for stop in (0, 1):
        train("stopped", stop=stop)
    parts = train("stopped")
    assert [_state(whole, name)["step"] for name in (Eyes.state, Words.state)] == [1, 2]
    assert _state(parts, Words.state)["losses"] == _state(whole, Words.state)["losses"]
    assert (parts / "model.safetensors").read_bytes() == (whole / "model.safetensors").read_bytes()


def test_a_finished_run_is_left_as_it_is(whole: Path, train: Train) -> None:
    before = {path.name: path.stat().st_mtime_ns for path in whole.iterdir() if path.suffix in {".pt", ".safetensors"}}
    train("whole")
    assert {name: (whole / name).stat().st_mtime_ns for name in before} == before


def test_training_sees_what_transformers_sees(whole: Path) -> None:
    from transformers import AutoModelForImageTextToText, AutoProcessor

    model = AutoModelForImageTextToText.from_pretrained(whole, dtype=torch.float32).eval()
    reader, processor = Reader(whole), AutoProcessor.from_pretrained(whole)
    pixels = crowds(sprites(("google",), FEW), 0, 1, 96, 0.0, (2,)).pixels.add(1).mul(127.5).round()
    image = Image.fromarray(pixels[0].byte().permute(1, 2, 0).numpy())
    (read,) = sequences(reader, [Lesson((0,), tuple(QAPair(text, "cat") for text in QUESTIONS))])
    with torch.no_grad():
        features = model.get_image_features(pixels / 127.5 - 1).pooler_output
        inputs = model.get_input_embeddings()(read.tokens)
        inputs = inputs.masked_scatter((read.tokens == reader.number(IMAGE))[..., None], features)
        states = model.model.language_model(
            inputs_embeds=inputs, attention_mask=read.mask().float(), position_ids=read.positions, use_cache=False
        ).last_hidden_state
        said = model.lm_head(states[read.wanted >= 0])[::2]
        asked = [_last(model, processor, image, text) for text in QUESTIONS]
    torch.testing.assert_close(said, torch.stack(asked), atol=1e-4, rtol=1e-4)


def _last(model: Any, processor: Any, image: Image.Image, text: str) -> torch.Tensor:
    parts = [{"type": "image", "image": image}, {"type": "text", "text": text}]
    chat = [{"role": "user", "content": parts}]
    read = processor.apply_chat_template(
        chat, add_generation_prompt=True, tokenize=True, return_dict=True, return_tensors="pt"
    )
    found: torch.Tensor = model(**read).logits[0, -1]
    return found


def test_fast_attention_is_attention(whole: Path) -> None:
    eyes = Eyes(whole, replace(SHORT, steps=4))
    (read,) = sequences(eyes.reader, [Lesson((), (QAPair("What is this?", "dog"),))])
    text = eyes.whole.model.language_model.eval()
    inputs = text.embed_tokens(read.tokens)
    with torch.no_grad():
        fast = text(inputs_embeds=inputs, attention_mask=read.mask().float(), use_cache=False).last_hidden_state
        eyes.whole.set_attn_implementation("eager")
        plain = text(inputs_embeds=inputs, use_cache=False).last_hidden_state
    torch.testing.assert_close(fast, plain, atol=1e-4, rtol=1e-4)


def test_the_folder_says_what_made_it(whole: Path) -> None:
    config = json.loads((whole / "config.json").read_text())
    assert config["architectures"] == ["FastVlmForConditionalGeneration"]
    assert config["image_seq_length"] == 36
    assert sum(path.stat().st_size for path in whole.iterdir() if path.suffix != ".pt") < 12_000_000


def test_birds_are_shifted_and_mirrored_not_recoloured() -> None:
    plain = torch.full((3, 3, 96, 96), 200, dtype=torch.uint8)
    moved = augment_pixels(plain, random.Random(0))
    assert moved.shape == plain.shape
    assert len({*moved.flatten().tolist()}) == 1

"""The trainers of the toy models: a stopped run ends as a whole one, on no art or text of the tests."""

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image

from eyechart.models.runtime.torchvision_repair import repair

repair()
from eyechart.toybox.art.bird_looks import species  # noqa: E402
from eyechart.toybox.art.styles import TRAINING  # noqa: E402
from toybox import questions, train_mllm, train_mllm_further  # noqa: E402
from toybox.crowds import crowds  # noqa: E402
from toybox.eyes import Eyes  # noqa: E402
from toybox.lessons import Lesson, sequences  # noqa: E402
from toybox.pieces import IMAGE, Reader, write_tokenizer  # noqa: E402
from toybox.questions import BIRDS, LONG, SHORT, WORDINGS, PictureContent, QAPair, draw_questions  # noqa: E402
from toybox.sprites import sprites  # noqa: E402
from toybox.texts import UNREAD  # noqa: E402
from toybox.train_clip import Training  # noqa: E402
from toybox.train_mllm import Words  # noqa: E402
from toybox.training import Plan  # noqa: E402

pytestmark = [pytest.mark.usefixtures("one_thread"), pytest.mark.deep]
FEW = (0, 2, 40, 80)
PLAN = Plan(seed=3, steps=3, batch=6, workers=0, classes=FEW)  # of toybox-mllm: a step of the eyes, two of the words
QUESTIONS = ("What is this?", "Which?\nA) cat\nB) dog face", "How many cat are there in the picture?")


def _train_mllm(folder: Path, **changes: Any) -> Path:
    folder.mkdir(exist_ok=True)
    train_mllm.train(folder, replace(PLAN, **changes))
    return folder


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a whole run of toybox-mllm."""
    return _train_mllm(tmp_path_factory.mktemp("trained") / "whole")


def test_a_stopped_run_of_toybox_clip_ends_as_a_whole_one(tmp_path: Path) -> None:
    def train(name: str, **changes: int) -> Training:
        (tmp_path / name).mkdir(exist_ok=True)
        training = Training(tmp_path / name, replace(PLAN, steps=2, batch=8, **changes))
        training.run()
        return training

    expected = train("whole")
    train("parts", stop=1)
    found = train("parts")
    assert found.losses == expected.losses
    weights = "open_clip_model.safetensors"
    assert (found.folder / weights).read_bytes() == (expected.folder / weights).read_bytes()


def test_a_stopped_run_of_toybox_mllm_ends_as_a_whole_one(whole: Path, tmp_path: Path) -> None:
    for stop in (0, 1):
        _train_mllm(tmp_path / "parts", stop=stop)
    parts = _train_mllm(tmp_path / "parts")
    states = [torch.load(whole / name, weights_only=True)["step"] for name in (Eyes.state, Words.state)]
    assert states == [1, 2]
    assert (parts / "model.safetensors").read_bytes() == (whole / "model.safetensors").read_bytes()


def test_the_third_stage_refuses_a_folder_without_a_model(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"holds no model.safetensors. Train it first"):
        train_mllm_further.main([str(tmp_path), "--steps", "1"])


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
        found = model.lm_head(states[read.wanted >= 0])[::2]
        expected = [_last_logits(model, processor, image, text) for text in QUESTIONS]
    torch.testing.assert_close(found, torch.stack(expected), atol=1e-4, rtol=1e-4)


def _last_logits(model: Any, processor: Any, image: Image.Image, text: str) -> torch.Tensor:
    parts = [{"type": "image", "image": image}, {"type": "text", "text": text}]
    inputs = processor.apply_chat_template(
        [{"role": "user", "content": parts}],
        add_generation_prompt=True,
        tokenize=True,
        return_dict=True,
        return_tensors="pt",
    )
    logits: torch.Tensor = model(**inputs).logits[0, -1]
    return logits


def test_no_art_and_no_text_of_the_tests_is_trained_on() -> None:
    assert len(PLAN.art().labels) == sum(len(sprites((style,), FEW).labels) for style in TRAINING)
    assert {*TRAINING} == {"google", "twitter", "fluent-flat"}
    kinds = [kind for kind in WORDINGS if kind.endswith(UNREAD)]
    assert len(kinds) == 4
    assert not any({*WORDINGS[kind]} & {*WORDINGS[kind.removesuffix(UNREAD)]} for kind in kinds)


def test_every_prompt_and_answer_comes_back_from_its_tokens(tmp_path: Path) -> None:
    write_tokenizer(tmp_path)
    reader = Reader(tmp_path)
    kinds: tuple[tuple[tuple[questions.Ask, int], ...], ...] = (SHORT, LONG, BIRDS)
    for asked in kinds:
        for question in draw_questions(PictureContent((5, 9, 9), species()[0]), asked, 40, random.Random(0)):
            for text in (question.prompt, question.answer):
                assert reader.text(reader.read(text)) == text

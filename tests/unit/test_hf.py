"""Answers in words through transformers, on tiny checkpoints of two architectures made here."""

import json
from collections.abc import Callable
from pathlib import Path
from shutil import copytree

import pytest

from eyechart.errors import ModelError, SpecError
from eyechart.models.hf_generator import Hf
from eyechart.models.interfaces import Generator, Request
from eyechart.models.vision_ops import repair
from eyechart.spec import parse

repair()  # before any test imports transformers itself
FAMILIES = ("fast_vlm", "qwen3_vl")
Tiny = Callable[[str], Path]


def ours(folder: Path, more: str = "") -> Hf:
    return Hf(parse(f"hf[{folder}{more}]"), offline=True)


def alone(folder: Path, request: Request, tokens: int) -> tuple[int, ...]:
    """What transformers' own loop says to one request."""
    import torch
    from transformers import AutoModelForImageTextToText, AutoProcessor

    processor, model = AutoProcessor.from_pretrained(folder), AutoModelForImageTextToText.from_pretrained(folder)
    parts = [
        {"type": "text", "text": one} if isinstance(one, str) else {"type": "image", "image": one}
        for one in request.parts
    ]
    how = {"add_generation_prompt": True, "tokenize": True, "return_dict": True, "return_tensors": "pt"}
    asked = processor.apply_chat_template([{"role": "user", "content": parts}], **how)
    with torch.inference_mode():
        said = model.eval().generate(**asked, max_new_tokens=tokens, do_sample=False)
    return tuple(said[0, asked["input_ids"].shape[1] :].tolist())


@pytest.fixture
def changed(tiny_chat: Tiny, tmp_path: Path) -> Callable[..., Path]:
    """Copy a checkpoint with some settings changed in one of its files."""

    def change(name: str, **settings: object) -> Path:
        folder = Path(copytree(tiny_chat("fast_vlm"), tmp_path / "changed"))
        told = json.loads((folder / name).read_text())
        (folder / name).write_text(json.dumps(told | settings))
        return folder

    return change


@pytest.mark.parametrize("family", FAMILIES)
def test_it_is_a_generator(tiny_chat: Tiny, family: str) -> None:
    assert isinstance(ours(tiny_chat(family)), Generator)


@pytest.mark.parametrize("family", FAMILIES)
def test_answers_in_batches_equal_transformers_own_one_by_one(
    tiny_chat: Tiny, family: str, questions: list[Request]
) -> None:
    said = ours(tiny_chat(family), ",batch_size=5").generate(questions, 8)
    assert [answer.tokens for answer in said] == [alone(tiny_chat(family), question, 8) for question in questions]


@pytest.mark.parametrize("family", FAMILIES)
def test_answers_differ_and_some_come_to_their_end(tiny_chat: Tiny, family: str, questions: list[Request]) -> None:
    said = ours(tiny_chat(family)).generate(questions, 8)
    assert len({answer.tokens for answer in said}) > len(said) // 2
    assert {answer.finished for answer in said} == {True, False}


def test_an_answer_holds_its_end_of_turn_but_not_in_its_text(tiny_chat: Tiny, questions: list[Request]) -> None:
    model = ours(tiny_chat("fast_vlm"))
    finished = [answer for answer in model.generate(questions, 8) if answer.finished]
    assert {answer.tokens[-1] for answer in finished} == {model._chat.end}
    assert not any("<" in answer.text for answer in finished)


def test_no_answer_is_longer_than_asked(tiny_chat: Tiny, questions: list[Request]) -> None:
    model = ours(tiny_chat("fast_vlm"))
    short, long = model.generate(questions, 2), model.generate(questions, 8)
    assert [answer.tokens for answer in short] == [answer.tokens[:2] for answer in long]


def test_nothing_asked_is_nothing_answered(tiny_chat: Tiny) -> None:
    assert ours(tiny_chat("fast_vlm")).generate([], 8) == []


def test_it_is_greedy_whatever_the_checkpoint_asks_for(
    tiny_chat: Tiny, changed: Callable[..., Path], questions: list[Request]
) -> None:
    wild = {"do_sample": True, "temperature": 9.0, "repetition_penalty": 5.0, "eos_token_id": [1279]}
    folder = changed("generation_config.json", **wild)
    assert ours(folder).generate(questions, 8) == ours(tiny_chat("fast_vlm")).generate(questions, 8)


def test_weights_are_loaded_once_and_only_for_an_answer(tiny_chat: Tiny, questions: list[Request]) -> None:
    model = ours(tiny_chat("fast_vlm"))
    assert (model.identity.backend, model.loads) == ("hf", 0)
    for _ in range(2):
        model.generate(questions[:1], 1)
    assert model.loads == 1


@pytest.mark.parametrize("name", ["chat_template.jinja", "tokenizer.json", "processor_config.json", "config.json"])
def test_what_shapes_a_prompt_is_part_of_the_identity(tiny_chat: Tiny, tmp_path: Path, name: str) -> None:
    folder = Path(copytree(tiny_chat("fast_vlm"), tmp_path / "fast_vlm"))
    before = ours(folder).identity
    (folder / name).write_text((folder / name).read_text() + "\n")
    assert ours(folder).identity.processor != before.processor
    assert ours(folder).identity.weights_sha256 == before.weights_sha256


def test_the_dtype_is_honoured_and_recorded(tiny_chat: Tiny, questions: list[Request]) -> None:
    low = ours(tiny_chat("fast_vlm"), ",dtype=bfloat16")
    assert low.identity.dtype == "bfloat16"
    assert len(low.generate(questions, 2)) == len(questions)
    assert str(next(low._module.parameters()).dtype) == "torch.bfloat16"


def test_without_a_chat_template(tiny_chat: Tiny, tmp_path: Path, questions: list[Request]) -> None:
    folder = Path(copytree(tiny_chat("fast_vlm"), tmp_path / "mute"))
    (folder / "chat_template.jinja").unlink()
    with pytest.raises(ModelError, match=r"mute has no chat template.*instruction-tuned"):
        ours(folder).generate(questions, 2)


def test_offline_and_missing(empty_hub: Path) -> None:
    with pytest.raises(ModelError, match=r"--eye-offline forbids fetching it.*`hf download qwen/nothing`"):
        _ = Hf(parse("hf[qwen/nothing]"), offline=True).identity


def test_a_model_must_be_named() -> None:
    with pytest.raises(SpecError, match=r"names no model\. Expected hf\[PATH\]"):
        Hf(parse("hf[]"))

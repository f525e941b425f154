"""Answers in words through transformers, on tiny checkpoints of two architectures made here."""

import json
import re
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

from eyechart.errors import ModelError, SpecError
from eyechart.models.generation import generate_all
from eyechart.models.hf.generator import HfGenerator
from eyechart.models.spec import parse_spec
from eyechart.models.types import Generator, Request, Usage

pytestmark = pytest.mark.deep

FAMILIES = ("fast_vlm", "qwen3_vl")
Tiny = Callable[[str], Path]


def ours(folder: Path, more: str = "") -> HfGenerator:
    return HfGenerator(parse_spec(f"hf[{folder}{more}]"), offline=True)


@dataclass(frozen=True)
class Theirs:
    """What transformers' own loops give, one request at a time."""

    model: Any
    processor: Any

    def asked(self, request: Request) -> Any:
        """A request as tensors."""
        text, image = {"type": "text"}, {"type": "image"}
        parts = [text | {"text": part} if isinstance(part, str) else image | {"image": part} for part in request.parts]
        how = {"add_generation_prompt": True, "tokenize": True, "return_dict": True, "return_tensors": "pt"}
        return self.processor.apply_chat_template([{"role": "user", "content": parts}], **how)

    def said(self, request: Request, tokens: int) -> tuple[int, ...]:
        """The tokens of an answer."""
        asked = self.asked(request)
        said = self.model.generate(**asked, max_new_tokens=tokens, do_sample=False)
        return tuple(said[0, asked["input_ids"].shape[1] :].tolist())


@cache
def theirs(folder: Path) -> Theirs:
    from transformers import AutoModelForImageTextToText, AutoProcessor

    return Theirs(AutoModelForImageTextToText.from_pretrained(folder).eval(), AutoProcessor.from_pretrained(folder))


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
    said = generate_all(ours(tiny_chat(family), ",batch_size=5"), questions, 8)
    expected = [theirs(tiny_chat(family)).said(question, 8) for question in questions]
    assert [answer.tokens for answer in said] == expected


@pytest.mark.parametrize("family", FAMILIES)
def test_answers_differ_and_some_come_to_their_end(tiny_chat: Tiny, family: str, questions: list[Request]) -> None:
    said = generate_all(ours(tiny_chat(family)), questions, 8)
    assert len({answer.tokens for answer in said}) > len(said) // 2
    assert {answer.finished for answer in said} == {True, False}


def test_an_answer_holds_its_end_of_turn_but_not_in_its_text(tiny_chat: Tiny, questions: list[Request]) -> None:
    model = ours(tiny_chat("fast_vlm"))
    finished = [answer for answer in generate_all(model, questions, 8) if answer.finished]
    assert {answer.tokens[-1] for answer in finished} == {model._chat.end_token}
    assert not any("<" in answer.text for answer in finished)


def test_no_answer_is_longer_than_asked(tiny_chat: Tiny, questions: list[Request]) -> None:
    model = ours(tiny_chat("fast_vlm"))
    short, long = generate_all(model, questions, 2), generate_all(model, questions, 8)
    assert [answer.tokens for answer in short] == [answer.tokens[:2] for answer in long]


def test_nothing_asked_is_nothing_answered(tiny_chat: Tiny) -> None:
    assert generate_all(ours(tiny_chat("fast_vlm")), [], 8) == []


def test_it_is_greedy_whatever_the_checkpoint_asks_for(
    tiny_chat: Tiny, changed: Callable[..., Path], questions: list[Request]
) -> None:
    wild = {"do_sample": True, "temperature": 9.0, "repetition_penalty": 5.0, "eos_token_id": [1279]}
    folder = changed("generation_config.json", **wild)
    assert generate_all(ours(folder), questions, 8) == generate_all(ours(tiny_chat("fast_vlm")), questions, 8)


def test_weights_are_loaded_once_and_only_for_an_answer(tiny_chat: Tiny, questions: list[Request]) -> None:
    model = ours(tiny_chat("fast_vlm"))
    assert (model.identity.backend, model.loads) == ("hf", 0)
    for _ in range(2):
        generate_all(model, questions[:1], 1)
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
    assert len(generate_all(low, questions, 2)) == len(questions)
    assert str(next(low._module.parameters()).dtype) == "torch.bfloat16"


def test_a_prompt_that_leaves_no_room_for_the_answer_is_an_error_of_its_own(
    tiny_chat: Tiny, questions: list[Request]
) -> None:
    model = ours(tiny_chat("fast_vlm"))
    first, long, last = generate_all(model, [questions[0], Request(("so on " * 900,)), questions[1]], 8)
    assert re.search(r"up to 2048 tokens; a prompt of \d+ leaves no room for an answer of 8", long.error)
    assert [first, last] == generate_all(model, questions[:2], 8)


def test_no_score_where_there_is_no_room(tiny_chat: Tiny) -> None:
    with pytest.raises(ModelError, match="leaves no room"):
        ours(tiny_chat("fast_vlm")).score([Request(("so on " * 900,))], ["cat"])


@pytest.mark.parametrize("family", FAMILIES)
def test_tokens_are_counted(tiny_chat: Tiny, family: str, questions: list[Request]) -> None:
    asked = [theirs(tiny_chat(family)).asked(question)["input_ids"].shape[1] for question in questions]
    said = generate_all(ours(tiny_chat(family)), questions, 8)
    assert [answer.usage for answer in said] == [
        Usage(prompt, 0, len(answer.tokens)) for prompt, answer in zip(asked, said, strict=True)
    ]


def test_without_a_chat_template(tiny_chat: Tiny, tmp_path: Path, questions: list[Request]) -> None:
    folder = Path(copytree(tiny_chat("fast_vlm"), tmp_path / "mute"))
    (folder / "chat_template.jinja").unlink()
    with pytest.raises(ModelError, match=r"mute has no chat template.*instruction-tuned checkpoint"):
        generate_all(ours(folder), questions, 2)


def test_offline_and_missing(empty_hub: Path) -> None:
    with pytest.raises(ModelError, match=r"--eye-offline forbids fetching it.*`hf download qwen/nothing`"):
        _ = HfGenerator(parse_spec("hf[qwen/nothing]"), offline=True).identity


def test_a_model_must_be_named() -> None:
    with pytest.raises(SpecError, match=r"names no model\. Expected hf\[PATH\]"):
        HfGenerator(parse_spec("hf[]"))


UNTIL_TRANSFORMERS = """
import sys
from eyechart.models.hf.generator import HfGenerator
from eyechart.models.runtime.torchvision_repair import repair
from eyechart.models.spec import parse_spec
from eyechart.models.types import Request

class Watch:
    def find_spec(self, name, *_):
        if name == "transformers":
            print(repair.cache_info().currsize)
            sys.exit()

sys.meta_path.insert(0, Watch())
list(HfGenerator(parse_spec("hf[toybox-mllm]"), offline=True).generate([Request(("?",))], 1))
"""


def test_torchvision_is_repaired_before_transformers_is_imported(torch_python: Sequence[str]) -> None:
    done = subprocess.run([*torch_python, "-c", UNTIL_TRANSFORMERS], capture_output=True, text=True, check=False)
    assert done.stdout == "1\n", done.stderr

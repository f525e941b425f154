"""How fast `hf` answers beside a plain loop of transformers: batches in their order, padded, `generate`."""

import json
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import torch
from PIL import Image

from eyechart.data.labels.class_names import load_class_names
from eyechart.models.generation import generate_all
from eyechart.models.hf.generator import HfGenerator
from eyechart.models.spec import parse_spec
from eyechart.models.types import Request

from .big_model import big_qwen3_vl
from .paired import ratio

BATCH, TOKENS = 16, 64
IMAGES, EACH = 8, 8  # images, and questions about each
STOPS = 12  # of a hundred tokens of a model with random weights that end an answer, so that lengths differ
Tokens = tuple[int, ...]


@dataclass
class Bench:
    """A model and its questions; both sides have the same weights and processor in memory."""

    name: str
    path: str
    asked: Sequence[Request] = field(default_factory=lambda: [*questions()])

    @cached_property
    def model(self) -> HfGenerator:
        """The model."""
        return HfGenerator(parse_spec(f"hf[{self.path},batch_size={BATCH}]"), offline=True)

    def ours(self) -> list[Tokens]:
        """The tokens of all answers."""
        return [answer.tokens for answer in generate_all(self.model, self.asked, TOKENS)]

    def theirs(self) -> list[Tokens]:
        """The same by a plain loop."""
        chat, module = self.model._chat, self.model._module
        chat._tokenizer.padding_side = "left"
        answers: list[Tokens] = []
        for start in range(0, len(self.asked), BATCH):
            requests = self.asked[start : start + BATCH]
            texts, images = [chat.render_prompt(request) for request in requests], [[*r.images] for r in requests]
            inputs = chat._processor(text=texts, images=images, padding=True, return_tensors="pt")
            with torch.inference_mode():
                output: Any = module.generate(**inputs, max_new_tokens=TOKENS)
            rows = output[:, inputs["input_ids"].shape[1] :].tolist()
            answers += [chat.decode_answer(row, 0).tokens for row in rows]
        return answers

    def fact(self, pairs: int) -> str:
        """The ratio, how many answers are the same, and their lengths."""
        ours, theirs = self.ours(), self.theirs()
        same = sum(one == other for one, other in zip(ours, theirs, strict=True))
        lengths = np.array([len(answer) for answer in ours])
        times = "{:.2f} ({:.2f}–{:.2f})".format(*ratio(self.ours, self.theirs, pairs))
        return (
            f"{self.name}, {len(ours)} questions about {IMAGES} images, answers of {lengths.min()} to {lengths.max()} "
            f"tokens ({lengths.mean():.0f} on average): {times} times the speed of transformers' generate in a plain "
            f"loop with batches of {BATCH}; {same} answers have the same tokens"
        )


def questions() -> Iterator[Request]:
    """Questions of several lengths, in a random order, with several about each image."""
    random, noise = Random(0), np.random.default_rng(0)
    names = load_class_names("mill").names
    asked = []
    for _ in range(IMAGES):
        image = Image.fromarray(noise.integers(0, 256, (224, 224, 3), dtype=np.uint8))
        for _ in range(EACH):
            choices = "\n".join(random.sample(names, random.choice((4, 10, 40))))
            asked.append(Request((image, f"Which of these is in the image?\n{choices}")))
    random.shuffle(asked)
    yield from asked


def facts(pairs: int) -> Iterator[str]:
    """For the packaged model and for a large one."""
    yield Bench("toybox-mllm", "toybox-mllm").fact(pairs)
    with tempfile.TemporaryDirectory() as name:
        folder = big_qwen3_vl(Path(name), "toybox-mllm")
        end_sooner(folder)
        yield Bench("a random Qwen3-VL of 60 M", str(folder)).fact(pairs)


def end_sooner(folder: Path) -> None:
    """Let some tokens of a checkpoint end an answer."""
    words = json.loads((folder / "config.json").read_text(encoding="utf-8"))["text_config"]["vocab_size"]
    stops = Random(0).sample(range(words), words * STOPS // 100)
    path = folder / "generation_config.json"
    settings = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    path.write_text(json.dumps(settings | {"eos_token_id": stops}), encoding="utf-8")


if __name__ == "__main__":
    for line in facts(3):
        print(line, flush=True)

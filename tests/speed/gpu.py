"""What eyechart takes on a GPU beside bare loops of the same models, all with random weights.

    python -m tests.speed.gpu                      all of it on `cuda`, in less than 10 minutes of one GPU
    python -m tests.speed.gpu cuda full inductor   language models that torch.compile compiles, which takes longer
    python -m tests.speed.gpu cpu toy              the same steps in seconds, as the tests run them

Encoders get photographs of 500 x 375 pixels from processes; their peer is the forward pass alone over one batch that
lies on the GPU. The peers of the posterior read every name behind its own prompt, or behind one kept cache of it; that
of short answers is `generate` of transformers over batches of as many prompts.
"""

import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import torch
from PIL import Image

from eyechart.models.generation import generate_all
from eyechart.models.hf import batches
from eyechart.models.hf.generator import HfGenerator
from eyechart.models.spec import parse_spec
from eyechart.models.types import Request

from . import feeding
from .big_model import save_big_model
from .paired import ratio
from .posterior import IMAGE, NAMES, behind_cache, brute_force

TOKENS = 16  # of a short answer, and of the greedy answer beside a posterior
TOY = {
    "embed_dim": 16,
    "vision_cfg": {"image_size": 32, "layers": 1, "width": 32, "head_width": 16, "patch_size": 16},
    "text_cfg": {"context_length": 8, "vocab_size": 49408, "width": 16, "heads": 1, "layers": 1},
}


class Row(NamedTuple):
    """A line of the table: what was measured, the median with the least and largest, and what is expected."""

    what: str
    measured: str
    target: str


@dataclass(frozen=True)
class Size:
    """How much is measured: images of each encoder, names, the part of them that is read one by one, and questions."""

    encoders: Mapping[str, tuple[Callable[[], Mapping[str, Any]], int, str]]
    names: int
    every: int
    questions: int
    pairs: int
    large: bool


def _named(name: str) -> Callable[[], Mapping[str, Any]]:
    return lambda: feeding.architecture(name)


SIZES = {
    "full": Size(
        encoders={
            "ViT-B-32": (_named("ViT-B-32"), 20_000, "what the processors prepare"),
            "ViT-L-14": (_named("ViT-L-14"), 8_000, "≥ 0.9"),
            "ViT-SO400M-14-SigLIP-384": (_named("ViT-SO400M-14-SigLIP-384"), 2_000, "≥ 0.9"),
        },
        names=len(NAMES),
        every=25,
        questions=256,
        pairs=3,
        large=True,
    ),
    "toy": Size({"toy": (lambda: TOY, 128, "")}, names=8, every=4, questions=4, pairs=1, large=False),
}


def spoken(found: tuple[float, float, float]) -> str:
    """Return a ratio with its range.

    >>> spoken((1.0, 0.95, 13.061))
    '1 (0.95–13.1)'
    """
    return "{:.3g} ({:.3g}–{:.3g})".format(*found)


def encoder_rows(device: str, size: Size) -> Iterator[Row]:
    """Yield the speed of each encoder beside its forward pass alone."""
    for name, (settings, images, target) in size.encoders.items():
        with tempfile.TemporaryDirectory() as folder:
            bench = feeding.Bench(Path(folder), images, device, settings(), computes=True)
            bench.processes()  # the processes start, and the GPU chooses its kernels
            bench.forward()
            times = spoken(ratio(bench.processes, bench.forward, size.pairs))
            started = perf_counter()
            bench.processes()
            pace = images / (perf_counter() - started)
            bench.started.close()
        what = f"{name} at {bench.side} px: {bench.workers} processors beside the forward pass alone"
        yield Row(what, f"{times}; {pace:,.0f} images a second", target)


def language_rows(name: str, spec: str, device: str, size: Size) -> Iterator[Row]:
    """Yield the speed of the posterior and of short answers of a language model beside its peers."""
    model, choices = HfGenerator(parse_spec(spec), device=device, offline=True), NAMES[: size.names]
    request = Request((IMAGE, f"What is this?{' again' * 200}"))

    def posterior() -> object:
        return model.score([request], choices)

    def one_by_one() -> object:
        return brute_force(model, request, choices[:: size.every])

    def kept() -> object:
        return behind_cache(model, request, choices)

    def greedy() -> object:
        return generate_all(model, [request], TOKENS)

    scores = model.score([request], choices)[0]
    apart = max(
        np.abs(scores[:: size.every] - brute_force(model, request, choices[:: size.every])).max(),
        np.abs(scores - behind_cache(model, request, choices)).max(),
    )
    greedy()
    what = f"{name}: posterior of {size.names:,} names"
    parts = len(choices) / len(choices[:: size.every])
    found = spoken(ratio(posterior, one_by_one, size.pairs, parts))
    yield Row(f"{what} beside every name behind its own prompt", f"{found}; {apart:.0e} apart at most", "≥ 50")
    yield Row(f"{what} beside one kept cache", spoken(ratio(posterior, kept, size.pairs)), "≥ 6")
    yield Row(f"{what} in greedy answers of {TOKENS} tokens", spoken(ratio(greedy, posterior, size.pairs)), "")
    yield _answers_row(name, model, size)


def _answers_row(name: str, model: HfGenerator, size: Size) -> Row:
    """Return the speed of short answers to different questions about different images."""
    draws = np.random.default_rng(0)
    requests = [
        Request((Image.fromarray(draws.integers(0, 256, (224, 224, 3), dtype=np.uint8)), f"What is number {number}?"))
        for number in range(size.questions)
    ]

    def ours() -> list[str]:
        return [answer.text for answer in generate_all(model, requests, TOKENS)]

    def theirs() -> list[str]:
        like, texts = next(model._module.parameters()), list[str]()
        for start in range(0, len(requests), model.batch_size):
            prompts = [model._chat.prepare_inputs(one) for one in requests[start : start + model.batch_size]]
            batch = batches.collate(prompts, model._chat.padding_token, like)
            length = batch["input_ids"].shape[1]
            with torch.inference_mode():
                told = model._module.generate(**batch, max_new_tokens=TOKENS, do_sample=False)[:, length:].tolist()
            texts += [model._chat.decode_answer(tokens, length).text for tokens in told]
        return texts

    equal = sum(one == other for one, other in zip(ours(), theirs(), strict=True))
    found = spoken(ratio(ours, theirs, size.pairs))
    what = f"{name}: {size.questions} answers of {TOKENS} tokens beside a loop of generate"
    return Row(what, f"{found}; {equal} of {size.questions} equal", "≥ 1.0")


def rows(device: str = "cuda", size: str = "full", compiler: str = "") -> Iterator[Row]:
    """Yield all rows; a `compiler`, such as inductor, compiles the language models."""
    chosen, option = SIZES[size], f",compile={compiler}" if compiler else ""
    yield from encoder_rows(device, chosen)
    yield from language_rows("toybox-mllm", f"hf[toybox-mllm{option}]", device, chosen)
    if chosen.large:
        with tempfile.TemporaryDirectory() as folder:
            model = save_big_model(Path(folder))
            yield from language_rows("Qwen3-VL of 50 M weights", f"hf[{model}{option}]", device, chosen)


if __name__ == "__main__":
    print("| what | measured | target |\n|---|---|---|", flush=True)
    for row in rows(*sys.argv[1:]):
        print(f"| {' | '.join(row)} |", flush=True)

"""What the likelihoods of 1000 names cost beside one greedy answer, and beside two peers.

The simple peer reads the whole prompt with every name. The strong one reads it once and keeps its cache, behind which
it reads the names in batches.
"""

import copy
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from statistics import median
from time import process_time
from typing import Any

import numpy as np
import torch
from PIL import Image

from eyechart.classification.answers.image_batches import closed_world_prompt, format_class_list
from eyechart.data.labels.class_names import load_class_names
from eyechart.models.generation import generate_all
from eyechart.models.hf import batches, trie_scoring
from eyechart.models.hf.generator import MAX_LOGITS, HfGenerator
from eyechart.models.spec import parse_spec
from eyechart.models.types import Floats, Request

from .big_model import save_big_model
from .paired import Work, ratio

NAMES = load_class_names("kisel").names
FORMS = {"names": "{}", "JSON": '{{"1": "{}"}}'}
LENGTH = 300  # of a prompt, in tokens
TOGETHER = 16  # names in one batch of the simple peer's
BEHIND = 50  # names in one batch behind a kept cache
FEW = 25  # of the large model's peer only each 25th name is timed: one name costs as much as another
IMAGE = Image.fromarray(np.random.default_rng(0).integers(0, 256, (224, 224, 3), dtype=np.uint8))


@dataclass
class Bench:
    """A model, and how many tokens its text model has read."""

    name: str
    path: str
    tokens: int = 0
    largest: int = 0
    every: int = 1
    chosen: dict[str, list[str]] = field(
        default_factory=lambda: {kind: [form.format(name) for name in NAMES] for kind, form in FORMS.items()}
    )

    @cached_property
    def model(self) -> HfGenerator:
        """The model, with somebody counting."""
        found = HfGenerator(parse_spec(f"hf[{self.path}]"), offline=True)
        found._module.get_decoder().register_forward_pre_hook(self.count, with_kwargs=True)
        found._module.get_output_embeddings().register_forward_hook(self.weigh)
        return found

    def count(self, module: object, given: object, named: dict[str, Any]) -> None:
        """Count the tokens of a pass."""
        self.tokens += named["inputs_embeds"].shape[0] * named["inputs_embeds"].shape[1]

    def weigh(self, module: object, given: object, logits: torch.Tensor) -> None:
        """Remember the most logits of a pass."""
        self.largest = max(self.largest, logits.numel())

    @cached_property
    def short(self) -> Request:
        """A question of so many tokens, its image's among them."""
        words, request = "", Request((IMAGE, "What is this?"))
        while len(self.model._chat.prepare_inputs(request)["input_ids"][0]) < LENGTH:
            words += " again"
            request = Request((IMAGE, f"What is this?{words}"))
        return request

    @cached_property
    def closed_world(self) -> Request:
        """The question that lists all names."""
        text = closed_world_prompt().text.replace("{class_list}", format_class_list(NAMES))
        return Request((IMAGE, text))

    def read(self, work: Work) -> int:
        """How many tokens some work makes the text model read."""
        self.tokens = 0
        work()
        return self.tokens

    def answer(self, request: Request, kind: str) -> Work:
        """One greedy answer, which a model with random weights would not end: it is as long as a choice is."""
        long = int(median(map(len, self.model._chat.tokenize_choices(self.chosen[kind]))))
        return lambda: generate_all(self.model, [request], long)

    def score(self, request: Request, kind: str) -> Work:
        """The posterior."""
        return lambda: self.model.score([request], self.chosen[kind])

    def best(self, request: Request, kind: str) -> Work:
        """The best choice."""
        return lambda: self.model.best([request], self.chosen[kind])

    def alone(self, request: Request, kind: str, every: int = 1) -> Work:
        """The peer: the whole prompt and one choice for each, in batches."""
        return lambda: brute_force(self.model, request, self.chosen[kind][::every])

    def memory(self, request: Request, kind: str) -> float:
        """By how many MiB the posterior raises what a greedy answer needed at most."""
        self.answer(request, kind)()
        before = getrusage(RUSAGE_SELF).ru_maxrss
        self.score(request, kind)()
        return (getrusage(RUSAGE_SELF).ru_maxrss - before) / 1024

    def facts(self, pairs: int) -> Iterator[str]:
        """Everything about this model."""
        for where, request in (("prompt", self.short), ("closed-world prompt", self.closed_world)):
            length = batches.prompt_length(self.model._chat.prepare_inputs(request))
            for kind in FORMS:
                what = f"{self.name}, {length}-token {where}, 1000 {kind}"
                yield f"{what}: {self.costs(request, kind)}"
                yield f"{what}: {self.beside_an_answer(request, kind, pairs)}"
        for kind in FORMS:
            yield f"{self.name}, {LENGTH}-token prompt, 1000 {kind}: {self.beside_brute_force(kind, pairs)}"
        for where, request in (("prompt", self.short), ("closed-world prompt", self.closed_world)):
            for kind in FORMS:
                yield f"{self.name}, {where}, 1000 {kind}: {self.beside_kept_cache(request, kind, pairs)}"

    def costs(self, request: Request, kind: str) -> str:
        """Memory and tokens."""
        grown = self.memory(request, kind)
        self.largest = 0
        read, sought = self.read(self.score(request, kind)), self.read(self.best(request, kind))
        prompt, (nodes, likelier) = (
            batches.prompt_length(self.model._chat.prepare_inputs(request)),
            self.nodes(request, kind),
        )
        return (
            f"posterior {read} tokens ({nodes} inner nodes, {read - prompt - nodes} besides prompt and nodes), "
            f"best choice {sought} ({likelier} nodes are likelier than it and cannot be skipped); "
            f"peak memory {grown:+.0f} MiB over a greedy answer's, {self.largest / 2**20:.1f} Mi logits at most"
        )

    def nodes(self, request: Request, kind: str) -> tuple[int, int]:
        """How many inner nodes there are, and how many of them are likelier than every choice."""

        def count(read: Any, trie: Any) -> tuple[int, int]:
            edges = trie_scoring.log_probabilities(read, trie, MAX_LOGITS[True])
            return len(trie.nodes) - 1, int((trie.node_sums(edges)[0, 1:] > trie.choice_sums(edges).max()).sum())

        ((_, counts),) = self.model._of_each([request], self.chosen[kind], "end", count)
        return counts

    def beside_an_answer(self, request: Request, kind: str, pairs: int) -> str:
        """How many greedy answers they take."""
        answer = self.answer(request, kind)
        found = [ratio(answer, work(request, kind), pairs) for work in (self.score, self.best)]
        spoken = ["{:.2f} ({:.2f}–{:.2f})".format(*one) for one in found]
        return f"time over one greedy answer's: posterior {spoken[0]}, best choice {spoken[1]}"

    def beside_brute_force(self, kind: str, pairs: int) -> str:
        """How many times less and faster, and how far apart."""
        ours, theirs = self.score(self.short, kind), self.alone(self.short, kind, self.every)
        fewer = LENGTH * len(NAMES) + sum(len(row) - 1 for row in self.model._chat.tokenize_choices(self.chosen[kind]))
        apart = np.abs(self.model.score([self.short], self.chosen[kind])[0, :: self.every] - theirs()).max()
        faster = "{:.0f} ({:.0f}–{:.0f})".format(*ratio(ours, theirs, pairs, self.every))
        return (
            f"{fewer / self.read(ours):.0f} times fewer tokens than every name behind its own prompt, {faster} times "
            f"faster, {apart:.0e} apart at most"
        )

    def beside_kept_cache(self, request: Request, kind: str, pairs: int) -> str:
        """How many times less CPU time than a peer that keeps the prompt's cache, and how far apart."""
        ours, choices = self.score(request, kind), self.chosen[kind]
        apart = np.abs(self.model.score([request], choices)[0] - behind_cache(self.model, request, choices)).max()

        def theirs() -> object:
            return behind_cache(self.model, request, choices)

        times = "{:.1f} ({:.1f}–{:.1f})".format(*ratio(ours, theirs, pairs, clock=process_time))
        return (
            f"CPU time of names in batches of {BEHIND} behind one kept cache over the posterior's: {times}, "
            f"{apart:.0e} apart at most"
        )


def behind_cache(model: HfGenerator, request: Request, choices: Sequence[str]) -> Floats:
    """Log-probabilities (choices,) with the prompt read once and its cache copied for each batch of choices."""
    rows, like = model._chat.tokenize_choices(choices), next(model._module.parameters())
    prompt = batches.collate([model._chat.prepare_inputs(request)], model._chat.padding_token, like)
    length, found = prompt["input_ids"].shape[1], np.empty(len(rows), np.float32)
    order = sorted(range(len(rows)), key=lambda index: len(rows[index]))
    with torch.inference_mode():
        read = model._module(**prompt, use_cache=True, logits_to_keep=1)
        first = read.logits[0, -1].log_softmax(-1)
        for start in range(0, len(order), BEHIND):
            indices = order[start : start + BEHIND]
            width = max(1, *(len(rows[index]) - 1 for index in indices))
            tokens = torch.tensor([[*rows[index][:-1], *[0] * width][:width] for index in indices], device=like.device)
            cache = copy.deepcopy(read.past_key_values)
            cache.batch_repeat_interleave(len(indices))
            mask = torch.ones(len(indices), length + width, dtype=torch.long, device=like.device)
            logits = model._module(input_ids=tokens, past_key_values=cache, attention_mask=mask).logits.log_softmax(-1)
            for number, index in enumerate(indices):
                row = rows[index]
                after = torch.tensor(row[1:], device=like.device, dtype=torch.long)
                rest = logits[number, : len(after)].gather(1, after[:, None]).sum()
                found[index] = float(first[row[0]] + rest)
    return found


def brute_force(model: HfGenerator, request: Request, choices: Sequence[str]) -> Floats:
    """Log-probabilities (choices,) with the whole context once for every choice."""
    rows, prompt = model._chat.tokenize_choices(choices), model._chat.prepare_inputs(request)
    order = sorted(range(len(rows)), key=lambda index: len(rows[index]))
    found = np.empty(len(rows), np.float32)
    for start in range(0, len(order), TOGETHER):
        indices = order[start : start + TOGETHER]
        found[indices] = together(model, prompt, [rows[index] for index in indices])
    return found


def together(model: HfGenerator, prompt: batches.Inputs, rows: Sequence[tuple[int, ...]]) -> Floats:
    """Log-probabilities of a batch of choices, filled up on the left."""
    like = next(model._module.parameters())
    batch = batches.collate([longer(prompt, row) for row in rows], model._chat.padding_token, like)
    most = max(map(len, rows))
    with torch.inference_mode():
        logits = model._module(**batch, logits_to_keep=most).logits.log_softmax(-1)
    found = np.empty(len(rows), np.float32)
    for index, row in enumerate(rows):
        tokens = torch.tensor(row, device=like.device)[:, None]
        found[index] = float(logits[index, -len(row) :].gather(1, tokens).sum())
    return found


def longer(prompt: batches.Inputs, row: tuple[int, ...]) -> batches.Inputs:
    """A prompt and a choice but its last token, after which nothing is asked."""
    told, length = torch.tensor([row[:-1]]), prompt["input_ids"].shape
    more = {
        key: torch.full_like(told, key == "attention_mask") for key, value in prompt.items() if value.shape == length
    }
    return {
        key: torch.cat([value, (more | {"input_ids": told})[key]], 1) if key in more else value
        for key, value in prompt.items()
    }


def facts(pairs: int) -> Iterator[str]:
    """All of it for the packaged model and for a large one."""
    yield from Bench("toybox-mllm", "toybox-mllm").facts(pairs)
    with tempfile.TemporaryDirectory() as folder:
        yield from Bench("Qwen3-VL", str(save_big_model(Path(folder))), every=FEW).facts(pairs)


if __name__ == "__main__":
    for line in facts(3):
        print(line, flush=True)

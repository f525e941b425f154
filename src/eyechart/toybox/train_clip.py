"""Train toybox-clip from nothing: python -m eyechart.toybox.train_clip OUT [--minutes M | --steps N] [--seed S].

It learns from the toy world's training styles alone. OUT is an open_clip folder: `open_clip[local-dir:OUT]`. Started
again on the same OUT, it goes on from its last checkpoint; with --steps the weights are then those of a single run.
"""

import argparse
import json
import math
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812  # its usual name
from torch.utils.data import DataLoader, Dataset

from eyechart.models.causal_text import TextTower
from eyechart.models.vision_ops import repair
from eyechart.toybox.augment import Pictures, pictures
from eyechart.toybox.classes import names
from eyechart.toybox.muon import Muon
from eyechart.toybox.sprites import Sprites, sprites
from eyechart.toybox.styles import TRAINING
from eyechart.toybox.words import CONTEXT, VOCABULARY, captions, write_tokenizer

SIDE = 96
HALF = {"mean": [0.5] * 3, "std": [0.5] * 3, "interpolation": "bicubic", "resize_mode": "shortest"}
VISION = {"image_size": SIDE, "layers": [2, 2, 2, 2], "width": 16, "head_width": 32, "patch_size": None}
TEXT = {
    "context_length": CONTEXT,
    "vocab_size": VOCABULARY,
    "width": 128,
    "heads": 4,
    "layers": 2,
    "hf_tokenizer_name": "toybox-clip",
    "pad_id": 0,
}
WIDTH = 160
MODEL: dict[str, Any] = {"embed_dim": WIDTH, "vision_cfg": VISION, "text_cfg": TEXT}
BATCH = 96
RATES = {"muon": 0.008, "adamw": 0.002}
DECAY = 0.05
SMOOTHING, HEAD_WEIGHT = 0.1, 0.5
WARM, FLOOR = 0.02, 0.01
EASY = (0.15, 0.08, 0.40)
SAVE_EVERY = 100
STATE = "training.pt"
Place = tuple[int, float]


@dataclass(frozen=True)
class Plan:
    """How long to train, on what: classes and their art; `stop` ends a run early, to be gone on with."""

    seed: int = 0
    minutes: float = 20.0
    steps: int = 0
    batch: int = BATCH
    workers: int = 1
    classes: tuple[int, ...] | None = None
    stop: int = 0

    def art(self) -> Sprites:
        """Return the art of the training styles."""
        return sprites(TRAINING, self.classes)


class Batches(Dataset[tuple[Tensor, Tensor, float]]):
    """The batch of a step, drawn from the seed and the step alone."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.art = plan, plan.art()

    def __getitem__(self, place: Place) -> tuple[Tensor, Tensor, float]:
        """Return the pictures, their classes and how far the training will be, from 0 to 1."""
        step, done = place
        drawn: Pictures = pictures(self.art, self.plan.seed * 1_000_003 + step, self.plan.batch, SIDE, strength(done))
        return drawn.pixels, drawn.labels, done


def strength(done: float) -> float:
    """How far from the art pictures are when this share of the training is done: easy ones first."""
    low, start, end = EASY
    return low + (1 - low) * min(1.0, max(0.0, (done - start) / (end - start)))


def rate(done: float) -> float:
    """The learning rate's share: up in a line, down in a cosine."""
    return min(done / WARM + FLOOR, FLOOR + (1 - FLOOR) * 0.5 * (1 + math.cos(math.pi * done)))


@dataclass
class Training:
    """A model on its way: both optimizers, a plain head that only helps to train, the step and the seconds so far."""

    folder: Path
    plan: Plan
    step: int = 0
    seconds: float = 0.0
    done: float = 0.0
    losses: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        repair()
        torch.manual_seed(self.plan.seed)
        self.model = _model()
        self.head = nn.Linear(WIDTH, len(names()))
        self.optimizers = self._optimizers()
        write_tokenizer(self.folder, names())
        (self.folder / "open_clip_config.json").write_text(json.dumps(configuration(), indent=2) + "\n")
        if (self.folder / STATE).exists():
            self._load()

    def _optimizers(self) -> list[torch.optim.Optimizer]:
        named = [*self.model.named_parameters(), *self.head.named_parameters(prefix="head")]
        matrices = [value for name, value in named if _is_matrix(name, value)]
        rest = [value for name, value in named if not _is_matrix(name, value)]
        muon = Muon(matrices, RATES["muon"], weight_decay=DECAY)
        return [muon, torch.optim.AdamW(rest, RATES["adamw"], betas=(0.9, 0.98), weight_decay=DECAY)]

    @cached_property
    def tokenizer(self) -> Any:
        """The tokenizer, as open_clip reads it."""
        from open_clip.tokenizer import HFTokenizer

        return HFTokenizer(str(self.folder), context_length=CONTEXT)

    def run(self) -> None:
        """Train to the end of the plan, and write the model."""
        data = Batches(self.plan)
        loader = DataLoader(data, batch_size=None, sampler=self._places(), num_workers=self.plan.workers)
        self.model.train()
        begun = time.monotonic() - self.seconds
        for pixels, labels, done in loader:
            self._step(pixels, labels, float(done))
            self.seconds = time.monotonic() - begun
            if self.step % SAVE_EVERY == 0:
                self.save()
                loss = _mean(self.losses[-SAVE_EVERY:])
                print(f"{self.seconds:.0f} s, step {self.step}, done {done:.2f}, loss {loss:.3f}", flush=True)
        self.save()

    def _places(self) -> Iterator[Place]:
        """Yield steps with how far the training is: by their number, or by the clock."""
        begun, step = time.monotonic() - self.seconds, self.step
        last = min(self.plan.steps, self.plan.stop or self.plan.steps)
        while step < last if self.plan.steps else (time.monotonic() - begun) < 60 * self.plan.minutes:
            clock = (time.monotonic() - begun) / (60 * self.plan.minutes)
            yield step, step / self.plan.steps if self.plan.steps else min(1.0, clock)
            step += 1

    def _step(self, pixels: Tensor, labels: Tensor, done: float) -> None:
        for optimizer, top in zip(self.optimizers, RATES.values(), strict=True):
            for group in optimizer.param_groups:
                group["lr"] = top * rate(done)
            optimizer.zero_grad()
        loss = self._loss(pixels, labels)
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_([*self.model.parameters(), *self.head.parameters()], 1.0)
        for optimizer in self.optimizers:
            optimizer.step()
        with torch.no_grad():
            self.model.logit_scale.clamp_(0, math.log(60))
        self.step, self.done = self.step + 1, done
        self.losses.append(float(loss.detach()))

    def _loss(self, pixels: Tensor, labels: Tensor) -> Tensor:
        """Pictures against one caption of every class, which says what all pairs of a batch would."""
        wanted = self.plan.classes or range(len(names()))
        texts = captions([names()[label] for label in wanted], random.Random(f"{self.plan.seed}|{self.step}"))
        places = torch.full((len(names()),), -1).scatter(0, torch.tensor([*wanted]), torch.arange(len(wanted)))
        tokens = self.tokenizer(texts)
        with torch.autocast("cpu", torch.bfloat16):
            seen = self.model.encode_image(pixels.contiguous(memory_format=torch.channels_last))
            said = TextTower(self.model)(tokens[:, : int(tokens.argmax(1).max()) + 1])
        seen, said = seen.float(), said.float()
        scores = self.model.logit_scale.exp() * F.normalize(seen, dim=1) @ F.normalize(said, dim=1).T
        contrast = F.cross_entropy(scores, places[labels], label_smoothing=SMOOTHING)
        return contrast + HEAD_WEIGHT * F.cross_entropy(self.head(seen), labels, label_smoothing=SMOOTHING)

    def save(self) -> None:
        """Write the model in float16, and all that is needed to go on; neither is ever half written."""
        from safetensors.torch import save_file

        state = {"model": self.model.state_dict(), "head": self.head.state_dict(), "losses": self.losses}
        state["optimizers"] = [optimizer.state_dict() for optimizer in self.optimizers]
        progress = {"step": self.step, "seconds": self.seconds, "done": self.done, "rng": torch.get_rng_state()}
        torch.save(state | progress, self.folder / f"{STATE}.new")
        (self.folder / f"{STATE}.new").replace(self.folder / STATE)
        half = {name: _half(value) for name, value in self.model.state_dict().items()}
        save_file(half, self.folder / "new.safetensors")
        (self.folder / "new.safetensors").replace(self.folder / "open_clip_model.safetensors")

    def _load(self) -> None:
        state = torch.load(self.folder / STATE, weights_only=True)
        self.model.load_state_dict(state["model"])
        self.head.load_state_dict(state["head"])
        for optimizer, found in zip(self.optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(found)
        torch.set_rng_state(state["rng"])
        self.step, self.seconds, self.done, self.losses = (state[key] for key in ("step", "seconds", "done", "losses"))


def _model() -> Any:
    from open_clip.model import CLIP

    model = CLIP(**MODEL, quick_gelu=False)
    return model.to(memory_format=torch.channels_last)


def _is_matrix(name: str, value: Tensor) -> bool:
    return value.ndim >= 2 and not name.startswith("head") and "embedding" not in name


def _half(value: Tensor) -> Tensor:
    return (value.half() if value.is_floating_point() else value).contiguous()


def _mean(values: Sequence[float]) -> float:
    return sum(values) / max(1, len(values))


def configuration() -> dict[str, Any]:
    """Return what open_clip reads beside the weights."""
    return {"model_cfg": MODEL, "preprocess_cfg": HALF}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m eyechart.toybox.train_clip", description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path, help="folder of the model; gone on with if it holds a checkpoint")
    parser.add_argument("--minutes", type=float, default=20.0, help="end after this long (default: %(default)s)")
    parser.add_argument("--steps", type=int, default=0, help="end after so many steps instead, the same on every run")
    parser.add_argument("--seed", type=int, default=0, help="default: %(default)s")
    parser.add_argument("--threads", type=int, default=1, help="of the processor (default: %(default)s)")
    options = parser.parse_args(arguments)
    torch.set_num_threads(options.threads)
    options.out.mkdir(parents=True, exist_ok=True)
    Training(options.out, Plan(options.seed, options.minutes, options.steps)).run()


if __name__ == "__main__":
    main()

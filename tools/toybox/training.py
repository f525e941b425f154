"""What the trainers share: a plan, a schedule, and a loop that is seeded, can be stopped and goes on where it was."""

import argparse
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

from eyechart.models.runtime.device import keep_freed_memory
from eyechart.models.runtime.torchvision_repair import repair
from eyechart.toybox.art.styles import TRAINING
from toybox.muon import Muon
from toybox.sprites import Sprites, sprites

DECAY = 0.05
BETAS = (0.9, 0.98)
WARM, FLOOR = 0.02, 0.01
EASY = (0.15, 0.08, 0.40)
SAVE_EVERY = 100
Place = tuple[int, float]


@dataclass(frozen=True)
class Plan:
    """How long to train, on what: classes and their art; `stop` ends a run early, to be gone on with."""

    seed: int = 0
    minutes: float = 20.0
    steps: int = 0
    batch: int = 96
    workers: int = 1
    classes: tuple[int, ...] | None = None
    stop: int = -1

    def art(self) -> Sprites:
        """Return the art of the training styles."""
        return sprites(TRAINING, self.classes)


def strength(done: float) -> float:
    """How far from the art pictures are when this share of the training is done: easy ones first."""
    low, start, end = EASY
    return low + (1 - low) * min(1.0, max(0.0, (done - start) / (end - start)))


def rate(done: float) -> float:
    """The learning rate's share: up in a line, down in a cosine."""
    return min(done / WARM + FLOOR, FLOOR + (1 - FLOOR) * 0.5 * (1 + math.cos(math.pi * done)))


def optimizers(
    named: Sequence[tuple[str, nn.Parameter]], plain: Sequence[str], muon: float, adamw: float
) -> dict[torch.optim.Optimizer, float]:
    """Return Muon for matrices and kernels and AdamW for the rest, with their highest rates.

    Matrices whose name holds one of the `plain` words, such as embeddings, are among the rest.
    """
    matrices = [value for name, value in named if value.ndim >= 2 and not any(word in name for word in plain)]
    rest = [value for name, value in named if value.ndim < 2 or any(word in name for word in plain)]
    return {
        Muon(matrices, muon, weight_decay=DECAY): muon,
        torch.optim.AdamW(rest, adamw, betas=BETAS, weight_decay=DECAY): adamw,
    }


class TrainingLoop(ABC):
    """Modules on their way. A step's batch is drawn from the seed and the step alone."""

    state: ClassVar[str]

    def __init__(self, folder: Path, plan: Plan) -> None:
        repair()
        self.folder, self.plan = folder, plan
        self.step, self.seconds, self.done = 0, 0.0, 0.0
        self.losses: list[float] = []
        torch.manual_seed(plan.seed)
        self.modules = self.build()
        self.optimizers = self.make_optimizers()
        if (folder / self.state).exists():
            self._load()

    @abstractmethod
    def build(self) -> Mapping[str, nn.Module]:
        """Make what is trained, by the names under which it is kept."""

    @abstractmethod
    def make_optimizers(self) -> dict[torch.optim.Optimizer, float]:
        """Make the optimizers, with their highest rates."""

    @abstractmethod
    def data(self) -> Dataset[Any]:
        """Return what draws the batch of a place: a step, and how much of the training is done."""

    @abstractmethod
    def loss(self, batch: Any) -> Tensor:
        """Return the loss of a batch."""

    @abstractmethod
    def write(self) -> None:
        """Write the model as its users read it."""

    def after(self) -> None:  # noqa: B027  # most need nothing
        """Mend the parameters after a step."""

    def run(self) -> None:
        """Train to the end of the plan, and write the model; what was finished before is left as it is."""
        keep_freed_memory()
        if self.finished:
            return
        loader = DataLoader(self.data(), batch_size=None, sampler=self._places(), num_workers=self.plan.workers)
        for module in self.modules.values():
            module.train()
        begun = time.monotonic() - self.seconds
        for done, batch in loader:
            self._step(batch, float(done))
            self.seconds = time.monotonic() - begun
            if self.step % SAVE_EVERY == 0:
                self.save()
                loss = sum(self.losses[-SAVE_EVERY:]) / SAVE_EVERY
                print(f"{self.seconds:.0f} s, step {self.step}, done {done:.2f}, loss {loss:.3f}", flush=True)
        # by now the clock has passed the plan's end, which the last step may not have
        self.seconds = time.monotonic() - begun
        self.save()

    def _places(self) -> Iterator[Place]:
        """Yield steps with how far the training is: by their number, or by the clock."""
        begun, step = time.monotonic() - self.seconds, self.step
        while (done := self._share(step, time.monotonic() - begun)) < 1 and step != self.plan.stop:
            yield step, done
            step += 1

    @property
    def finished(self) -> bool:
        """Whether the plan was carried out to its end."""
        return self._share(self.step, self.seconds) >= 1

    def _share(self, step: int, seconds: float) -> float:
        return step / self.plan.steps if self.plan.steps else seconds / (60 * self.plan.minutes)

    def _step(self, batch: Any, done: float) -> None:
        for optimizer, top in self.optimizers.items():
            for group in optimizer.param_groups:
                group["lr"] = top * rate(done)
            optimizer.zero_grad()
        loss = self.loss(batch)
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_([value for module in self.modules.values() for value in module.parameters()], 1.0)
        for optimizer in self.optimizers:
            optimizer.step()
        self.after()
        self.step, self.done = self.step + 1, done
        self.losses.append(float(loss.detach()))

    def save(self) -> None:
        """Write the model, and all that is needed to go on; neither is ever half written."""
        state: dict[str, Any] = {name: module.state_dict() for name, module in self.modules.items()}
        state["optimizers"] = [optimizer.state_dict() for optimizer in self.optimizers]
        progress = {"step": self.step, "seconds": self.seconds, "done": self.done, "losses": self.losses}
        torch.save({**state, **progress, "rng": torch.get_rng_state()}, self.folder / f"{self.state}.new")
        (self.folder / f"{self.state}.new").replace(self.folder / self.state)
        self.write()

    def _load(self) -> None:
        state = torch.load(self.folder / self.state, weights_only=True)
        for name, module in self.modules.items():
            module.load_state_dict(state[name])
        for optimizer, saved in zip(self.optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(saved)
        torch.set_rng_state(state["rng"])
        self.step, self.seconds, self.done, self.losses = (state[key] for key in ("step", "seconds", "done", "losses"))


def write_half(tensors: Mapping[str, Tensor], path: Path) -> None:
    """Write tensors as safetensors, floating ones in float16, never half a file."""
    from safetensors.torch import save_file

    kept = {
        name: (value.half() if value.is_floating_point() else value).contiguous() for name, value in tensors.items()
    }
    save_file(kept, path.with_suffix(".new"), metadata={"format": "pt"})
    path.with_suffix(".new").replace(path)


def command(
    name: str,
    about: str,
    minutes: float,
    train: Callable[[Path, Plan], None],
    arguments: Sequence[str] | None = None,
) -> None:
    """Run a trainer's command line."""
    parser = argparse.ArgumentParser(prog=f"python -m toybox.{name}", description=about.splitlines()[0])
    parser.add_argument("out", type=Path, help="folder of the model; gone on with if it holds a checkpoint")
    parser.add_argument("--minutes", type=float, default=minutes, help="end after this long (default: %(default)s)")
    parser.add_argument("--steps", type=int, default=0, help="end after so many steps instead, the same on every run")
    parser.add_argument("--seed", type=int, default=0, help="default: %(default)s")
    parser.add_argument("--threads", type=int, default=1, help="of the processor (default: %(default)s)")
    options = parser.parse_args(arguments)
    torch.set_num_threads(options.threads)
    options.out.mkdir(parents=True, exist_ok=True)
    train(options.out, Plan(options.seed, options.minutes, options.steps))

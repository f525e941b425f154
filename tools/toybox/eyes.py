"""The first stage of toybox-mllm: its eyes learn which class every cell of a picture shows, and where things are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812  # its usual name
from torch.utils.data import Dataset

from eyechart.toybox.art.toy_classes import names
from toybox.crowds import NOTHING, UNCLEAR, Crowds, crowds
from toybox.mllm import CELL, SIDE, WIDTH, start
from toybox.precision import mixed_precision
from toybox.sprites import Sprites
from toybox.training import Place, Plan, TrainingLoop, optimizers, strength, write_half

FEW, MANY = (1,) * 8 + (2,), (0,) + (1,) * 6 + (2, 2, 3, 3, 4, 4, 5, 5)
FEW_UNTIL = 0.2
EMPTY_WEIGHT, SMOOTHING = 0.15, 0.05
SINGLE_WEIGHT = 0.5
FIRST, LATER = (0.006, 0.002), (0.0012, 0.0004)


class Heads(nn.Module):
    """What only helps to train: the class of every cell, the things' middles, and the classes of single things."""

    def __init__(self) -> None:
        super().__init__()
        classes = len(names())
        self.cells, self.centres, self.whole = (nn.Linear(WIDTH, size) for size in (classes + 1, 1, classes))
        self.weight = torch.tensor([*[1.0] * classes, EMPTY_WEIGHT])

    @property
    def linear(self) -> tuple[nn.Linear, ...]:
        """All heads."""
        return self.cells, self.centres, self.whole

    def loss(self, features: Tensor, cells: Tensor, centres: Tensor) -> Tensor:
        """Score every cell's class, where it is clear, and the middles, where they are known."""
        wanted = torch.where(cells == NOTHING, len(names()), cells).flatten()
        shown = F.cross_entropy(
            self.cells(features).flatten(0, 1),
            wanted,
            weight=self.weight,
            label_smoothing=SMOOTHING,
            ignore_index=UNCLEAR,
        )
        known = centres >= 0
        return shown + F.binary_cross_entropy_with_logits(self.centres(features)[..., 0][known], centres[known])

    def single(self, features: Tensor, labels: Tensor) -> Tensor:
        """Score the class of the pictures that show one thing."""
        is_single = (labels >= 0).sum(1) == 1
        if not is_single.any():
            return features.sum() * 0
        return F.cross_entropy(
            self.whole(features[is_single].mean(1)), labels[is_single, 0], label_smoothing=2 * SMOOTHING
        )


def image_features(whole: Any, pixels: Tensor) -> Tensor:
    """Return the features (n, cells, width) that the words get of pictures (n, 3, side, side)."""
    with mixed_precision():
        states = whole.model.vision_tower(pixels.contiguous(memory_format=torch.channels_last)).last_hidden_state
        features: Tensor = whole.model.multi_modal_projector(states.flatten(2).transpose(1, 2))
    return features.float()


@dataclass(frozen=True)
class CrowdBatches(Dataset[Any]):
    """Pictures of crowds by place."""

    plan: Plan

    @cached_property
    def art(self) -> Sprites:
        """The art of the training styles."""
        return self.plan.art()

    def __getitem__(self, place: Place) -> tuple[float, Any]:
        """Return how much is done, and the pictures of a step."""
        step, done = place
        numbers = FEW if done < FEW_UNTIL else MANY
        return done, self.crowds(step, self.plan.batch, strength(done), numbers)

    def crowds(self, step: int, count: int, far: float, numbers: Sequence[int]) -> Crowds:
        """Draw the pictures of a step."""
        return crowds(self.art, self.plan.seed * 1_000_003 + step, count, SIDE, far, numbers, CELL)


class Eyes(TrainingLoop):
    """The first stage: pictures alone."""

    state = "eyes.pt"

    def build(self) -> Mapping[str, nn.Module]:
        """Make the whole model, and the heads that teach its eyes."""
        self.reader, self.whole = start(self.folder)
        self.heads = Heads()
        return {
            "tower": self.whole.model.vision_tower,
            "projector": self.whole.model.multi_modal_projector,
            "heads": self.heads,
        }

    def named(self) -> list[tuple[str, nn.Parameter]]:
        """The parameters that see, with their names."""
        return [pair for name, module in self.modules.items() for pair in module.named_parameters(prefix=name)]

    def make_optimizers(self) -> dict[torch.optim.Optimizer, float]:
        """Train all that sees."""
        return optimizers(self.named(), ("heads",), *FIRST)

    def data(self) -> Dataset[Any]:
        """Return pictures."""
        return CrowdBatches(self.plan)

    def loss(self, batch: Crowds) -> Tensor:
        """Score cells, middles and single things."""
        features = image_features(self.whole, batch.pixels)
        return self.heads.loss(features, batch.cells, batch.centres) + SINGLE_WEIGHT * self.heads.single(
            features, batch.labels
        )

    def write(self) -> None:
        """Write the whole model in float16."""
        tensors = {name: value for name, value in self.whole.state_dict().items() if name != "lm_head.weight"}
        write_half(tensors, self.folder / "model.safetensors")

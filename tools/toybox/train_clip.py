"""Train toybox-clip from nothing: python -m toybox.train_clip OUT [--minutes M | --steps N] [--seed S].

It learns from the toy world's training styles alone. OUT is an open_clip folder: `open_clip[local-dir:OUT]`. Started
again on the same OUT, it goes on from its last checkpoint; with --steps the weights are then those of a single run.
"""

import json
import math
import random
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812  # its usual name
from torch.utils.data import Dataset

from eyechart.models.open_clip.encoder import TextTower
from eyechart.toybox.art.toy_classes import names
from toybox.augment import pictures
from toybox.precision import mixed_precision
from toybox.training import Place, Plan, TrainingLoop, command, optimizers, strength, write_half
from toybox.words import CONTEXT, VOCABULARY, captions, write_tokenizer

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
RATES = (0.008, 0.002)
SMOOTHING, HEAD_WEIGHT = 0.1, 0.5
MINUTES = 20.0


class Batches(Dataset[tuple[float, tuple[Tensor, Tensor]]]):
    """The batch of a step, drawn from the seed and the step alone."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.art = plan, plan.art()

    def __getitem__(self, place: Place) -> tuple[float, tuple[Tensor, Tensor]]:
        """Return how far the training will be, from 0 to 1, the pictures and their classes."""
        step, done = place
        drawn = pictures(self.art, self.plan.seed * 1_000_003 + step, self.plan.batch, SIDE, strength(done))
        return done, (drawn.pixels, drawn.labels)


class Training(TrainingLoop):
    """Both towers, and a plain head that only helps to train."""

    state = "training.pt"

    def build(self) -> Mapping[str, nn.Module]:
        """Make the model and its head, and write what open_clip reads beside the weights."""
        self.model = _model()
        self.head = nn.Linear(WIDTH, len(names()))
        write_tokenizer(self.folder, names())
        config = json.dumps(configuration(), indent=2) + "\n"
        (self.folder / "open_clip_config.json").write_text(config, encoding="utf-8")
        return {"model": self.model, "head": self.head}

    def make_optimizers(self) -> dict[torch.optim.Optimizer, float]:
        """Train everything."""
        named = [*self.model.named_parameters(), *self.head.named_parameters(prefix="head")]
        return optimizers(named, ("head.", "embedding"), *RATES)

    @cached_property
    def tokenizer(self) -> Any:
        """The tokenizer, as open_clip reads it."""
        from open_clip.tokenizer import HFTokenizer

        return HFTokenizer(str(self.folder), context_length=CONTEXT)

    def data(self) -> Dataset[Any]:
        """Return pictures with their classes."""
        return Batches(self.plan)

    def loss(self, batch: tuple[Tensor, Tensor]) -> Tensor:
        """Pictures against one caption of every class, which says what all pairs of a batch would."""
        pixels, labels = batch
        wanted = self.plan.classes or range(len(names()))
        texts = captions([names()[label] for label in wanted], random.Random(f"{self.plan.seed}|{self.step}"))
        places = torch.full((len(names()),), -1).scatter(0, torch.tensor([*wanted]), torch.arange(len(wanted)))
        tokens = self.tokenizer(texts)
        with mixed_precision():
            image_features = self.model.encode_image(pixels.contiguous(memory_format=torch.channels_last))
            text_features = TextTower(self.model)(tokens[:, : int(tokens.argmax(1).max()) + 1])
        image_features, text_features = image_features.float(), text_features.float()
        scores = self.model.logit_scale.exp() * F.normalize(image_features, dim=1) @ F.normalize(text_features, dim=1).T
        contrast = F.cross_entropy(scores, places[labels], label_smoothing=SMOOTHING)
        return contrast + HEAD_WEIGHT * F.cross_entropy(self.head(image_features), labels, label_smoothing=SMOOTHING)

    def after(self) -> None:
        """Keep the temperature in bounds."""
        with torch.no_grad():
            self.model.logit_scale.clamp_(0, math.log(60))

    def write(self) -> None:
        """Write the model in float16."""
        write_half(self.model.state_dict(), self.folder / "open_clip_model.safetensors")


def _model() -> Any:
    from open_clip.model import CLIP

    return CLIP(**MODEL, quick_gelu=False).to(memory_format=torch.channels_last)


def configuration() -> dict[str, Any]:
    """Return what open_clip reads beside the weights."""
    return {"model_cfg": MODEL, "preprocess_cfg": HALF}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line."""
    command("train_clip", str(__doc__), MINUTES, lambda folder, plan: Training(folder, plan).run(), arguments)


if __name__ == "__main__":
    main()

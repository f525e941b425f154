"""Train toybox-mllm from nothing: python -m eyechart.toybox.train_mllm OUT [--minutes M | --steps N] [--seed S].

First its eyes learn which class every cell of a picture shows, then the whole learns to answer questions, from the toy
world's training styles alone. OUT is a folder as transformers and vLLM read it: `hf[OUT]`. Started again on the same
OUT, it goes on from its last checkpoint; with --steps the weights are then those of a single run.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812  # its usual name
from torch.utils.data import Dataset

from eyechart.toybox.classes import names
from eyechart.toybox.crowds import Crowds
from eyechart.toybox.eyes import LATER, Drawn, Eyes, seen
from eyechart.toybox.lessons import Lessons, Sequences
from eyechart.toybox.mllm import WIDTH
from eyechart.toybox.pieces import IMAGE
from eyechart.toybox.training import Loop, Plan, command, optimizers

MINUTES, EYES_SHARE = 85.0, 0.35
SPOKEN = (0.003, 0.002)
EYES_WEIGHT = 0.5
SCALE = 0.05


class Words(Loop):
    """The second stage: questions about pictures, while the eyes go on learning."""

    state = "words.pt"

    def __init__(self, folder: Path, plan: Plan, eyes: Eyes) -> None:
        self.eyes, self.reader = eyes, eyes.reader
        self.text = eyes.whole.model.language_model
        super().__init__(folder, plan)

    def build(self) -> Mapping[str, nn.Module]:
        """Take the eyes as they are, and let the names begin as what the eyes call them."""
        with torch.no_grad():
            self._rescale()
            self._name()
        return {**self.eyes.modules, "text": self.text}

    def _rescale(self) -> None:
        """Make features as small as embeddings, for the heads to see no difference."""
        features = seen(self.eyes.whole.eval(), Drawn(self.plan)[(0, 1.0)][1].pixels)
        factor = SCALE / features.square().mean().sqrt()
        last = self.eyes.whole.model.multi_modal_projector.linear_2
        for tensor in (last.weight, last.bias):
            tensor.mul_(factor)
        for head in self.eyes.heads.linear:
            head.weight.div_(factor)

    def _name(self) -> None:
        nn.init.normal_(self.text.embed_tokens.weight, std=SCALE)
        weight = self.eyes.heads.cells.weight[: len(names())]
        directions = F.normalize(weight - weight.mean(0), dim=1) * SCALE * WIDTH**0.5
        for name, direction in zip(names(), directions, strict=True):
            for number in self.reader.spellings(name):
                self.text.embed_tokens.weight[number] = direction

    def optimized(self) -> dict[torch.optim.Optimizer, float]:
        """Train what speaks faster than what sees."""
        text = list(self.text.named_parameters())
        return optimizers(self.eyes.named(), ("heads",), *LATER) | optimizers(text, ("embed",), *SPOKEN)

    def data(self) -> Dataset[Any]:
        """Return pictures with questions."""
        return Lessons(self.plan, self.folder)

    def loss(self, batch: tuple[Crowds, list[Sequences]]) -> Tensor:
        """Score what is said, and what the eyes see."""
        drawn, asked = batch
        features = seen(self.eyes.whole, drawn.pixels)
        return self._said(features, asked) + EYES_WEIGHT * self.eyes.heads.loss(features, drawn.cells, drawn.centres)

    def write(self) -> None:
        """Write the whole model in float16."""
        self.eyes.write()

    def _said(self, features: Tensor, asked: Sequence[Sequences]) -> Tensor:
        parts = [self._scores(features, some) for some in asked]
        wanted = torch.cat([some.wanted[some.wanted >= 0] for some in asked])
        return F.cross_entropy(torch.cat(parts).float(), wanted)

    def _scores(self, features: Tensor, asked: Sequences) -> Tensor:
        table = self.text.embed_tokens.weight
        shown = (asked.tokens == self.reader.number(IMAGE))[..., None]
        inputs = F.embedding(asked.tokens, table).masked_scatter(shown, features[asked.pictures])
        with torch.autocast("cpu", torch.bfloat16):
            states = self.text(
                inputs_embeds=inputs, attention_mask=asked.mask(), position_ids=asked.positions, use_cache=False
            ).last_hidden_state
            return F.linear(states[asked.wanted >= 0], table)


def train(folder: Path, plan: Plan) -> None:
    """Train both stages, each for its share of the plan."""
    eyes = Eyes(folder, _part(plan, EYES_SHARE))
    eyes.run()
    if eyes.finished:
        Words(folder, _part(replace(plan, batch=plan.batch * 2 // 3), 1 - EYES_SHARE), eyes).run()


def _part(plan: Plan, share: float) -> Plan:
    return replace(plan, minutes=plan.minutes * share, steps=round(plan.steps * share))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line."""
    command("train_mllm", str(__doc__), MINUTES, train, arguments)


if __name__ == "__main__":
    main()

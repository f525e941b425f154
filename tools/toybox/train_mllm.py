"""Train toybox-mllm from nothing: python -m toybox.train_mllm OUT [--minutes M | --steps N] [--seed S].

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

from eyechart.toybox.art.scenes import MAX_THINGS
from eyechart.toybox.art.toy_classes import names
from toybox.crowds import Crowds
from toybox.eyes import LATER, CrowdBatches, Eyes, image_features
from toybox.lessons import Lessons, Sequences
from toybox.mllm import WIDTH
from toybox.speech import answer_scores, text_states
from toybox.training import Plan, TrainingLoop, command, optimizers

MINUTES, EYES_SHARE = 85.0, 0.35
SPOKEN = (0.003, 0.002)
EYES_WEIGHT = 0.5
SCALE = 0.05
HALF_WAY, COUNTS_WEIGHT = 2, 0.5


class Words(TrainingLoop):
    """The second stage: questions about pictures, while the eyes go on learning."""

    state = "words.pt"

    def __init__(self, folder: Path, plan: Plan, eyes: Eyes) -> None:
        self.eyes, self.reader = eyes, eyes.reader
        self.text = eyes.whole.model.language_model
        self.classes = torch.full((self.reader.size,), -1)
        for label, name in enumerate(names()):
            self.classes[self.reader.spellings(name)] = label
        super().__init__(folder, plan)

    def build(self) -> Mapping[str, nn.Module]:
        """Take the eyes as they are, and let the names begin as what the eyes call them."""
        with torch.no_grad():
            self._rescale()
            self._name()
            self._match()
        self.counts = nn.Linear(WIDTH, MAX_THINGS + 1)
        return {**self.eyes.modules, "text": self.text, "counts": self.counts}

    def _rescale(self) -> None:
        """Make features as small as embeddings, for the heads to see no difference."""
        features = image_features(self.eyes.whole.eval(), CrowdBatches(self.plan)[(0, 1.0)][1].pixels)
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

    def _match(self) -> None:
        """Let every token look for its like from the start: names for the cells that show them."""
        for layer in self.text.layers:
            layer.self_attn.k_proj.weight.copy_(layer.self_attn.q_proj.weight)

    def make_optimizers(self) -> dict[torch.optim.Optimizer, float]:
        """Train what speaks faster than what sees."""
        text = [*self.text.named_parameters(), *self.counts.named_parameters(prefix="heads")]
        return optimizers(self.eyes.named(), ("heads",), *LATER) | optimizers(text, ("embed", "heads"), *SPOKEN)

    def data(self) -> Dataset[Any]:
        """Return pictures with questions."""
        return Lessons(self.plan, self.folder)

    def loss(self, batch: tuple[Crowds, list[Sequences]]) -> Tensor:
        """Score what is said, what the eyes see, and what a name brings to mind half way through."""
        drawn, sequences = batch
        features = image_features(self.eyes.whole, drawn.pixels)
        states = [text_states(self.text, self.reader, features, some) for some in sequences]
        pairs = list(zip(states, sequences, strict=True))
        targets = torch.cat([some.wanted[some.wanted >= 0] for some in sequences])
        scores = [answer_scores(self.text, layers[-1], some) for layers, some in pairs]
        loss = F.cross_entropy(torch.cat(scores).float(), targets)
        recalled = [self._recalled(layers[HALF_WAY], some, drawn.labels) for layers, some in pairs]
        counted, counts = (torch.cat(part) for part in zip(*recalled, strict=True))
        return (
            loss
            + EYES_WEIGHT * self.eyes.heads.loss(features, drawn.cells, drawn.centres)
            + COUNTS_WEIGHT * F.cross_entropy(counted, counts)
        )

    def write(self) -> None:
        """Write the whole model in float16."""
        self.eyes.write()

    def _recalled(self, half: Tensor, sequence: Sequences, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Return scores (m, 6) of how many things of each name in a question there are, and how many are there."""
        known = (sequence.own >= 0) & (sequence.own < len(labels))
        classes = self.classes[sequence.tokens].where(known[:, None], -1)
        rows, places = (classes >= 0).nonzero(as_tuple=True)
        counts = (labels[sequence.own[rows]] == classes[rows, places][:, None]).sum(1)
        return self.counts(half[rows, places].float()), counts


def train(folder: Path, plan: Plan) -> None:
    """Train both stages, each for its share of the plan."""
    eyes = Eyes(folder, _part(plan, EYES_SHARE))
    eyes.run()
    if eyes.finished:
        Words(folder, _part(replace(plan, batch=plan.batch * 2 // 3), 1 - EYES_SHARE), eyes).run()


def _part(plan: Plan, share: float) -> Plan:
    # no steps would mean the clock
    return replace(plan, minutes=plan.minutes * share, steps=max(1, round(plan.steps * share)) if plan.steps else 0)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line."""
    command("train_mllm", str(__doc__), MINUTES, train, arguments)


if __name__ == "__main__":
    main()

"""Go on with toybox-mllm: python -m toybox.train_mllm_further OUT [--minutes M | --steps N] [--seed S].

The words of the model in OUT, which train_mllm wrote, learn lists of up to a thousand names, to read short texts, and
when to name no bird; the lessons that they know go on, and the eyes stay as they are. The model is written to
OUT/further, as transformers and vLLM read it. Started again, it goes on from its last checkpoint.
"""

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812  # its usual name
from torch.utils.data import Dataset

from toybox.crowds import Crowds
from toybox.eyes import MANY, image_features
from toybox.lessons import Lesson, Lessons, Sequences, augment_pixels, group_indices, join_birds, sequences, view_of
from toybox.mllm import WIDTH, start
from toybox.pieces import Reader
from toybox.questions import LONG, SHORT, Ask, PictureContent, ask_batch, draw_questions
from toybox.speech import answer_scores, text_states
from toybox.texts import MORE_BIRDS, ask_from_thousand, ask_texts
from toybox.train_mllm import SCALE
from toybox.training import Place, Plan, TrainingLoop, command, optimizers, write_half

MINUTES = 50.0
RATES = (0.0015, 0.001)
# of 96 pictures: those with short questions, long lists, long prompts, several pictures a prompt, birds; and texts
SHORTLY, LISTED, LENGTHY, GROUPED, BIRDS, TEXTS = 30, 4, 2, 4, 12, 6
OF = 96
QUESTIONS, TEXT_QUESTIONS = 3, 4
FOLDER, WEIGHTS = "further", "model.safetensors"
EMBEDDINGS = "model.language_model.embed_tokens.weight"
LISTS: tuple[tuple[Ask, int], ...] = ((ask_from_thousand, 1),)
APART = 1_000_000  # pictures of other steps than the first two stages have


class FurtherLessons(Lessons):
    """Pictures with what is learnt further, and with what is known."""

    def __getitem__(self, place: Place) -> tuple[float, Any]:
        """Return how much is done, the pictures and the questions of a step."""
        step, done = place
        dice = random.Random(f"{self.plan.seed}|further|{step}")
        short, listed, lengthy, grouped, birds, texts = (
            max(1, self.plan.batch * part // OF) for part in (SHORTLY, LISTED, LENGTHY, GROUPED, BIRDS, TEXTS)
        )
        drawn = self.crowds(APART + step, short + listed + lengthy + grouped, 1.0, MANY)
        views = [view_of(row) for row in drawn.labels.tolist()]
        shown = [at for at in range(short, len(views)) if views[at].labels]
        lessons = [_lesson(at, views[at], SHORT, QUESTIONS, dice) for at in range(short)]
        lessons += [_lesson(at, views[at], LISTS, 1, dice) for at in shown[:listed]]
        lessons += [_lesson(at, views[at], LONG, 1, dice) for at in shown[listed : listed + lengthy]]
        for places in group_indices(shown[listed + lengthy :], dice):
            lessons.append(Lesson(places, tuple(ask_batch([views[at] for at in places], dice) for _ in range(2))))
        chosen = dice.sample(range(len(self.birds[1])), birds)
        for at, bird in enumerate(chosen, len(views)):
            lessons.append(_lesson(at, self.birds[1][bird], MORE_BIRDS, QUESTIONS, dice))
        lessons += [Lesson((), ask_texts(TEXT_QUESTIONS, dice)) for _ in range(texts)]
        pictures = join_birds(drawn, augment_pixels(self.birds[0][chosen], dice))
        return done, (pictures, sequences(self.reader, [some for some in lessons if some.questions]))


def _lesson(at: int, view: PictureContent, kinds: Sequence[tuple[Ask, int]], count: int, dice: random.Random) -> Lesson:
    return Lesson((at,), tuple(draw_questions(view, kinds, count, dice)))


class Further(TrainingLoop):
    """The third stage: the words go on, the eyes do not."""

    state = "further.pt"

    def __init__(self, former: Path, plan: Plan) -> None:
        self.former = former
        super().__init__(former / FOLDER, plan)

    def build(self) -> Mapping[str, nn.Module]:
        """Take the former weights; pieces that they lack begin at random."""
        self.reader, self.whole = start(self.folder)
        self.whole.load_state_dict(self._former_weights())
        self.whole.eval().requires_grad_(requires_grad=False)
        self.text = self.whole.model.language_model
        self.text.requires_grad_(requires_grad=True)
        return {"text": self.text}

    def _former_weights(self) -> Mapping[str, Tensor]:
        from safetensors.torch import load_file

        tensors, numbers = load_file(self.former / WEIGHTS), Reader(self.former).pieces
        embeddings = torch.randn(self.reader.size, WIDTH) * SCALE
        for piece, number in numbers.items():
            embeddings[self.reader.number(piece)] = tensors[EMBEDDINGS][number].float()
        return {**tensors, EMBEDDINGS: embeddings, "lm_head.weight": embeddings}

    def make_optimizers(self) -> dict[torch.optim.Optimizer, float]:
        """Train what speaks."""
        return optimizers([*self.text.named_parameters()], ("embed",), *RATES)

    def data(self) -> Dataset[Any]:
        """Return pictures with questions, and texts."""
        return FurtherLessons(self.plan, self.folder)

    def loss(self, batch: tuple[Crowds, list[Sequences]]) -> Tensor:
        """Score what is said."""
        drawn, every = batch
        with torch.no_grad():
            features = image_features(self.whole, drawn.pixels)
        scores = [
            answer_scores(self.text, text_states(self.text, self.reader, features, some)[-1], some) for some in every
        ]
        return F.cross_entropy(torch.cat(scores).float(), torch.cat([some.wanted[some.wanted >= 0] for some in every]))

    def write(self) -> None:
        """Write the whole model in float16."""
        tensors = {name: value for name, value in self.whole.state_dict().items() if name != "lm_head.weight"}
        write_half(tensors, self.folder / WEIGHTS)


def train(folder: Path, plan: Plan) -> None:
    """Train the third stage."""
    if not (folder / WEIGHTS).exists():
        raise SystemExit(
            f"{folder} holds no {WEIGHTS}. Train it first with toybox.train_mllm, or copy a model into it."
        )
    (folder / FOLDER).mkdir(exist_ok=True)
    Further(folder, plan).run()


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line."""
    command("train_mllm_further", str(__doc__), MINUTES, train, arguments)


if __name__ == "__main__":
    main()

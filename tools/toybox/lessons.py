"""Pictures with questions as sequences of tokens: several questions share their pictures' tokens and see no other."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812  # its usual name

from eyechart.toybox.art.styles import TRAINING
from eyechart.toybox.formats.bird_files import observations, picture
from toybox.crowds import NOTHING, UNCLEAR, Crowds
from toybox.eyes import MANY, CrowdBatches
from toybox.mllm import CELLS, SIDE
from toybox.pieces import ASSISTANT, END, IMAGE, PAD, USER, Reader
from toybox.precision import DTYPE
from toybox.questions import BIRDS, LONG, SHORT, PictureContent, QAPair, ask_batch, draw_questions
from toybox.training import Place

UNSEEN = -100
FAR = -1e4
LONG_EVERY, LONG_SHARE, SINGLE_SHARE = 4, 3, 0.5
QUESTIONS = 3
ROWS, TOKENS = 16, 4096
Row = tuple[list[int], list[int], list[int], list[int]]
BIRD_SHARE, BIRD_POOL = 6, 16


@dataclass(frozen=True)
class Lesson:
    """Pictures of a batch by their places, and questions about them."""

    pictures: tuple[int, ...]
    questions: tuple[QAPair, ...]


@dataclass(frozen=True)
class Sequences:
    """Tokens (n, length) with positions, the number of each token's question (0 for pictures, -1 for padding) and the
    tokens to be said (-100 elsewhere); `pictures` are the places of the pictures in the order of their tokens, `own`
    (n,) the place of a sequence's only picture, -1 where there are several.
    """

    tokens: Tensor
    positions: Tensor
    blocks: Tensor
    wanted: Tensor
    pictures: Tensor
    own: Tensor

    @property
    def single(self) -> bool:
        """Whether no sequence has two questions, so that every token sees all before it."""
        return int(self.blocks.max()) <= 1

    def mask(self) -> Tensor:
        """Return what is added to attention (n, 1, length, length): pictures and the own question are seen."""
        visible = (self.blocks[:, None] == 0) | (self.blocks[:, None] == self.blocks[:, :, None])
        return torch.zeros(()).masked_fill(~visible.tril()[:, None], FAR).to(DTYPE)


def sequences(reader: Reader, lessons: Sequence[Lesson]) -> list[Sequences]:
    """Turn lessons into sequences, some at a time, those of like length together."""
    rows = sorted(((_row(reader, lesson), lesson) for lesson in lessons), key=lambda pair: len(pair[0][0]))
    groups: list[list[tuple[Row, Lesson]]] = []
    for row in rows:
        if not groups or len(groups[-1]) == ROWS or len(row[0][0]) * (len(groups[-1]) + 1) > TOKENS:
            groups.append([])
        groups[-1].append(row)
    return [_together(reader, group) for group in groups]


def _together(reader: Reader, rows: Sequence[tuple[Row, Lesson]]) -> Sequences:
    longest = len(rows[-1][0][0])
    fillers = (reader.number(PAD), 0, -1, UNSEEN)
    tokens, positions, blocks, wanted = (
        torch.tensor([row[part] + [filler] * (longest - len(row[part])) for row, _ in rows])
        for part, filler in enumerate(fillers)
    )
    pictures = torch.tensor([place for _, lesson in rows for place in lesson.pictures], dtype=torch.long)
    own = torch.tensor([lesson.pictures[0] if len(lesson.pictures) == 1 else -1 for _, lesson in rows])
    return Sequences(tokens, positions, blocks, wanted, pictures, own)


def _row(reader: Reader, lesson: Lesson) -> Row:
    tokens = [reader.number(USER), *[reader.number(IMAGE)] * (CELLS * len(lesson.pictures))]
    begun = len(tokens)
    positions, blocks, wanted = [*range(begun)], [0] * begun, [UNSEEN] * begun
    for number, question in enumerate(lesson.questions, 1):
        prompt = [*reader.read(question.prompt), reader.number(ASSISTANT)]
        answer = [*reader.read(question.answer), reader.number(END)]
        tokens += [*prompt, *answer]
        positions += range(begun, begun + len(prompt) + len(answer))
        blocks += [number] * (len(prompt) + len(answer))
        # the token before says the next one
        wanted += [UNSEEN] * (len(prompt) - 1) + answer + [UNSEEN]
    return tokens, positions, blocks, wanted


def group_indices(places: Sequence[int], dice: random.Random) -> list[tuple[int, ...]]:
    """Put places into groups of one to three."""
    rest, groups = list(places), []
    while rest:
        size = min(len(rest), dice.choice((1, 2, 2, 3)))
        groups.append(tuple(rest[:size]))
        rest = rest[size:]
    return groups


@dataclass(frozen=True)
class Lessons(CrowdBatches):
    """Pictures with questions by place: short ones about crowds and birds, and at times long ones."""

    folder: Path = Path()

    @cached_property
    def reader(self) -> Reader:
        """The reader of the folder's tokenizer."""
        return Reader(self.folder)

    @cached_property
    def birds(self) -> tuple[Tensor, list[PictureContent]]:
        """Pictures of birds, drawn once."""
        observations_drawn = list(observations(self.plan.seed, "toybox-train", TRAINING, BIRD_POOL * self.plan.batch))
        drawn = [
            np.asarray(picture(self.plan.seed, "toybox-train", observation, observation.images[0]))
            for observation in observations_drawn
        ]
        pixels = torch.from_numpy(np.stack(drawn)).permute(0, 3, 1, 2)
        return pixels, [
            PictureContent(bird=observation.bird, reason=observation.reason) for observation in observations_drawn
        ]

    def __getitem__(self, place: Place) -> tuple[float, Any]:
        """Return how much is done, the pictures and the questions of a step."""
        step, done = place
        dice = random.Random(f"{self.plan.seed}|{step}")
        batch, sequences_of_step = (
            self._long(step, dice) if step % LONG_EVERY == LONG_EVERY - 1 else self._short(step, dice)
        )
        return done, (batch, sequences_of_step)

    def _short(self, step: int, dice: random.Random) -> tuple[Crowds, list[Sequences]]:
        drawn = self.crowds(step, self.plan.batch, 1.0, MANY)
        views = [view_of(row) for row in drawn.labels.tolist()]
        birds = dice.sample(range(len(self.birds[1])), max(1, self.plan.batch // BIRD_SHARE))
        lessons = [
            Lesson((place,), tuple(draw_questions(view, SHORT, QUESTIONS, dice))) for place, view in enumerate(views)
        ]
        lessons += [
            Lesson((len(views) + number,), tuple(draw_questions(self.birds[1][bird], BIRDS, QUESTIONS, dice)))
            for number, bird in enumerate(birds)
        ]
        return join_birds(drawn, augment_pixels(self.birds[0][birds], dice)), sequences(self.reader, lessons)

    def _long(self, step: int, dice: random.Random) -> tuple[Crowds, list[Sequences]]:
        drawn = self.crowds(step, max(4, self.plan.batch // LONG_SHARE), 1.0, [number for number in MANY if number])
        views = [view_of(row) for row in drawn.labels.tolist()]
        single = int(SINGLE_SHARE * len(views))
        lessons = [Lesson((place,), tuple(draw_questions(views[place], LONG, 1, dice))) for place in range(single)]
        for places in group_indices(range(single, len(views)), dice):
            questions: list[QAPair] = [ask_batch([views[place] for place in places], dice) for _ in range(2)]
            lessons.append(Lesson(places, tuple(questions)))
        return drawn, sequences(self.reader, lessons)


def view_of(labels: Sequence[int]) -> PictureContent:
    """Return what a row of a crowd shows."""
    return PictureContent(tuple(label for label in labels if label != NOTHING))


def join_birds(drawn: Crowds, birds: Tensor) -> Crowds:
    """Put birds after the crowds; which cells show them is not known."""
    cells = torch.full((len(birds), drawn.cells.shape[1]), UNCLEAR)
    return replace(
        drawn,
        pixels=torch.cat([drawn.pixels, birds]),
        cells=torch.cat([drawn.cells, cells]),
        centres=torch.cat([drawn.centres, torch.full(cells.shape, -1.0)]),
    )


def augment_pixels(pixels: Tensor, dice: random.Random) -> Tensor:
    """Shift and mirror pictures (n, 3, side, side) of bytes a little, into -1..1; colours tell birds apart and stay."""
    moved = F.pad(pixels.float() / 127.5 - 1, [4] * 4, mode="replicate")
    rows = []
    for picture_ in moved:
        top, left = dice.randrange(9), dice.randrange(9)
        cut = picture_[:, top : top + SIDE, left : left + SIDE]
        rows.append(cut.flip(2) if dice.random() < 0.5 else cut)
    return torch.stack(rows) * dice.uniform(0.9, 1.05)

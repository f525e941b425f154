"""Training pictures of none to five things, a batch at a time, with the class that every cell of a grid shows."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812  # its usual name

from eyechart.toybox.art.scenes import EQUAL_SIZES, MAX_THINGS
from eyechart.toybox.art.toy_classes import equivalent_classes
from toybox.augment import background, composite, degrade, place, restyle
from toybox.sprites import BatchRandom, Sprites

WINDOW = 48
LARGE = 0.42
TRIES = 30
ALIKE = 0.4
NOTHING, UNCLEAR = -1, -100
SHOWN, HIDDEN = 0.35, 0.06
Position = tuple[float, float, float]


@dataclass(frozen=True)
class Crowds:
    """Pictures (n, 3, side, side) in -1..1 and what they show.

    `labels` (n, 5) are the classes of the things, the largest first, then -1. `cells` (n, cells) are the classes in the
    cells of a grid by rows, -1 for none and -100 where unclear; `centres` (n, cells) are 1 at the things' middles.
    """

    pixels: Tensor
    labels: Tensor
    cells: Tensor
    centres: Tensor


@dataclass(frozen=True)
class Plot:
    """Where the things of a picture go and what they are: positions (x, y, share) in 0..1, the largest first."""

    positions: tuple[Position, ...]
    labels: tuple[int, ...]


def crowds(
    art: Sprites, seed: int, count: int, side: int, strength: float, numbers: Sequence[int], cell: int = 16
) -> Crowds:
    """Draw a batch, every picture with one of the `numbers` of things; the same arguments give the same pixels."""
    dice = random.Random(seed)
    known = sorted(set(art.labels.tolist()))
    plots = [plot(dice, dice.choice(numbers), known) for _ in range(count)]
    chance = BatchRandom(seed, count)
    canvas = _Canvas(background(chance, side, strength))
    canvas.paint(art, plots, dice, strength)
    image, owners = canvas.cut()
    labels = torch.tensor(
        [
            [*plot_of_picture.labels, *[NOTHING] * (MAX_THINGS - len(plot_of_picture.labels))]
            for plot_of_picture in plots
        ]
    )
    centres = torch.zeros(count, side // cell, side // cell)
    for index, plot_of_picture in enumerate(plots):
        for x, y, _ in plot_of_picture.positions:
            centres[
                index, min(int(y * side) // cell, side // cell - 1), min(int(x * side) // cell, side // cell - 1)
            ] = 1
    return Crowds(degrade(image, chance, strength) * 2 - 1, labels, _cells(owners, labels, cell), centres.flatten(1))


def plot(dice: random.Random, number: int, known: Sequence[int]) -> Plot:
    """Choose classes and places; no two classes of a picture are equivalent."""
    sizes = sorted(_sizes(dice, number), reverse=True)
    kinds: list[int] = []
    barred: set[int] = set()
    for _ in range(_variety(dice, number)):
        if rest := [label for label in known if label not in barred]:
            kinds.append(dice.choice(rest))
            barred |= {kinds[-1], *equivalent_classes(kinds[-1])}
    labels = [*kinds, *(dice.choice(kinds) for _ in range(number - len(kinds)))]
    dice.shuffle(labels)
    return Plot(_positions(dice, sizes), tuple(labels))


def _variety(dice: random.Random, number: int) -> int:
    """Choose how many classes: often one alone, which is how to learn to count."""
    return min(number, 1) if dice.random() < ALIKE else dice.randint(min(number, 1), number)


def _sizes(dice: random.Random, number: int) -> list[float]:
    if number == 0:
        return []
    if number == 1:
        return [dice.uniform(0.5, 0.97) if dice.random() < 0.7 else dice.uniform(0.2, 0.5)]
    if dice.random() < 0.5:
        return [dice.uniform(0.42, 0.6), *(dice.uniform(0.17, 0.28) for _ in range(number - 1))]
    base = dice.uniform(0.65, 1) * EQUAL_SIZES[number]
    return [base * dice.uniform(0.9, 1.1) for _ in range(number)]


def _positions(dice: random.Random, sizes: Sequence[float]) -> tuple[Position, ...]:
    """Find a middle for every size, apart from the others; smaller ones where there is no room."""
    apart = 0.75 if dice.random() < 0.2 else 0.95
    while True:
        positions: list[Position] = []
        for size in sizes:
            slack = max(0.0, (1 - size) / 2 + (0.03 if len(sizes) == 1 else 0.0))
            for _ in range(TRIES):
                x, y = 0.5 + dice.uniform(-slack, slack), 0.5 + dice.uniform(-slack, slack)
                if all(max(abs(x - a), abs(y - b)) > apart * (size + other) / 2 for a, b, other in positions):
                    positions.append((x, y, size))
                    break
        if len(positions) == len(sizes):
            return tuple(positions)
        sizes = [size * 0.95 for size in sizes]


class _Canvas:
    """A batch of pictures with a margin to cut off, and the number of the thing that owns each pixel, 0 for none."""

    def __init__(self, image: Tensor) -> None:
        self.side = image.shape[-1]
        self.image = F.pad(image, [WINDOW // 2] * 4)
        self.owners = torch.zeros(len(image), *self.image.shape[2:], dtype=torch.uint8)

    def paint(self, art: Sprites, plots: Sequence[Plot], dice: random.Random, strength: float) -> None:
        """Draw the things of all pictures, small ones over large ones."""
        by_class = {label: (art.labels == label).nonzero()[:, 0].tolist() for label in set(art.labels.tolist())}
        things = [
            (index, number, position, dice.choice(by_class[label]))
            for index, plot_of_picture in enumerate(plots)
            for number, (position, label) in enumerate(
                zip(plot_of_picture.positions, plot_of_picture.labels, strict=True), 1
            )
        ]
        large = [thing for thing in things if thing[2][2] > LARGE]
        self._whole([thing for thing in large if thing[1] == 1], art, dice, strength)
        self._whole([thing for thing in large if thing[1] > 1], art, dice, strength)
        self._windows([thing for thing in things if thing[2][2] <= LARGE], art, dice, strength)

    def _whole(
        self, things: list[tuple[int, int, Position, int]], art: Sprites, dice: random.Random, strength: float
    ) -> None:
        """Draw things on layers of their own, one a picture at a time."""
        while things:
            first = list({thing[0]: thing for thing in reversed(things)}.values())
            things = [thing for thing in things if thing not in first]
            places = torch.tensor([thing[0] for thing in first])
            layer = _drawn(
                first, art, dice, self.side, strength, [(2 * s[0] - 1, 2 * s[1] - 1, s[2]) for _, _, s, _ in first]
            )
            inner = slice(WINDOW // 2, WINDOW // 2 + self.side)
            self.image[places, :, inner, inner] = composite(self.image[places, :, inner, inner], layer)
            numbers = torch.tensor([thing[1] for thing in first], dtype=torch.uint8).view(-1, 1, 1)
            owned = self.owners[places, inner, inner]
            self.owners[places, inner, inner] = torch.where(layer[:, 3] > 0.5, numbers, owned)

    def _windows(
        self, things: list[tuple[int, int, Position, int]], art: Sprites, dice: random.Random, strength: float
    ) -> None:
        """Draw small things in small windows, which is much less work."""
        if not things:
            return
        positions = [(0.0, 0.0, position[2] * self.side / WINDOW) for _, _, position, _ in things]
        layers = _drawn(things, art, dice, WINDOW, strength, positions)
        for (picture, number, (x, y, _), _), layer in zip(things, layers, strict=True):
            left, top = (round(part * self.side) for part in (x, y))
            image = self.image[picture, :, top : top + WINDOW, left : left + WINDOW]
            image.mul_(1 - layer[3:]).add_(layer[:3])
            self.owners[picture, top : top + WINDOW, left : left + WINDOW][layer[3] > 0.5] = number

    def cut(self) -> tuple[Tensor, Tensor]:
        """Return pictures and owners without the margin."""
        inner = slice(WINDOW // 2, WINDOW // 2 + self.side)
        return self.image[..., inner, inner].contiguous(), self.owners[:, inner, inner]


def _drawn(
    things: Sequence[tuple[int, int, Position, int]],
    art: Sprites,
    dice: random.Random,
    side: int,
    strength: float,
    positions: Sequence[Position],
) -> Tensor:
    chance = BatchRandom(dice.getrandbits(31), len(things))
    x, y, share = (torch.tensor(part).view(-1, 1, 1, 1) for part in zip(*positions, strict=True))
    thing = restyle(art.pixels[[thing[3] for thing in things]], chance, strength)
    return place(thing, chance, side, share, x, y, strength)


def _cells(owners: Tensor, labels: Tensor, cell: int) -> Tensor:
    """Return the class (n, cells) that owns most of a cell, where that is enough of it."""
    numbers = torch.arange(1, MAX_THINGS + 1, dtype=torch.uint8).view(1, -1, 1, 1)
    share, best = F.avg_pool2d((owners[:, None] == numbers).float(), cell).flatten(2).max(1)
    classes = labels.gather(1, best)
    return torch.where(share > SHOWN, classes, torch.where(share > HIDDEN, UNCLEAR, NOTHING))

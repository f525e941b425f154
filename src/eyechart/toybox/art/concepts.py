"""What was chosen by hand: the classes, what they are called elsewhere, and which cut-outs show them."""

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path

CONCEPTS = Path(__file__).with_name("concepts.csv")


@dataclass(frozen=True)
class Concept:
    """A line of `concepts.csv`: emojibase's label, and the tag used as the name where one is more usual."""

    label: str
    name: str
    same_as: str
    nuscenes: str
    cityscapes: str
    cutouts: tuple[str, ...]


@cache
def concepts() -> tuple[Concept, ...]:
    """Return the chosen classes in their order."""
    with CONCEPTS.open(encoding="utf-8", newline="") as file:
        return tuple(
            Concept(
                label=line["label"],
                name=line["name"] or line["label"],
                same_as=line["same_as"],
                nuscenes=line["nuscenes"],
                cityscapes=line["cityscapes"],
                cutouts=tuple(filter(None, line["cutouts"].split(";"))),
            )
            for line in csv.DictReader(file)
        )

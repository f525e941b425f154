"""The classes of the toy world: names and hierarchy from emojibase, and what was chosen by hand.

Chosen are the classes, their equivalences, what they are called elsewhere, and which cut-outs show them.
"""

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from eyechart.data.labels.class_names import check_unique
from eyechart.samples.files import packaged, read_table

BIRDS = "animal-bird"
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


@dataclass(frozen=True)
class _ToyClass:
    """A class with its place in emojibase's two levels of groups."""

    index: int
    name: str
    group: str
    subgroup: str
    concept: Concept


@cache
def classes() -> tuple[_ToyClass, ...]:
    """Return the classes by index; raises DataError for a changed table, VocabularyError for equal names."""
    lines = read_table(packaged("toybox") / "emojibase", "classes.csv")
    toy_classes = tuple(
        _ToyClass(int(line["class"]), line["name"], line["group"], line["subgroup"], concept)
        for line, concept in zip(lines, concepts(), strict=True)
    )
    check_unique([toy_class.name for toy_class in toy_classes])
    return toy_classes


@cache
def names() -> tuple[str, ...]:
    """Return the names by index."""
    return tuple(toy_class.name for toy_class in classes())


def index_of(name: str) -> int:
    """Return the class of a name."""
    return names().index(name)


@cache
def equivalences() -> tuple[tuple[int, int], ...]:
    """Return the pairs of classes that show one kind of thing, such as dog and dog face."""
    return tuple(
        (index_of(toy_class.concept.same_as), toy_class.index) for toy_class in classes() if toy_class.concept.same_as
    )


@cache
def equivalent_classes(label: int) -> frozenset[int]:
    """Return a class and those equivalent to it."""
    return frozenset({label, *(other for pair in equivalences() if label in pair for other in pair)})

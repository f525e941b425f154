"""What a case answered, item by item, read from its run's csv. An item is an image, or a question about one."""

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from io import StringIO

import numpy as np
from numpy.typing import NDArray

from eyechart.errors import ReportError

from ..answers import read_verified
from ..render import one_line
from ..runs import CaseRun

Line = Mapping[str, str]
ClassNamer = Callable[[str], str]
Codes = NDArray[np.uint8]
Best = tuple[tuple[str, str], ...]  # names with their scores, the highest first

WRONG, RIGHT, MIXED, UNSCORED = 0, 1, 2, 255
MARKS: Mapping[str, int] = {"0": WRONG, "1": RIGHT}


@dataclass(frozen=True)
class LabelOutcomes:
    """One ground truth over the items: what is right, in which category, and what became of the answers."""

    labels: tuple[tuple[str, ...], ...]
    categories: tuple[str, ...]
    outcomes: Codes


@dataclass(frozen=True)
class Samples:
    """Every item of a case.

    `items` are (image, question); `answers` are names, "" for none, and () where unknown; `raw` is what was said.
    """

    items: tuple[tuple[str, str], ...]
    label_sets: Mapping[str, LabelOutcomes]
    answers: tuple[str, ...]
    errors: tuple[str, ...]
    raw: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    best: tuple[Best, ...] = ()
    more: tuple[tuple[tuple[str, str], ...], ...] = ()
    unit: str = field(default="", compare=False)
    observations: tuple[str, ...] = ()  # which are samples of their own; () where images are

    def clusters(self) -> NDArray[np.int64]:
        """Return the image or observation of each item (items,), numbered from 0."""
        names = self.observations or tuple(key for key, _ in self.items)
        indices = {name: index for index, name in enumerate(dict.fromkeys(names))}
        return np.array([indices[name] for name in names], np.int64)

    def __post_init__(self) -> None:
        for name in ("raw", "kinds", "best", "more"):
            if not getattr(self, name):
                empty: object = () if name in ("best", "more") else ""
                object.__setattr__(self, name, (empty,) * len(self.items))


Reader = Callable[[Sequence[Line], ClassNamer], Samples]


def read_samples(case: CaseRun, class_name: ClassNamer, readers: Mapping[str, Reader]) -> Samples | None:
    """A case's items by the first reader whose column its csv has; None where there is nothing to look at."""
    record = case.record
    if record.predictions is None:
        return None
    path = case.folder / record.predictions.path
    text = read_verified(path, case.folder, record.predictions)
    rows = list(csv.DictReader(StringIO(text, newline="")))
    reader = next((candidate for column, candidate in readers.items() if rows and column in rows[0]), None)
    try:
        return reader(rows, class_name) if reader else None
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise ReportError(f"{path} cannot be read as answers ({error!r}). Run the case again.") from error


def column(rows: Sequence[Line], name: str) -> tuple[str, ...]:
    """One column's texts."""
    return tuple(row[name] for row in rows)


def parse_marks(rows: Sequence[Line], name: str) -> Codes:
    """A column of 1, 0 and nothing as codes."""
    return np.array([MARKS.get(row[name], UNSCORED) for row in rows], np.uint8)


def label_outcomes(
    rows: Sequence[Line], correct: str, labels: Sequence[Sequence[str]], category: str = ""
) -> LabelOutcomes:
    """One ground truth whose outcomes, and categories where it has some, are columns."""
    categories = column(rows, category) if category else ("",) * len(rows)
    return LabelOutcomes(tuple(map(tuple, labels)), categories, parse_marks(rows, correct))


def format_options(row: Line, class_name: ClassNamer) -> str:
    """The letters of a choice with their names."""
    class_indices = [class_index for class_index in row.get("options", "").split(";") if class_index]
    return "; ".join(
        f"{option_letter(number)} {class_name(class_index)}" for number, class_index in enumerate(class_indices)
    )


def option_letter(number: int) -> str:
    """The letter of an option, its number after the alphabet."""
    return chr(ord("A") + number) if number < 26 else str(number + 1)


def read_classification(rows: Sequence[Line], class_name: ClassNamer) -> Samples:
    """Classification: an image an item; several rounds about the same images are put together."""
    rounds = split_epochs(rows)
    first_epoch = rounds[0]
    names = [name.removesuffix(".correct") for name in first_epoch[0] if name.endswith(".correct")]
    label_sets = {name: class_outcomes(rounds, name, class_name) for name in names}
    has_text = "said" in first_epoch[0]
    return Samples(
        items=tuple((row["key"], "") for row in first_epoch),
        label_sets=label_sets,
        answers=tuple(class_name(row["top1"]) if row["top1"] and not row["error"] else "" for row in first_epoch),
        errors=merge_texts(rounds, "error"),
        raw=merge_texts(rounds, "said") if has_text else (),
        kinds=column(first_epoch, "oop") if has_text else (),
        best=() if has_text else tuple(top5(row, class_name) for row in first_epoch),
        more=tuple(tuple(text_details(row, class_name)) for row in first_epoch) if has_text else (),
        unit="image",
    )


def split_epochs(rows: Sequence[Line]) -> list[list[Line]]:
    """The rows of each round; all of them where there is but one."""
    rounds: dict[str, list[Line]] = {}
    for row in rows:
        rounds.setdefault(row.get("repeat", ""), []).append(row)
    return [*rounds.values()]


def class_outcomes(rounds: Sequence[Sequence[Line]], name: str, class_name: ClassNamer) -> LabelOutcomes:
    """One ground truth of classes; an image that is right in some rounds alone is mixed."""
    labels = [tuple(map(class_name, filter(None, row[f"{name}.labels"].split(";")))) for row in rounds[0]]
    outcomes = label_outcomes(rounds[0], f"{name}.correct", labels, f"{name}.category")
    return LabelOutcomes(
        outcomes.labels, outcomes.categories, merge_epochs([parse_marks(rows, f"{name}.correct") for rows in rounds])
    )


def merge_epochs(rounds: Sequence[Codes]) -> Codes:
    """The outcomes of several rounds as one: unscored rounds say nothing, and those that differ are mixed."""
    stacked = np.stack(rounds)
    wrong, right = (stacked == WRONG).any(axis=0), (stacked == RIGHT).any(axis=0)
    merged = np.select([wrong & right, wrong, right], [MIXED, WRONG, RIGHT], UNSCORED)
    return np.asarray(merged, np.uint8)


def merge_texts(rounds: Sequence[Sequence[Line]], name: str) -> tuple[str, ...]:
    """The texts of a column over all rounds, each round's on a line where there are several."""
    if len(rounds) == 1:
        return column(rounds[0], name)
    lines = zip(*(column(rows, name) for rows in rounds), strict=True)
    return tuple("\n".join(f"{n}: {text}" for n, text in enumerate(texts, 1) if text) for texts in lines)


def top5(row: Line, class_name: ClassNamer) -> Best:
    """The classes with the highest scores."""
    return tuple((class_name(row[f"top{rank}"]), row[f"score{rank}"]) for rank in range(1, 6) if row[f"top{rank}"])


def text_details(row: Line, class_name: ClassNamer) -> Iterator[tuple[str, str]]:
    """What belongs to an answer in words."""
    if options := format_options(row, class_name):
        yield "options", options
    if row["strict"] != row["top1"]:
        yield "read strictly", class_name(row["strict"]) if row["strict"] else "nothing"
    if row["request"]:
        yield "asked in", f"request {row['request']}, place {row['place']}"


def class_namer(names: Sequence[str]) -> ClassNamer:
    """A class's name with its number, which tells namesakes apart; the number alone where there is no name."""
    by_index = {str(index): f"{one_line(name)} ({index})" for index, name in enumerate(names)}
    return lambda index: by_index.get(index) or f"class {index}"

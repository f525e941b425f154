"""Read the samples of a case from its sample table. An item is an image, or a question about one."""

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from io import StringIO

import numpy as np
from numpy.typing import NDArray

from eyechart.errors import ReportError

from ..render import one_line
from ..run_files import read_verified
from ..runs import CaseRun

Line = Mapping[str, str]
ClassNamer = Callable[[str], str]
Codes = NDArray[np.uint8]
Floats = NDArray[np.float32]
Best = tuple[tuple[str, str], ...]  # names with their scores, the highest first

RANKS = range(1, 6)
WRONG, RIGHT, MIXED, UNSCORED = 0, 1, 2, 255
MARKS: Mapping[str, int] = {"0": WRONG, "1": RIGHT}


@dataclass(frozen=True)
class LabelOutcomes:
    """One label set over the items: right labels, category, and outcome of the answers."""

    labels: tuple[tuple[str, ...], ...]
    categories: tuple[str, ...]
    outcomes: Codes


@dataclass(frozen=True)
class Samples:
    """Every item of a case.

    `items` are (image, question); `answers` are names, "" for none, and () if unknown; `raw` are the completions. Of a
    right class that is not among the five best, the loss has the fifth score, and so is a lower bound.
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
    confidence: Floats | None = None  # the score of each answer, NaN without one
    loss: Floats | None = None  # the best score minus the best one of a right class, at least 0

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
    """Return a case's samples by the first reader whose column the table has; None without a table or reader."""
    record = case.record
    if record.predictions is None:
        return None
    path = case.folder / record.predictions.path
    text = read_verified(path, case.folder, record.predictions)
    rows = list(csv.DictReader(StringIO(text, newline="")))
    has_answers = any(row.get("prediction") or row.get("target") or row.get("error") for row in rows)
    columns = rows[0] if has_answers else {}
    reader = next((candidate for column, candidate in readers.items() if column in columns), None)
    try:
        return reader(rows, class_name) if reader else None
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise ReportError(f"{path} cannot be read as answers ({error!r}). Run the case again.") from error


def column(rows: Sequence[Line], name: str) -> tuple[str, ...]:
    """Return the texts of one column."""
    return tuple(row[name] for row in rows)


def parse_marks(rows: Sequence[Line], name: str) -> Codes:
    """Return a column of "1", "0" and "" as codes."""
    return np.array([MARKS.get(row[name], UNSCORED) for row in rows], np.uint8)


def parse_numbers(rows: Sequence[Line], name: str) -> Floats:
    """Return a column of numbers, NaN where it is empty."""
    return np.array([float(row[name]) if row[name] else np.nan for row in rows], np.float32)


def margin_losses(rows: Sequence[Line]) -> Floats:
    """Return the best score minus that of the best right class under the first label set; NaN without either."""
    name = next((column for column in rows[0] if column.endswith(".labels")), "")
    return np.array([margin_loss(row, row[name].split(";") if name else ()) for row in rows], np.float32)


def margin_loss(row: Line, labels: Sequence[str]) -> float:
    """Return the best score of a row minus the best score of a right class, or minus the last one if none is listed."""
    scores = [float(row[f"score{rank}"]) for rank in RANKS if row[f"score{rank}"]]
    if not scores or not any(labels):
        return float("nan")
    right = (score for rank, score in zip(RANKS, scores, strict=False) if row[f"top{rank}"] in labels)
    return scores[0] - next(right, scores[-1])


def label_outcomes(
    rows: Sequence[Line], correct: str, labels: Sequence[Sequence[str]], category: str = ""
) -> LabelOutcomes:
    """Return one label set whose outcomes, and categories if named, are columns."""
    categories = column(rows, category) if category else ("",) * len(rows)
    return LabelOutcomes(tuple(map(tuple, labels)), categories, parse_marks(rows, correct))


def format_options(row: Line, class_name: ClassNamer) -> str:
    """Return the letters of a choice with their names."""
    class_indices = [class_index for class_index in row.get("options", "").split(";") if class_index]
    return "; ".join(
        f"{option_letter(number)} {class_name(class_index)}" for number, class_index in enumerate(class_indices)
    )


def option_letter(number: int) -> str:
    """Return the letter of an option, or its number after the alphabet."""
    return chr(ord("A") + number) if number < 26 else str(number + 1)


def read_classification(rows: Sequence[Line], class_name: ClassNamer) -> Samples:
    """Return one item per image; several epochs about the same images are merged."""
    rounds = split_epochs(rows)
    first_epoch = rounds[0]
    names = [name.removesuffix(".correct") for name in first_epoch[0] if name.endswith(".correct")]
    label_sets = {name: class_outcomes(rounds, name, class_name) for name in names}
    has_text = "response" in first_epoch[0]
    confidence, loss = (None, None) if has_text else (parse_numbers(first_epoch, "score1"), margin_losses(first_epoch))
    return Samples(
        items=tuple((row["key"], "") for row in first_epoch),
        label_sets=label_sets,
        answers=tuple(class_name(row["top1"]) if row["top1"] and not row["error"] else "" for row in first_epoch),
        errors=merge_texts(rounds, "error"),
        raw=merge_texts(rounds, "response") if has_text else (),
        kinds=column(first_epoch, "out_of_prompt") if has_text else (),
        best=() if has_text else tuple(top5(row, class_name) for row in first_epoch),
        more=tuple(tuple(text_details(row, class_name)) for row in first_epoch) if has_text else (),
        unit="image",
        confidence=confidence,
        loss=loss,
    )


def split_epochs(rows: Sequence[Line]) -> list[list[Line]]:
    """Return the rows of each epoch."""
    rounds: dict[str, list[Line]] = {}
    for row in rows:
        rounds.setdefault(row.get("epoch", ""), []).append(row)
    return [*rounds.values()]


def class_outcomes(rounds: Sequence[Sequence[Line]], name: str, class_name: ClassNamer) -> LabelOutcomes:
    """Return one label set of classes; an image that is right in some epochs only is mixed."""
    labels = [tuple(map(class_name, filter(None, row[f"{name}.labels"].split(";")))) for row in rounds[0]]
    outcomes = label_outcomes(rounds[0], f"{name}.correct", labels, f"{name}.category")
    return LabelOutcomes(
        outcomes.labels, outcomes.categories, merge_epochs([parse_marks(rows, f"{name}.correct") for rows in rounds])
    )


def merge_epochs(rounds: Sequence[Codes]) -> Codes:
    """Return the outcomes of several epochs as one; unscored epochs are ignored, different ones give mixed."""
    stacked = np.stack(rounds)
    wrong, right = (stacked == WRONG).any(axis=0), (stacked == RIGHT).any(axis=0)
    merged = np.select([wrong & right, wrong, right], [MIXED, WRONG, RIGHT], UNSCORED)
    return np.asarray(merged, np.uint8)


def merge_texts(rounds: Sequence[Sequence[Line]], name: str) -> tuple[str, ...]:
    """Return the texts of a column over all epochs, one line per epoch if there are several."""
    if len(rounds) == 1:
        return column(rounds[0], name)
    lines = zip(*(column(rows, name) for rows in rounds), strict=True)
    return tuple("\n".join(f"{n}: {text}" for n, text in enumerate(texts, 1) if text) for texts in lines)


def top5(row: Line, class_name: ClassNamer) -> Best:
    """Return the classes with the highest scores."""
    return tuple((class_name(row[f"top{rank}"]), row[f"score{rank}"]) for rank in RANKS if row[f"top{rank}"])


def text_details(row: Line, class_name: ClassNamer) -> Iterator[tuple[str, str]]:
    """Yield the details of a text answer."""
    if options := format_options(row, class_name):
        yield "options", options
    if row["strict_top1"] != row["top1"]:
        yield "read strictly", class_name(row["strict_top1"]) if row["strict_top1"] else "nothing"
    if row["request"]:
        yield "asked in", f"request {row['request']}, place {row['position']}"


def class_namer(names: Sequence[str]) -> ClassNamer:
    """Return a function from class index to `name (index)`, or `class index` if there is no name."""
    by_index = {str(index): f"{one_line(name)} ({index})" for index, name in enumerate(names)}
    return lambda index: by_index.get(index) or f"class {index}"

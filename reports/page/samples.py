"""Read the samples of a case from its sample table. An item is an image, or a question about one."""

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from io import StringIO
from itertools import compress, islice
from typing import Generic, TypeVar, overload

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
V = TypeVar("V")
Best = tuple[tuple[str, str], ...]  # names with their scores, the highest first

RANKS = range(1, 6)
BLOCK = 4096  # rows that are read at once
BEST_COLUMNS = [f"{what}{rank}" for what in ("top", "score") for rank in RANKS]
DETAIL_COLUMNS = ("options", "top1", "strict_top1", "request", "position")
WRONG, RIGHT, MIXED, UNSCORED = 0, 1, 2, 255
MARKS: Mapping[str, int] = {"0": WRONG, "1": RIGHT}


class SampleTable(Sequence[Line]):
    """The rows of a sample table, kept by column. Equal texts of one column are one object."""

    def __init__(self, columns: Mapping[str, Sequence[str]]) -> None:
        self.columns = columns

    @classmethod
    def parse(cls, text: str) -> "SampleTable":
        """Return the rows of a csv file with a header. Raises ValueError for rows of different lengths."""
        reader = csv.reader(StringIO(text, newline=""))
        names = next(reader, [])
        columns: list[list[str]] = [[] for _ in names]
        known: list[dict[str, str]] = [{} for _ in names]
        while block := [*islice(reader, BLOCK)]:
            for texts, own, cells in zip(columns, known, zip(*block, strict=True), strict=True):
                texts.extend(map(own.setdefault, cells, cells))
        return cls(dict(zip(names, columns, strict=True)))

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    @overload
    def __getitem__(self, row: int) -> Line: ...

    @overload
    def __getitem__(self, row: slice) -> "SampleTable": ...

    def __getitem__(self, row: int | slice) -> "Line | SampleTable":
        if isinstance(row, slice):
            return SampleTable({name: texts[row] for name, texts in self.columns.items()})
        return {name: texts[row] for name, texts in self.columns.items()}

    def __iter__(self) -> Iterator[Line]:
        names = [*self.columns]
        return (dict(zip(names, cells, strict=True)) for cells in zip(*self.columns.values(), strict=True))


class RowValues(Sequence[V], Generic[V]):
    """A value of the cells of each row, computed when it is read, since all of them together take much memory."""

    def __init__(self, columns: Sequence[Sequence[str]], compute: Callable[..., V]) -> None:
        self.columns, self.compute = columns, compute

    def __len__(self) -> int:
        return len(self.columns[0])

    @overload
    def __getitem__(self, row: int) -> V: ...

    @overload
    def __getitem__(self, row: slice) -> Sequence[V]: ...

    def __getitem__(self, row: int | slice) -> V | Sequence[V]:
        cells = [texts[row] for texts in self.columns]
        return tuple(map(self.compute, *cells)) if isinstance(row, slice) else self.compute(*cells)


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
    best: Sequence[Best] = ()
    more: Sequence[tuple[tuple[str, str], ...]] = ()
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


Reader = Callable[[SampleTable, ClassNamer], Samples]


def read_samples(case: CaseRun, class_name: ClassNamer, readers: Mapping[str, Reader]) -> Samples | None:
    """Return a case's samples by the first reader whose column the table has; None without a table or reader."""
    record = case.record
    if record.predictions is None:
        return None
    path = case.folder / record.predictions.path
    text = read_verified(path, case.folder, record.predictions)
    try:
        rows = SampleTable.parse(text)
        has_answers = any(any(rows.columns.get(name, ())) for name in ("prediction", "target", "error"))
        columns = rows.columns if has_answers else ()
        reader = next((candidate for column, candidate in readers.items() if column in columns), None)
        return reader(rows, class_name) if reader else None
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise ReportError(f"{path} cannot be read as answers ({error!r}). Run the case again.") from error


def column(rows: Sequence[Line], name: str) -> tuple[str, ...]:
    """Return the texts of one column."""
    return tuple(rows.columns[name]) if isinstance(rows, SampleTable) else tuple(row[name] for row in rows)


def parse_marks(rows: Sequence[Line], name: str) -> Codes:
    """Return a column of "1", "0" and "" as codes."""
    return np.array([MARKS.get(text, UNSCORED) for text in column(rows, name)], np.uint8)


def parse_numbers(rows: Sequence[Line], name: str) -> Floats:
    """Return a column of numbers, NaN where it is empty."""
    return np.array([float(text) if text else np.nan for text in column(rows, name)], np.float32)


def margin_losses(rows: Sequence[Line]) -> Floats:
    """Return the best score minus that of the best right class under the first label set; NaN without either."""
    name = next((column for column in rows[0] if column.endswith(".labels")), "")
    if not name:
        return np.full(len(rows), np.nan, np.float32)
    scores = np.stack([parse_numbers(rows, f"score{rank}") for rank in RANKS])
    labels = [text.split(";") for text in column(rows, name)]
    right = np.array([list(map(is_in, column(rows, f"top{rank}"), labels)) for rank in RANKS])
    last = np.where(np.isnan(scores), np.inf, scores).min(axis=0)  # of the listed classes
    best = np.where(right.any(axis=0), np.where(right, scores, -np.inf).max(axis=0), last)
    loss = np.where(list(map(any, labels)), scores[0] - best, np.nan)
    return np.asarray(loss, np.float32)


def is_in(name: str, names: Sequence[str]) -> bool:
    """Return whether a class is one of some classes; "" is none."""
    return bool(name) and name in names


def label_outcomes(
    rows: Sequence[Line], correct: str, labels: Sequence[Sequence[str]], category: str = ""
) -> LabelOutcomes:
    """Return one label set whose outcomes, and categories if named, are columns."""
    categories = column(rows, category) if category else ("",) * len(rows)
    return LabelOutcomes(tuple(map(tuple, labels)), categories, parse_marks(rows, correct))


def format_options(options: str, class_name: ClassNamer) -> str:
    """Return the letters of a choice with their names."""
    class_indices = [class_index for class_index in options.split(";") if class_index]
    return "; ".join(
        f"{option_letter(number)} {class_name(class_index)}" for number, class_index in enumerate(class_indices)
    )


def option_letter(number: int) -> str:
    """Return the letter of an option, or its number after the alphabet."""
    return chr(ord("A") + number) if number < 26 else str(number + 1)


def read_classification(rows: SampleTable, class_name: ClassNamer) -> Samples:
    """Return one item per image; several epochs about the same images are merged."""
    rounds = split_epochs(rows)
    first_epoch = rounds[0]
    names = [name.removesuffix(".correct") for name in first_epoch.columns if name.endswith(".correct")]
    label_sets = {name: class_outcomes(rounds, name, class_name) for name in names}
    has_text = "response" in first_epoch.columns
    confidence, loss = (None, None) if has_text else (parse_numbers(first_epoch, "score1"), margin_losses(first_epoch))
    return Samples(
        items=tuple((key, "") for key in column(first_epoch, "key")),
        label_sets=label_sets,
        answers=tuple(
            class_name(top) if top and not error else ""
            for top, error in zip(column(first_epoch, "top1"), column(first_epoch, "error"), strict=True)
        ),
        errors=merge_texts(rounds, "error"),
        raw=merge_texts(rounds, "response") if has_text else (),
        kinds=column(first_epoch, "out_of_prompt") if has_text else (),
        best=()
        if has_text
        else RowValues([first_epoch.columns[name] for name in BEST_COLUMNS], partial(top5, class_name)),
        more=text_columns(first_epoch, class_name) if has_text else (),
        unit="image",
        confidence=confidence,
        loss=loss,
    )


def split_epochs(rows: SampleTable) -> list[SampleTable]:
    """Return the rows of each epoch."""
    epochs = rows.columns.get("epoch")
    if epochs is None:
        return [rows]
    masks = [[epoch == wanted for epoch in epochs] for wanted in dict.fromkeys(epochs)]
    return [SampleTable({name: [*compress(texts, mask)] for name, texts in rows.columns.items()}) for mask in masks]


def class_outcomes(rounds: Sequence[SampleTable], name: str, class_name: ClassNamer) -> LabelOutcomes:
    """Return one label set of classes; an image that is right in some epochs only is mixed."""

    @cache
    def names(text: str) -> tuple[str, ...]:
        return tuple(map(class_name, filter(None, text.split(";"))))

    labels = [names(text) for text in column(rounds[0], f"{name}.labels")]
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


def merge_texts(rounds: Sequence[SampleTable], name: str) -> tuple[str, ...]:
    """Return the texts of a column over all epochs, one line per epoch if there are several."""
    if len(rounds) == 1:
        return column(rounds[0], name)
    lines = zip(*(column(rows, name) for rows in rounds), strict=True)
    return tuple("\n".join(f"{n}: {text}" for n, text in enumerate(texts, 1) if text) for texts in lines)


def top5(class_name: ClassNamer, *cells: str) -> Best:
    """Return the classes with the highest scores, from the columns of classes and those of scores."""
    half = len(cells) // 2
    return tuple((class_name(top), score) for top, score in zip(cells[:half], cells[half:], strict=True) if top)


def text_columns(rows: SampleTable, class_name: ClassNamer) -> Sequence[tuple[tuple[str, str], ...]]:
    """Return the details of the text answers."""
    empty = ("",) * len(rows)
    columns = [rows.columns.get(name, empty) for name in DETAIL_COLUMNS]
    return RowValues(columns, lambda *cells: tuple(text_details(class_name, *cells)))


def text_details(
    class_name: ClassNamer, options: str, top: str, strict: str, request: str, position: str
) -> Iterator[tuple[str, str]]:
    """Yield the details of a text answer."""
    if named := format_options(options, class_name):
        yield "options", named
    if strict != top:
        yield "read strictly", class_name(strict) if strict else "nothing"
    if request:
        yield "asked in", f"request {request}, place {position}"


def class_namer(names: Sequence[str]) -> ClassNamer:
    """Return a function from class index to `name (index)`, or `class index` if there is no name."""
    by_index = {str(index): f"{one_line(name)} ({index})" for index, name in enumerate(names)}
    return cache(lambda index: by_index.get(index) or f"class {index}")

"""Read the samples of a case from its sample table. An item is an image, or a question about one."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from eyechart.errors import ReportError
from eyechart.protocol.imported import recorded_protocol
from eyechart.protocol.sample_view import Asked, Cell, SampleView
from eyechart.reports.page.columns import Column, RowValues, SampleTable
from eyechart.reports.runs import CaseRun
from eyechart.reports.tables.render import one_line
from eyechart.results.run_files import read_verified

ClassNamer = Callable[[str], str]
Codes = NDArray[np.uint8]
Floats = NDArray[np.float32]
_Ranked = tuple[Column[str], Column[str]]  # the class of each item at one rank, "" for none, and its score

NO_TEXTS: Column[str] = Column.of(())
RANKS = range(1, 6)
_DETAIL_COLUMNS = ("options", "top1", "strict_top1", "request", "position")
WRONG, RIGHT, MIXED, UNSCORED = 0, 1, 2, 255
MARKS: Mapping[str, int] = {"0": WRONG, "1": RIGHT}
_SHARED = SampleView(lambda _: {"target": ("correct", "target")})


@dataclass(frozen=True)
class LabelOutcomes:
    """One label set over the items: right labels, category, and outcome of the answers."""

    labels: Column[tuple[str, ...]]
    categories: Column[str]
    outcomes: Codes


@dataclass(frozen=True)
class Samples:
    """Every item of a case.

    `items` are (image, question); `answers` are names, "" for none, and empty if unknown; `raw` are the completions;
    `best` are the classes with the highest scores, by rank. Of a right class that is not among them, the loss has the
    last score, and so is a lower bound.
    """

    items: tuple[tuple[str, str], ...]
    label_sets: Mapping[str, LabelOutcomes]
    answers: Column[str]
    errors: Column[str]
    raw: Column[str] = NO_TEXTS
    kinds: Column[str] = NO_TEXTS
    best: tuple[_Ranked, ...] = ()
    more: Sequence[tuple[tuple[str, str], ...]] = ()
    prompt_slots: Sequence[Asked] = ()  # () if the prompt is the same for all
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
        for name in ("raw", "kinds"):
            if not getattr(self, name):
                object.__setattr__(self, name, Column.repeat("", len(self.items)))
        if not self.more:
            object.__setattr__(self, "more", ((),) * len(self.items))


def column(rows: SampleTable, name: str) -> Column[str]:
    """Return the texts of one column."""
    return rows.columns[name]


def _parse_marks(rows: SampleTable, name: str) -> Codes:
    """Return a column of "1", "0" and "" as codes."""
    return column(rows, name).map(lambda text: MARKS.get(text, UNSCORED)).array(np.uint8)


def _parse_numbers(rows: SampleTable, name: str) -> Floats:
    """Return a column of numbers, NaN where it is empty."""
    return column(rows, name).map(lambda text: float(text) if text else np.nan).array(np.float32)


def _margin_losses(rows: SampleTable) -> Floats:
    """Return the best score minus that of the best right class under the first label set; NaN without either."""
    name = next((name for name in rows.columns if name.endswith(".labels")), "")
    if not name:
        return np.full(len(rows), np.nan, np.float32)
    labels = [*column(rows, name).map(lambda text: [*filter(None, text.split(";"))])]
    scores = np.stack([_parse_numbers(rows, f"score{rank}") for rank in RANKS])
    right = np.stack([is_in(column(rows, f"top{rank}"), labels) for rank in RANKS])
    last = np.where(np.isnan(scores), np.inf, scores).min(axis=0)  # of the listed classes
    best = np.where(right.any(axis=0), np.where(right, scores, -np.inf).max(axis=0), last)
    return np.asarray(np.where([*map(bool, labels)], scores[0] - best, np.nan), np.float32)


def is_in(classes: Column[str], labels: Sequence[Sequence[str]]) -> NDArray[np.bool_]:
    """Return for each row whether its class is one of its labels."""
    numbers = {name: number for number, name in enumerate(classes.values)}
    rows = np.repeat(np.arange(len(labels)), [*map(len, labels)])
    wanted = np.array([numbers.get(label, -1) for row in labels for label in row], np.int64)
    return np.bincount(rows[classes.codes[rows] == wanted], minlength=len(labels)) > 0


def asked_options(rows: SampleTable, class_name: ClassNamer) -> Sequence[Asked]:
    """Return the options of each choice as its prompt lists them."""

    def listed_options(options: str) -> Asked:
        names = [class_name(index).removesuffix(f" ({index})") for index in options.split(";") if index]
        lines = [f"{_option_letter(number)}) {name}" for number, name in enumerate(names)]
        return "", {"dynamic_choices": "\n".join(lines)} if lines else {}

    return RowValues([column(rows, "options")], listed_options)


def _format_options(options: str, class_name: ClassNamer) -> str:
    """Return the letters of a choice with their names."""
    class_indices = [class_index for class_index in options.split(";") if class_index]
    return "; ".join(
        f"{_option_letter(number)} {class_name(class_index)}" for number, class_index in enumerate(class_indices)
    )


def _option_letter(number: int) -> str:
    """Return the letter of an option, or its number after the alphabet."""
    return chr(ord("A") + number) if number < 26 else str(number + 1)


def _read_classification(rows: SampleTable, class_name: ClassNamer) -> Samples:
    """Return one item per image; several epochs about the same images are merged."""
    epochs = rows.columns.get("epoch")
    rounds = [rows] if epochs is None else [rows.select(epochs.codes == n) for n in range(len(epochs.values))]
    first_epoch = rounds[0]
    names = [name.removesuffix(".correct") for name in first_epoch.columns if name.endswith(".correct")]
    label_sets = {name: _class_outcomes(rounds, name, class_name) for name in names}
    has_text = "response" in first_epoch.columns
    confidence, loss = (
        (None, None) if has_text else (_parse_numbers(first_epoch, "score1"), _margin_losses(first_epoch))
    )
    return Samples(
        items=tuple((key, "") for key in column(first_epoch, "key")),
        label_sets=label_sets,
        answers=_class_answers(first_epoch, class_name),
        errors=_merge_texts(rounds, "error"),
        raw=_merge_texts(rounds, "response") if has_text else NO_TEXTS,
        kinds=column(first_epoch, "out_of_prompt") if has_text else NO_TEXTS,
        best=() if has_text else tuple(_ranked_classes(first_epoch, rank, class_name) for rank in RANKS),
        more=_text_columns(first_epoch, class_name) if has_text else (),
        prompt_slots=asked_options(first_epoch, class_name) if "options" in first_epoch.columns else (),
        unit="image",
        confidence=confidence,
        loss=loss,
    )


def _class_answers(rows: SampleTable, class_name: ClassNamer) -> Column[str]:
    """Return the names of the best classes; "" for none, or an error."""
    tops = column(rows, "top1").map(lambda top: class_name(top) if top else "")
    failed = column(rows, "error").map(bool).array(np.bool_)
    return Column(np.where(failed, len(tops.values), tops.codes), [*tops.values, ""])


def _ranked_classes(rows: SampleTable, rank: int, class_name: ClassNamer) -> _Ranked:
    """Return the names of the classes at one rank with their scores."""
    return column(rows, f"top{rank}").map(lambda top: class_name(top) if top else ""), column(rows, f"score{rank}")


def _class_outcomes(rounds: Sequence[SampleTable], name: str, class_name: ClassNamer) -> LabelOutcomes:
    """Return one label set of classes; an image that is right in some epochs only is mixed."""
    labels = column(rounds[0], f"{name}.labels").map(lambda text: tuple(map(class_name, filter(None, text.split(";")))))
    outcomes = _merge_epochs([_parse_marks(rows, f"{name}.correct") for rows in rounds])
    return LabelOutcomes(labels, column(rounds[0], f"{name}.category"), outcomes)


def _merge_epochs(rounds: Sequence[Codes]) -> Codes:
    """Return the outcomes of several epochs as one; unscored epochs are ignored, different ones give mixed."""
    stacked = np.stack(rounds)
    wrong, right = (stacked == WRONG).any(axis=0), (stacked == RIGHT).any(axis=0)
    merged = np.select([wrong & right, wrong, right], [MIXED, WRONG, RIGHT], UNSCORED)
    return np.asarray(merged, np.uint8)


def _merge_texts(rounds: Sequence[SampleTable], name: str) -> Column[str]:
    """Return the texts of a column over all epochs, one line per epoch if there are several."""
    if len(rounds) == 1:
        return column(rounds[0], name)
    lines = zip(*(column(rows, name) for rows in rounds), strict=True)
    return Column.of("\n".join(f"{n}: {text}" for n, text in enumerate(texts, 1) if text) for texts in lines)


def _text_columns(rows: SampleTable, class_name: ClassNamer) -> Sequence[tuple[tuple[str, str], ...]]:
    """Return the details of the text answers."""
    empty = Column.repeat("", len(rows))
    columns = [rows.columns.get(name, empty) for name in _DETAIL_COLUMNS]
    return RowValues(columns, lambda *cells: tuple(_text_details(class_name, *cells)))


def _text_details(
    class_name: ClassNamer, options: str, top: str, strict: str, request: str, position: str
) -> Iterator[tuple[str, str]]:
    """Yield the details of a text answer."""
    if named := _format_options(options, class_name):
        yield "options", named
    if strict != top:
        yield "read strictly", class_name(strict) if strict else "nothing"
    if request:
        yield "asked in", f"request {request}, position {position}"


def class_namer(names: Sequence[str]) -> ClassNamer:
    """Return a function from class index to `name (index)`, or `class index` if there is no name."""
    by_index = {str(index): f"{one_line(name)} ({index})" for index, name in enumerate(names)}
    return cache(lambda index: by_index.get(index) or f"class {index}")


def read_samples(case: CaseRun, class_name: ClassNamer) -> Samples | None:
    """Return a case's samples by the view of its protocol; None without a table, or answers in it."""
    record = case.record
    if record.predictions is None:
        return None
    path = case.folder / record.predictions.path
    text = read_verified(path, case.folder, record.predictions)
    try:
        rows = SampleTable.parse(text)
        has_answers = any(any(rows.columns.get(name, ())) for name in ("prediction", "target", "error"))
        if not has_answers:
            return None
        if view := recorded_protocol(record.protocol).sample_view:
            return _read_view(rows, view)
        return _read_classification(rows, class_name) if "top1" in rows.columns else _read_shared(rows)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise ReportError(f"{path} cannot be read as answers ({error!r}). Run the case again.") from error


def _read_shared(rows: SampleTable) -> Samples:
    """Return one item per row of a protocol of another package, from the columns that all sample tables share."""
    keys = column(rows, "key")
    repeated = {key for key, times in Counter(keys).items() if times > 1}
    items = tuple((key, f"row {row}" if key in repeated else "") for row, key in enumerate(keys, 1))
    return replace(_read_view(rows, _SHARED), items=items, unit="sample" if repeated else "image")


def _read_view(rows: SampleTable, view: SampleView) -> Samples:
    """Return one item per row, as the view of the protocol declares."""
    categories = _read_cells(rows, view.category)
    return Samples(
        items=tuple((row["key"], view.question(row) if view.question else "") for row in rows),
        label_sets={
            name: LabelOutcomes(_single_labels(rows, target), categories, _parse_marks(rows, outcome))
            for name, (outcome, target) in view.label_sets(rows.columns).items()
        },
        answers=_read_cells(rows, view.answer),
        errors=column(rows, "error"),
        raw=rows.columns.get("response", NO_TEXTS),
        more=tuple(tuple(view.details(row)) for row in rows) if view.details else (),
        unit=view.unit,
        prompt_slots=tuple(map(view.slots, rows)) if view.slots else (),
        observations=tuple(column(rows, view.sampling_unit)) if view.sampling_unit else (),
        confidence=_parse_numbers(rows, view.score) if view.score else None,
    )


def _read_cells(rows: SampleTable, cell: Cell) -> Column[str]:
    return column(rows, cell) if isinstance(cell, str) else Column.of(map(cell, rows))


def _single_labels(rows: SampleTable, name: str) -> Column[tuple[str, ...]]:
    """Return one label per item, or none."""
    if not name:
        return Column.repeat((), len(rows))
    return column(rows, name).map(lambda text: (text,) if text else ())

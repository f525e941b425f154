"""Outcomes of a second annotation pass: Figure 7 of arXiv 2603.06578."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from eyechart.classification.tables.class_pages import PAPER, symbol_of
from eyechart.errors import ReportError
from eyechart.reports.annotation.answer_files import (
    LABELS,
    MODEL,
    AnnotatorChoice,
    AnswerFile,
    CategoryCounts,
    Item,
    SheetKey,
    SheetSource,
    read_answers,
)
from eyechart.reports.figures.charts import BlockFigure
from eyechart.reports.runs import ComparableCases, Runs
from eyechart.reports.tables.definition import TableDefinition
from eyechart.reports.tables.render import format_cell
from eyechart.reports.tables.selection import Page
from eyechart.results.frames import with_wilson
from eyechart.results.run_folder import report_folder

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import SubFigure

PREFERRED, PRESERVED, COMBINED, OTHER = "preferred", "preserved", "combined", "other"
OUTCOMES = (PREFERRED, PRESERVED, COMBINED, OTHER)
# Whether a class of the model's is among the chosen ones, and whether one of the labels' is.
BY_CHOICE: Mapping[tuple[bool, bool], str] = {
    (True, False): PREFERRED,
    (False, True): PRESERVED,
    (True, True): COMBINED,
    (False, False): OTHER,
}
ADDED, REJECTED = f"{PREFERRED} + {COMBINED}", f"{PREFERRED} + {OTHER}"
SUMS: Mapping[str, tuple[str, str]] = {ADDED: (PREFERRED, COMBINED), REJECTED: (PREFERRED, OTHER)}

COLOURS = ("tab:blue", "tab:orange", "tab:green", "tab:gray")
WIDTH, HEIGHT = 4, 3.6  # inches of a pie with its legend beneath


@dataclass(frozen=True, kw_only=True)
class _SheetPage(Page):
    """The case whose answers a sheet disputes, and the files of answers to such sheets."""

    source: SheetSource
    answer_files: tuple[AnswerFile[SheetKey], ...]


def _create_page(source: SheetSource, answer_files: Sequence[AnswerFile[SheetKey]], runs: Runs) -> _SheetPage:
    """Return the page of one source; its rows are named by their cells."""
    group = _find_group(source, answer_files, runs)
    case = next(case for case in group.cases if case.record.case == source.case)
    context = {"split": group.title, "labels": source.labels, "model": case.model, "protocol": source.protocol}
    return _SheetPage(
        cases=(case,), title=group.title, names=pd.DataFrame(index=[0]), labels=source.labels, context=context,
        notes=(*_outcome_notes(source, answer_files), *group.notes()), source=source, answer_files=tuple(answer_files),
    )  # fmt: skip


def _read_answers(runs: Runs, labels: str | None) -> list[tuple[SheetSource, list[AnswerFile[SheetKey]]]]:
    """Return the answer files by source, of all label sets or only the named one."""
    folders = [report_folder(folder) for folder, _ in runs.sessions]
    answer_files = read_answers(runs.annotations, folders, SheetKey)
    by_source: dict[SheetSource, list[AnswerFile[SheetKey]]] = {}
    for file in answer_files:
        by_source.setdefault(file.key.source, []).append(file)
    selected = [(source, files) for source, files in by_source.items() if labels in (None, source.labels)]
    if answer_files and not selected:
        known = ", ".join(dict.fromkeys(file.key.source.labels for file in answer_files))
        raise ReportError(f"--labels is '{labels}', and the answers are about {known}. Leave it out, or name that.")
    return selected


def _find_group(source: SheetSource, answer_files: Sequence[AnswerFile[SheetKey]], runs: Runs) -> ComparableCases:
    """Return the group of the case, with the same answers, that the sheet was made from."""
    for group in runs.groups:
        for case in group.cases:
            file = case.record.predictions
            if file and (case.record.case, file.sha256) == (source.case, source.predictions):
                return group
    raise ReportError(
        f"{answer_files[0].path} answers a sheet about {source.case} ({source.protocol}) whose answers have the sha256 "
        f"{source.predictions[:12]}…, and these runs do not hold them. Name the run that the sheet was made from."
    )


def _classify_choice(item: Item, choice: AnnotatorChoice) -> str:
    """Return the outcome of one answer; an equivalent of a suggested class counts as that class."""
    sources = {source for index in choice.selected for source in item.candidates[index - 1].by}
    return BY_CHOICE[MODEL in sources, LABELS in sources]


def _outcome_cells(page: Page) -> pd.DataFrame:
    """Return the outcomes of a page of a sheet."""
    if not isinstance(page, _SheetPage):
        raise TypeError(f"The page {page.title} has no answers of annotators.")
    answered = [(file.key.items[index], choice) for file in page.answer_files for index, choice in file.choices.items()]
    return count_outcomes(page.source.counts, answered)


def count_outcomes(
    categories: Sequence[CategoryCounts], answered: Sequence[tuple[Item, AnnotatorChoice]]
) -> pd.DataFrame:
    """Return the cells of a row of counts and a row of shares for each category.

    Disputed is a share of all images, answered of the disputed ones, all else of the answered ones.
    """
    outcomes = [(item.category, _classify_choice(item, choice)) for item, choice in answered]
    counts: list[dict[str, Any]] = []
    for index, category in enumerate(categories):
        hits = Counter(outcome for name, outcome in outcomes if name == category.category)
        n = hits.total()
        numbers = {name: (hits[name], n) for name in OUTCOMES}
        numbers |= {name: (hits[first] + hits[second], n) for name, (first, second) in SUMS.items()}
        parts = {"disputed": (category.disputed, category.images), "answered": (n, category.disputed), **numbers}
        row = {"row": 0, "position": index, "Category": symbol_of(category.category)}
        counts.append(row | {"column": "images", "count": category.images})
        counts += [row | {"column": name, "count": hit, "n": size} for name, (hit, size) in parts.items()]
    cells = pd.DataFrame(counts)
    shares = cells.dropna(subset="n").astype({"n": np.int64}).rename(columns={"count": "hits"})
    return pd.concat([cells.drop(columns="n").assign(**{"": "#"}), with_wilson(shares).assign(**{"": "%"})])


def _outcome_notes(source: SheetSource, answer_files: Sequence[AnswerFile[SheetKey]]) -> Iterator[str]:
    """Yield the explanation of the table."""
    yield (
        f"Disputed: the model gave a valid prediction, and {source.labels} says that it is wrong. In S- and M- the "
        "original label is not right either."
    )
    yield (
        f"Among what the annotators chose is: the model's class and none of {source.labels} (preferred); one of "
        f"{source.labels} and not the model's (preserved); both (combined); neither (other). {ADDED}: the model's "
        f"class holds. {REJECTED}: no label of {source.labels} does."
    )
    yield "Disputed is a share of the images, answered of the disputed ones, all else of the answered ones."
    yield "Brackets: 95 % Wilson intervals."
    beside = f" and {source.second}" if source.second else ""
    yield f"The names came from {source.case} ({source.protocol}), {source.labels}, the original labels{beside}."
    yield from _unanswered_notes(answer_files)


def _unanswered_notes(answer_files: Sequence[AnswerFile[SheetKey]]) -> Iterator[str]:
    """Yield the number of images without an answer, and the number of comments."""
    for file in answer_files:
        done, size = len(file.choices), len(file.key.items)
        if done < size:
            yield (
                f"{file.path.name}: {done} of the sheet's {size} pictures are answered; the others are left out. Load "
                "the file into the sheet to go on."
            )
    comments = sum(bool(choice.comment.strip()) for file in answer_files for choice in file.answers.answers.values())
    if comments:
        yield f"Pictures with a comment: {comments}; the files of answers hold them."


ANNOTATION_OUTCOMES = TableDefinition(
    name="annotation-outcomes",
    alias="F7",
    source=PAPER,
    summary="How often annotators preferred the class of the model, the label, both or neither, on disputed images.",
    pages=lambda runs, labels: [
        _create_page(source, answer_files, runs) for source, answer_files in _read_answers(runs, labels)
    ],
    needs="needs the answers to a sheet of disputed images",
    command="eyechart annotate, and give what comes back: eyechart table F7 RUN… --annotations=answers.json",
    title="{page}: second annotation pass where {labels} disputes {model} ({protocol})",
    cells=_outcome_cells,
    rows=("Category", ""),
    order=("row", "position"),
    columns=("images", "disputed", "answered", *OUTCOMES, *SUMS),
)


def _draw_pies(part: "SubFigure", page: Page, _: Runs) -> None:
    categories = [*_outcome_cells(page).groupby("Category", sort=False)]
    for ax, (category, cells) in zip(part.subplots(1, len(categories), squeeze=False)[0], categories, strict=True):
        _draw_pie(ax, str(category), cells)


def _draw_pie(ax: "Axes", category: str, cells: pd.DataFrame) -> None:
    counts = cells[cells[""] == "#"].set_index("column")["count"].astype(int)
    ax.set_title(f"{category}: {counts['answered']:,} of {counts['disputed']:,} disputed images answered", fontsize=8)
    if counts["answered"] == 0:
        ax.set_axis_off()
        ax.text(0.5, 0.5, "no answers", transform=ax.transAxes, ha="center", va="center", fontsize=8)
        return
    wedges, *_ = ax.pie(counts[[*OUTCOMES]], colors=COLOURS, startangle=90, counterclock=False)
    shares = {
        cell["column"]: ANNOTATION_OUTCOMES.make_cell(cell) for cell in cells[cells[""] == "%"].to_dict("records")
    }
    legend = [f"{name}: {format_cell(shares[name], with_n=False)} %, n={counts[name]:,}" for name in OUTCOMES]
    ax.legend(wedges, legend, fontsize=7, loc="upper center", bbox_to_anchor=(0.5, 0.02), frameon=False)


OUTCOME_PIES = BlockFigure(
    summary="What annotators preferred on disputed images, one pie for each category.",
    table=ANNOTATION_OUTCOMES,
    draw=_draw_pies,
    caption=lambda page: page.fill(ANNOTATION_OUTCOMES.title),
    height=lambda _: HEIGHT,
    width=lambda page: WIDTH * max(2, _outcome_cells(page)["Category"].nunique()),
)

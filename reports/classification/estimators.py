"""Columns common to most published tables: accuracy under the original labels, then under new ones by category."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from eyechart.errors import ReportError
from eyechart.metrics.intervals import t_interval

from ..answers import CATEGORIES, Bools, Floats, ImageAnswers, TextColumns, paired_change, proportion
from ..render import NumberCell, NumberFormat
from ..runs import CaseRun

CATEGORY_COLUMNS = tuple(name for name in CATEGORIES if name != "N")
ColumnKey = tuple[str, str]  # a ground truth and a category of its images
COVERED_BY_BLOCK = "The rows of one model cover the images that all of them have an answer to."


def column_keys(reference: str, labels: str, cells: Sequence[str] = CATEGORY_COLUMNS) -> Mapping[str, ColumnKey]:
    """Return the label set and category of each column by its head, the reference first."""
    return {reference: (reference, "A")} | ({} if labels == reference else {cell: (labels, cell) for cell in cells})


def scored_by_all(outcomes: Iterable[Floats]) -> Bools:
    """Return the mask (n,) of the images that have a value in each of the arrays (n,).

    This is the rule of every table: columns that are compared cover the same images, and so do the rows of a block.
    """
    return np.asarray(np.logical_and.reduce([~np.isnan(values) for values in outcomes]), bool)


def compared_images(answers: Iterable[ImageAnswers], label_sets: Collection[str]) -> Bools:
    """Return the mask (n,) of the images that every label set scores for each of the answers."""
    return scored_by_all(image_answers.label_sets[name].correct for image_answers in answers for name in label_sets)


def block_images(block: Sequence[CaseRun], label_sets: Collection[str]) -> Bools:
    """Return the mask (n,) of the images that every label set scores for each row of a block."""
    return compared_images([case.answers for case in check_same_images(block)], label_sets)


def coverage_note(label_sets: Collection[str], columns: str = "All columns") -> str:
    """Return the sentence that says which images the columns cover."""
    names = [*dict.fromkeys(label_sets)]
    quantifier = "both" if len(names) == 2 else "all"
    if len(names) == 1:
        return f"{columns} are over the images that {names[0]} scores."
    return f"{columns} are over the images that {', '.join(names[:-1])} and {names[-1]} {quantifier} score."


def accuracy_cell(case: CaseRun, key: ColumnKey, images: Bools) -> NumberCell:
    """Return the accuracy over some images, with Wilson's interval."""
    scored = case.answers.label_sets[key[0]]
    return proportion(scored.correct, scored.mask(key[1]) & images)


def accuracy_change(before: CaseRun, after: CaseRun, key: ColumnKey, images: Bools) -> NumberCell:
    """Return the change in accuracy over the same images, with its paired interval."""
    first, second = (case.answers.label_sets[key[0]] for case in check_same_images((before, after)))
    return paired_change(first.correct, second.correct, second.mask(key[1]) & images)


def check_same_images(cases: Sequence[CaseRun]) -> Sequence[CaseRun]:
    """Return the cases; raise ReportError unless their answers are about the same images in the same order."""
    for case in cases:
        if case.answers.keys != cases[0].answers.keys:
            raise ReportError(f"{case.folder}: the answers to {case.record.case} are not about the same images.")
    return cases


def text_columns(case: CaseRun) -> TextColumns:
    """Return the columns that only text answers have; raise ReportError if the case has none."""
    if case.answers.text is None:
        raise ReportError(
            f"The answers to {case.record.case} in {case.folder} do not say which are out of the prompt: there is no "
            "column 'out_of_prompt'. Run the case again."
        )
    return case.answers.text


def out_of_prompt_rate(case: CaseRun, key: ColumnKey, images: Bools | None = None) -> NumberCell:
    """Return the share of answers that are out of the prompt, with Wilson's interval."""
    mask = case.answers.label_sets[key[0]].mask(key[1])
    return proportion(text_columns(case).out_of_prompt, mask if images is None else mask & images)


def as_count(cell: NumberCell, digits: int = 0, *, signed: bool = False) -> NumberCell:
    """Return a proportion and its interval as numbers of images."""
    return replace(cell, style=NumberFormat(cell.n or 0, digits, signed))


def mean_over_epochs(epochs: Sequence[NumberCell]) -> NumberCell:
    """Return the mean of a number over several epochs with Student's interval; of one epoch, that number.

    Its n is the smallest of the epochs, since errors leave images out.
    """
    if len(epochs) == 1:
        return epochs[0]
    values = [number.value for number in epochs if number.value is not None]
    if not values:
        return NumberCell(None, 0)
    ci = t_interval(values) if len(values) > 1 else None
    smallest_n = min(number.n or 0 for number in epochs)
    return NumberCell(float(np.mean(values)), smallest_n, None if ci is None else (ci.low, ci.high), half_width=True)

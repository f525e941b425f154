"""The columns that most published tables share: accuracy under the original labels, then under new ones by category."""

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
COVERED_BY_BLOCK = "Where answers failed, the rows of one model leave out the images that one of them has no answer to."


def column_keys(reference: str, labels: str, cells: Sequence[str] = CATEGORY_COLUMNS) -> Mapping[str, ColumnKey]:
    """What each column is about, by its head: the reference first; it has no categories of its own."""
    return {reference: (reference, "A")} | ({} if labels == reference else {cell: (labels, cell) for cell in cells})


def scored_by_all(outcomes: Iterable[Floats]) -> Bools:
    """Return the mask (n,) of the images that have a value in every one of the outcomes (n,).

    This is the rule of every table: columns that are compared cover the same images, and so do the rows of a block.
    """
    return np.asarray(np.logical_and.reduce([~np.isnan(each) for each in outcomes]), bool)


def compared_images(answers: Iterable[ImageAnswers], truths: Collection[str]) -> Bools:
    """Return the mask (n,) of the images that every ground truth scores for each of the answers."""
    return scored_by_all(each.label_sets[name].correct for each in answers for name in truths)


def block_images(block: Sequence[CaseRun], truths: Collection[str]) -> Bools:
    """Return the mask (n,) of the images that every ground truth scores for each row of a block."""
    return compared_images([entry.answers for entry in check_same_images(block)], truths)


def coverage_note(truths: Collection[str], columns: str = "All columns") -> str:
    """Return the sentence that says which images the columns cover."""
    names = [*dict.fromkeys(truths)]
    every = "both" if len(names) == 2 else "all"
    if len(names) == 1:
        return f"{columns} are over the images that {names[0]} scores."
    return f"{columns} are over the images that {', '.join(names[:-1])} and {names[-1]} {every} score."


def accuracy_cell(entry: CaseRun, spot: ColumnKey, images: Bools) -> NumberCell:
    """The share of right answers among some images, with Wilson's interval."""
    truth = entry.answers.label_sets[spot[0]]
    return proportion(truth.correct, truth.mask(spot[1]) & images)


def accuracy_change(before: CaseRun, after: CaseRun, spot: ColumnKey, images: Bools) -> NumberCell:
    """How far the accuracy moved over the same images, with its paired interval."""
    one, other = (entry.answers.label_sets[spot[0]] for entry in check_same_images((before, after)))
    return paired_change(one.correct, other.correct, other.mask(spot[1]) & images)


def check_same_images(entries: Sequence[CaseRun]) -> Sequence[CaseRun]:
    """The entries, if their answers are about the same images in the same order."""
    for entry in entries:
        if entry.answers.keys != entries[0].answers.keys:
            raise ReportError(f"{entry.folder}: the answers to {entry.record.case} are not about the same images.")
    return entries


def text_columns(entry: CaseRun) -> TextColumns:
    """What a case's answers in words have besides."""
    if entry.answers.text is None:
        raise ReportError(
            f"The answers to {entry.record.case} in {entry.folder} do not say which are out of the prompt: there is no "
            "column 'oop'. Run the case again."
        )
    return entry.answers.text


def out_of_prompt_rate(entry: CaseRun, spot: ColumnKey, images: Bools | None = None) -> NumberCell:
    """The share of answers out of the prompt, of the images with an answer, with Wilson's interval."""
    mask = entry.answers.label_sets[spot[0]].mask(spot[1])
    return proportion(text_columns(entry).out_of_prompt, mask if images is None else mask & images)


def as_count(found: NumberCell, digits: int = 0, *, signed: bool = False) -> NumberCell:
    """A share as a number of images, its interval too."""
    return replace(found, style=NumberFormat(found.n or 0, digits, signed))


def mean_over_epochs(rounds: Sequence[NumberCell]) -> NumberCell:
    """Return the mean of the same number of several rounds with Student's interval; of one round, that number itself.

    Its n is the smallest of the rounds, since errors of a round leave images out of it.
    """
    if len(rounds) == 1:
        return rounds[0]
    values = [number.value for number in rounds if number.value is not None]
    if not values:
        return NumberCell(None, 0)
    ci = t_interval(values) if len(values) > 1 else None
    fewest = min(number.n or 0 for number in rounds)
    return NumberCell(float(np.mean(values)), fewest, None if ci is None else (ci.low, ci.high), half_width=True)

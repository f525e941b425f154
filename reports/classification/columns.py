"""The columns that most published tables share: accuracy under the original labels, then under new ones by category."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from eyechart.errors import ReportError
from eyechart.metrics.intervals import t_interval

from ..answers import COLUMNS, Answered, Bools, Floats, Words, change, share
from ..render import Number, Style
from ..runs import Entry

CELLS = tuple(name for name in COLUMNS if name != "N")
Spot = tuple[str, str]  # a ground truth and a category of its images
COVERED_BY_BLOCK = "Where answers failed, the rows of one model leave out the images that one of them has no answer to."


def spots(reference: str, labels: str, cells: Sequence[str] = CELLS) -> Mapping[str, Spot]:
    """What each column is about, by its head: the reference first; it has no categories of its own."""
    return {reference: (reference, "A")} | ({} if labels == reference else {cell: (labels, cell) for cell in cells})


def scored_by_all(outcomes: Iterable[Floats]) -> Bools:
    """Return the mask (n,) of the images that have a value in every one of the outcomes (n,).

    This is the rule of every table: columns that are compared cover the same images, and so do the rows of a block.
    """
    return np.asarray(np.logical_and.reduce([~np.isnan(each) for each in outcomes]), bool)


def compared_images(answers: Iterable[Answered], truths: Collection[str]) -> Bools:
    """Return the mask (n,) of the images that every ground truth scores for each of the answers."""
    return scored_by_all(each.truths[name].correct for each in answers for name in truths)


def block_images(block: Sequence[Entry], truths: Collection[str]) -> Bools:
    """Return the mask (n,) of the images that every ground truth scores for each row of a block."""
    return compared_images([entry.answers for entry in aligned(block)], truths)


def coverage_note(truths: Collection[str], columns: str = "All columns") -> str:
    """Return the sentence that says which images the columns cover."""
    names = [*dict.fromkeys(truths)]
    every = "both" if len(names) == 2 else "all"
    if len(names) == 1:
        return f"{columns} are over the images that {names[0]} scores."
    return f"{columns} are over the images that {', '.join(names[:-1])} and {names[-1]} {every} score."


def right(entry: Entry, spot: Spot, images: Bools) -> Number:
    """The share of right answers among some images, with Wilson's interval."""
    truth = entry.answers.truths[spot[0]]
    return share(truth.correct, truth.mask(spot[1]) & images)


def moved(before: Entry, after: Entry, spot: Spot, images: Bools) -> Number:
    """How far the accuracy moved over the same images, with its paired interval."""
    one, other = (entry.answers.truths[spot[0]] for entry in aligned((before, after)))
    return change(one.correct, other.correct, other.mask(spot[1]) & images)


def aligned(entries: Sequence[Entry]) -> Sequence[Entry]:
    """The entries, if their answers are about the same images in the same order."""
    for entry in entries:
        if entry.answers.keys != entries[0].answers.keys:
            raise ReportError(f"{entry.folder}: the answers to {entry.record.case} are not about the same images.")
    return entries


def words(entry: Entry) -> Words:
    """What a case's answers in words have besides."""
    if entry.answers.words is None:
        raise ReportError(
            f"The answers to {entry.record.case} in {entry.folder} do not say which are out of the prompt: there is no "
            "column 'oop'. Run the case again."
        )
    return entry.answers.words


def out_of_prompt(entry: Entry, spot: Spot, images: Bools | None = None) -> Number:
    """The share of answers out of the prompt, of the images with an answer, with Wilson's interval."""
    mask = entry.answers.truths[spot[0]].mask(spot[1])
    return share(words(entry).outside, mask if images is None else mask & images)


def counted(found: Number, digits: int = 0, *, signed: bool = False) -> Number:
    """A share as a number of images, its interval too."""
    return replace(found, style=Style(found.n or 0, digits, signed))


def mean_over_rounds(rounds: Sequence[Number]) -> Number:
    """Return the mean of the same number of several rounds with Student's interval; of one round, that number itself.

    Its n is the smallest of the rounds, since errors of a round leave images out of it.
    """
    if len(rounds) == 1:
        return rounds[0]
    values = [number.value for number in rounds if number.value is not None]
    if not values:
        return Number(None, 0)
    ci = t_interval(values) if len(values) > 1 else None
    fewest = min(number.n or 0 for number in rounds)
    return Number(float(np.mean(values)), fewest, None if ci is None else (ci.low, ci.high), half_width=True)

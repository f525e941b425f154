"""The columns that most published tables share: accuracy under the original labels, then under new ones by category."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from eyechart.errors import ReportError
from eyechart.records import Metric

from .answers import COLUMNS, Words, change, share
from .render import Number, Style
from .runs import Entry

CELLS = tuple(name for name in COLUMNS if name != "N")
Spot = tuple[str, str]  # a ground truth and a category of its images


def spots(reference: str, labels: str, cells: Sequence[str] = CELLS) -> Mapping[str, Spot]:
    """What each column is about, by its head: the reference first; it has no categories of its own."""
    return {reference: (reference, "A")} | ({} if labels == reference else {cell: (labels, cell) for cell in cells})


def right(entry: Entry, spot: Spot) -> Number:
    """The share of right answers, with Wilson's interval."""
    truth = entry.answers.truths[spot[0]]
    return share(truth.correct, truth.mask(spot[1]))


def moved(before: Entry, after: Entry, spot: Spot) -> Number:
    """How far the accuracy moved over the same images, with its paired interval."""
    one, other = (entry.answers.truths[spot[0]] for entry in aligned((before, after)))
    return change(one.correct, other.correct, other.mask(spot[1]))


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


def out_of_prompt(entry: Entry, spot: Spot) -> Number:
    """The share of answers out of the prompt, of the images with an answer, with Wilson's interval."""
    return share(words(entry).outside, entry.answers.truths[spot[0]].mask(spot[1]))


def counted(found: Number, digits: int = 0, *, signed: bool = False) -> Number:
    """A share as a number of images, its interval too."""
    return replace(found, style=Style(found.n or 0, digits, signed))


def mean(metric: Metric | None) -> Number | None:
    """A number of a record, ± Student's interval over the repeats where it is a mean over them, as it is published."""
    if metric is None:
        return None
    repeated = metric.repeats_ci is not None
    return Number(metric.value, metric.n, metric.repeats_ci if repeated else metric.ci, half_width=repeated)

"""`reannotated`: the accuracy of every model under the labels that annotators gave to a drawn sample."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from eyechart.errors import ReportError
from eyechart.messages.plurals import count_of
from eyechart.messages.suggestions import did_you_mean
from eyechart.reports.annotation.answer_files import AnswerFile, SampleDraw, SampleKey, read_answers
from eyechart.reports.annotation.sample import NOT_SCORED, ScoredCase, score_cases
from eyechart.reports.runs import ComparableCases, Runs
from eyechart.reports.tables.definition import TableDefinition
from eyechart.reports.tables.one_option import interval_ends
from eyechart.reports.tables.selection import Page, create_page, with_suffixes
from eyechart.results.run_folder import report_folder
from eyechart.statistics.array_types import Bools, Ints
from eyechart.statistics.mean_sequence import mean_sequence
from eyechart.statistics.reannotation import reannotated_difference, reannotated_mean

PUBLISHED, CHANGED, NEW, POPULATION = "Published", "Changed", "New labels", "Population"
CHANGE, WORTH = "Δ", "Worth"
SEQUENTIAL_COLUMNS = (PUBLISHED, CHANGED, NEW, CHANGE)
COLUMNS = (PUBLISHED, CHANGED, NEW, POPULATION, CHANGE, WORTH)

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class _Answer:
    """The classes that an annotator chose for an image, and those that the sheet offered, with their equivalents."""

    chosen: frozenset[int]
    offered: frozenset[int]


@dataclass(frozen=True)
class _NewOutcomes:
    """The classes that a model answered to the images that a draw scores (n,), and its outcomes under both labels (n,).

    `new` is NaN for an image without an answer of annotators. `not_offered` is the number of answered images for which
    the sheet does not have the class of the model, so that nobody judged whether it is right.
    """

    scored: ScoredCase
    classes: Ints
    published: Floats
    new: Floats
    not_offered: int


@dataclass(frozen=True, kw_only=True)
class _SamplePage(Page):
    """The models of a draw, the highest published accuracy first.

    `strata` is the stratum of each image that the draw scores (n,), None if all have the same. `order` are the answered
    ones of these images, in the order of the draw.
    """

    draw: SampleDraw
    strata: Ints | None
    order: tuple[int, ...]
    outcomes: tuple[_NewOutcomes, ...]


def _select_pages(runs: Runs, labels: str | None) -> list[Page]:
    folders = [report_folder(folder) for folder, _ in runs.sessions]
    by_draw: dict[SampleDraw, list[AnswerFile[SampleKey]]] = {}
    for file in read_answers(runs.annotations, folders, SampleKey):
        by_draw.setdefault(file.key.draw, []).append(file)
    pages = [_create_page(draw, files, runs) for draw, files in by_draw.items() if labels in (None, draw.labels)]
    return with_suffixes(pages)


def _create_page(draw: SampleDraw, files: Sequence[AnswerFile[SampleKey]], runs: Runs) -> _SamplePage:
    group = _find_group(draw, files, runs)
    scored = [*score_cases(group, draw.labels)]
    rows = {key: row for row, key in enumerate(scored[0].case.samples(["key"])["key"])}
    images = np.array([one != NOT_SCORED for one in draw.strata])
    position = np.cumsum(images) - 1  # of an image of the split among those that are scored
    answers = {int(position[rows[key]]): answer for key, answer in _read_answers(draw, files).items()}
    strata = np.array([int(one) for one in draw.strata if one != NOT_SCORED], np.int64)
    outcomes = [_apply(answers, one, images) for one in scored]
    usable = [one for one in outcomes if not (np.isnan(one.published).any() or one.not_offered)]
    usable.sort(key=lambda one: (one.scored.case.model not in runs.references, -one.published.sum()))
    models = [one.scored.case.model for one in usable]
    if unknown := [name for name in runs.references if name not in models]:
        near = did_you_mean(unknown[0], models)
        raise ReportError(f"--reference is '{unknown[0]}'{near} The table has: {', '.join(models) or 'no model'}.")
    page = create_page(group.select(one.scored.case for one in usable), draw.labels)
    return _SamplePage(
        cases=page.cases, title=page.title, names=page.names, labels=draw.labels, context=page.context,
        notes=(*_left_out(outcomes), *_comments(files), *page.notes), draw=draw,
        strata=strata if strata.any() else None, order=tuple(answers), outcomes=tuple(usable),
    )  # fmt: skip


def _find_group(draw: SampleDraw, files: Sequence[AnswerFile[SampleKey]], runs: Runs) -> ComparableCases:
    """Return the cases about the images and the labels of a draw."""
    for group in runs.groups:
        for case in group.scored_under(draw.labels):
            data = case.record.data
            if (data.fingerprint, data.labels.get(draw.labels, "")) == (draw.fingerprint, draw.labels_sha256):
                return group
    raise ReportError(
        f"{files[0].path} answers a sample of {draw.split} under {draw.labels}, and these runs have no case about "
        "the same images and labels. Name a run that has one."
    )


def _read_answers(draw: SampleDraw, files: Sequence[AnswerFile[SampleKey]]) -> dict[str, _Answer]:
    """Return the answers by the key of their image, in the order of the draw.

    The answers to a sequential sample count up to the first picture without one. Any other sample must be complete.
    """
    done = sum(len(file.choices) for file in files)
    if done < draw.size and not draw.sequential:
        names = ", ".join(file.path.name for file in files)
        raise ReportError(
            f"{names}: {done} of the sample's {draw.size} pictures are answered. Its intervals hold for the number of "
            "labels that was set before, not for one at which somebody looks. Answer all pictures and give the answers "
            "to all parts, or draw a sample to look at with: eyechart annotate --sample=N --sequential"
        )

    def with_equivalents(labels: Sequence[int]) -> frozenset[int]:
        return frozenset([*labels, *(other for label in labels for other in draw.equivalents.get(str(label), ()))])

    answers: dict[str, _Answer] = {}
    for file in files:
        for index, item in enumerate(file.key.items):
            choice = file.choices.get(index)
            if choice is None:
                break
            labels = [candidate.label for candidate in item.candidates]
            chosen = with_equivalents([labels[number - 1] for number in choice.selected])
            answers[item.key] = _Answer(chosen, with_equivalents(labels))
    if not answers:
        raise ReportError(f"{files[0].path} has no answer to the first picture. Answer the pictures in their order.")
    return answers


def _apply(answers: Mapping[int, _Answer], scored: ScoredCase, images: Bools) -> _NewOutcomes:
    """Return the outcomes of a model on the images that a draw scores."""
    classes, published = scored.classes[images], scored.outcomes[images]
    new = np.full(len(classes), np.nan)
    for image, answer in answers.items():
        new[image] = int(classes[image]) in answer.chosen
    not_offered = sum(int(classes[image]) not in {-1, *answer.offered} for image, answer in answers.items())
    return _NewOutcomes(scored, classes, published, new, not_offered)


def _left_out(outcomes: Sequence[_NewOutcomes]) -> Iterator[str]:
    for one in outcomes:
        name = f"{one.scored.case.model} ({one.scored.case.record.protocol})"
        if unscored := int(np.isnan(one.published).sum()):
            yield f"{name} is left out: {count_of(unscored, 'image has', 'images have')} no outcome of it as published."
        elif one.not_offered:
            yield (
                f"{name} is left out: its classes of {count_of(one.not_offered, 'picture')} were not on the sheet, so "
                "that annotators could not choose them. Draw a sample from a run that has this model."
            )


def _comments(files: Sequence[AnswerFile[SampleKey]]) -> Iterator[str]:
    if n := sum(bool(choice.comment.strip()) for file in files for choice in file.answers.answers.values()):
        yield f"Pictures with a comment: {n}; the files of answers hold them."


def _cells(page: Page) -> pd.DataFrame:
    """Return the cells of each model."""
    if not isinstance(page, _SamplePage):
        raise TypeError(f"The page {page.title} has no answers to a drawn sample.")
    cells: list[dict[str, Any]] = []
    for row, one in enumerate(page.outcomes):
        units = one.scored.case.evidence.cluster_ids()
        units = None if units is None else units[[symbol != NOT_SCORED for symbol in page.draw.strata]]
        first = page.outcomes[0]
        mean = reannotated_mean(one.new, one.published, page.strata, units)
        own: dict[str, dict[str, Any]] = {
            PUBLISHED: {"value": one.published.mean(), "n": len(one.published)},
            CHANGED: {"count": mean.changed},
            NEW: {"value": mean.value, "n": len(page.order)} | interval_ends(mean.ci),
            POPULATION: {"value": mean.value} | interval_ends(mean.population),
            WORTH: {"count": round(mean.plain)},
        }
        if row:
            outcomes = (one.new, first.new, one.published, first.published)
            change = reannotated_difference(*outcomes, _equal_answers(one, first), page.strata, units)
            own[CHANGE] = {"value": change.value} | interval_ends(change.ci)
        if page.draw.sequential:
            own = _sequential(own, one, first, page)
        cells += [{"row": row, "column": column, **cell} for column, cell in own.items()]
    return pd.DataFrame(cells)


def _equal_answers(one: _NewOutcomes, other: _NewOutcomes) -> Bools:
    equal: Bools = (one.classes == other.classes) & (one.classes >= 0)
    return equal


def _sequential(
    own: Mapping[str, dict[str, Any]], one: _NewOutcomes, first: _NewOutcomes, page: _SamplePage
) -> dict[str, dict[str, Any]]:
    """Return the cells of a model with intervals that hold at every look, for the images alone."""
    order, size, horizon = [*page.order], len(one.new), page.draw.size
    ends = mean_sequence(one.new[order], one.published[order], size, one.published.mean(), horizon)[-1]
    result = {name: own[name] for name in (PUBLISHED, CHANGED)}
    result |= {NEW: own[NEW] | _inside(own[NEW]["value"], *ends)}
    if CHANGE in own:
        differs = ~_equal_answers(one, first)  # the others have a difference of 0 under any label
        rows, share = [image for image in order if differs[image]], float(differs.mean())
        ends = np.array([-share, share])
        if rows:
            new, published = (one.new - first.new + 1) / 2, (one.published - first.published + 1) / 2
            sequence = mean_sequence(
                new[rows],
                published[rows],
                int(differs.sum()),
                published[differs].mean(),
                max(1, round(share * horizon)),
            )
            ends = share * (2 * sequence[-1] - 1)
        result[CHANGE] = _inside(own[CHANGE]["value"], *ends)
    return result


def _inside(value: float, low: float, high: float) -> dict[str, float]:
    return {"value": min(max(value, low), high), "low": low, "high": high}


def _columns(page: Page) -> Sequence[str]:
    return SEQUENTIAL_COLUMNS if isinstance(page, _SamplePage) and page.draw.sequential else COLUMNS


def _notes(page: Page) -> Iterator[str]:
    """Yield what the numbers are about, and what their intervals mean."""
    if not isinstance(page, _SamplePage):
        return
    total, answered, draw = sum(one != NOT_SCORED for one in page.draw.strata), len(page.order), page.draw
    how = "uniformly" if page.strata is None else "from strata of agreement with the label"
    yield (
        f"Published: accuracy of {total:,} images under {draw.labels}. New labels: the accuracy of the same "
        f"{total:,} images under the labels of annotators, from {answered:,} of them, drawn {how}, and the published "
        "outcomes of all. A class is right if an annotator chose it or one that counts as equal."
    )
    yield f"Changed: of {answered:,} answered pictures, those with another outcome than published."
    yield "Δ: from the model of the first row, which has the highest published accuracy or is the --reference."
    if draw.sequential:
        yield (
            f"Brackets: 95 % confidence sequences, which hold at every look and wherever you stop; {answered:,} of "
            f"{draw.size:,} drawn pictures are used, up to the first one without an answer. The price: about twice as "
            "many labels as a number that is set before, for the same width."
        )
        return
    yield "Brackets: 95 % intervals of each number alone, for the number of labels that was set before."
    yield "Population: the interval for the images from which these were drawn; all else is about these images."
    yield "Worth: how many labels of uniformly drawn images give an interval as short without the published outcomes."


REANNOTATED = TableDefinition(
    name="reannotated",
    summary="The accuracy of every model under new labels of a drawn sample, and what the labels are worth.",
    pages=_select_pages,
    needs="needs the answers to the sheet of a drawn sample",
    command="eyechart annotate RUN… --sample=200 --labels=NAME, and give what comes back: "
    "eyechart table reannotated RUN… --annotations=answers.json",
    title="{page}: accuracy under new labels instead of {labels} (%)",
    cells=_cells,
    rows=("Model", "Protocol"),
    columns=_columns,
    notes=(_notes,),
)

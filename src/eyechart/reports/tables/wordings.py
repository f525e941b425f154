"""`wordings`: how the accuracy of a model varies over several wordings of a prompt, asked about the same images."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isnan, sqrt
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from eyechart.gate.baselines.stored_cases import case_evidence
from eyechart.messages.plurals import count_of
from eyechart.reports.runs import CaseRun, ComparableCases, Runs
from eyechart.reports.tables.definition import TableDefinition
from eyechart.reports.tables.render import NumberFormat
from eyechart.reports.tables.selection import Page, create_page
from eyechart.results.evidence import Floats, Ints
from eyechart.results.headlines import headlines
from eyechart.statistics.intervals import Interval
from eyechart.statistics.wordings import best_wording, new_wording_interval, wording_components

PROMPT = "prompt"  # the option that names the wording
COLUMNS = ("Wordings", "Mean, new wording", "SD, points", "Best wording", "Its accuracy here", "On other images")
NOTES = (
    "Mean: of all wordings; 95 % interval of the accuracy that one more such wording would have on these images.",
    "SD: of the accuracy over wordings, without the chance of these images; 0 if it varies less than by chance.",
    "Its accuracy here: of the best wording on the images on which it was chosen, which is too high on average.",
    "On other images: the accuracy of this choice, made on nine tenths of the images and read on the others.",
)


@dataclass(frozen=True)
class _Wordings:
    """The cases of a model under several prompts, and the outcomes (n, t) of the n images that all of them answered.

    `row` is the index of the first case on its page, `units` (n,) the sampling unit of each image, and `missing` the
    number of images that some case did not answer.
    """

    row: int
    cases: tuple[CaseRun, ...]
    outcomes: Floats
    units: Ints
    missing: int

    @property
    def names(self) -> list[str]:
        return [case.option(PROMPT) for case in self.cases]


def _pages(runs: Runs, labels: str | None) -> list[Page]:
    """Return a page for every group and label set with a model that answered under several prompts."""
    pages = []
    for group in runs.groups:
        cases = [case for same in _same_but_for_the_prompt(group) for case in same]
        for name in group.labels:
            page = create_page(group.select(cases), name, (PROMPT,)) if cases and labels in (None, name) else None
            if page is not None and any(_read_wordings(page)):
                pages.append(page)
    return pages


def _same_but_for_the_prompt(group: ComparableCases) -> Iterator[list[CaseRun]]:
    """Yield the cases of a model and protocol with the same settings but for the prompt, if they have several."""
    found: dict[tuple[str, ...], dict[str, CaseRun]] = {}
    for case in group.cases:
        if case.option(PROMPT):
            settings = case.prompt_settings_without((PROMPT,))
            found.setdefault((case.model, case.record.protocol, settings), {})[case.option(PROMPT)] = case
    return (list(cases.values()) for cases in found.values() if len(cases) > 1)


def _read_wordings(page: Page) -> Iterator[_Wordings]:
    """Yield what the models of a page answered, without those that have no outcome of each image."""
    row = 0
    for cases in _same_but_for_the_prompt(ComparableCases(page.cases)):
        outcomes = [_read_outcomes(case, page.labels) for case in cases]
        known = [values for values in outcomes if values is not None]
        if len(known) == len(cases):
            values = np.stack(known, axis=1)
            answered = (~np.isnan(values)).sum(axis=1)
            counted = answered == len(cases)
            clusters = case_evidence(cases[0].record, cases[0].folder).cluster_ids()
            units = np.arange(len(values)) if clusters is None else clusters
            missing = int(((answered > 0) & ~counted).sum())
            if len({*units[counted].tolist()}) > 1:
                yield _Wordings(row, tuple(cases), values[counted], units[counted], missing)
        row += len(cases)


def _read_outcomes(case: CaseRun, labels: str) -> NDArray[np.float64] | None:
    """Return the outcome of each image by the main metric; None if it is no proportion."""
    main = [metric for metric in headlines(case.record.metrics) if metric.name == case.accuracy_name]
    keys = [(metric.name, metric.labels, metric.subset_text) for metric in main if metric.labels == labels]
    evidence = case_evidence(case.record, case.folder)
    metrics = [one for one in evidence.metrics if (one.name, one.labels, one.subset_text) in keys[:1]]
    return evidence.sample_outcomes(metrics[0]) if metrics else None


def _cells(page: Page) -> pd.DataFrame:
    """Return the cells of each model."""
    return pd.DataFrame([cell for found in _read_wordings(page) for cell in _row(found)])


def _row(found: _Wordings) -> Sequence[Mapping[str, Any]]:
    """Return the cells of a model."""
    n, accuracies = len(found.outcomes), found.outcomes.mean(axis=0)
    best = best_wording(found.outcomes, found.units)
    spread = sqrt(wording_components(found.outcomes, found.units).wording)
    cells: list[dict[str, Any]] = [
        {"count": len(found.cases)},
        {"value": float(accuracies.mean()), "n": n, **_ends(new_wording_interval(accuracies))},
        {"value": spread},
        {"text": found.names[best.index]},
        {"value": best.observed, "n": n},
        {"value": best.value, "n": n, **_ends(best.ci)},
    ]
    return [{"row": found.row, "column": column, **cell} for column, cell in zip(COLUMNS, cells, strict=True)]


def _ends(ci: Interval) -> dict[str, float]:
    return {} if isnan(ci.low) else {"low": ci.low, "high": ci.high}


def _notes(page: Page) -> Iterator[str]:
    """Yield the explanation, and of each model the parts of the variance and the images that are left out."""
    yield from NOTES
    for found in _read_wordings(page):
        parts = wording_components(found.outcomes, found.units)
        total = parts.wording + parts.unit + parts.rest
        named = zip(("wordings", "images", "the rest"), (parts.wording, parts.unit, parts.rest), strict=True)
        shares = ", ".join(f"{name} {100 * part / total:.1f} %" for name, part in named) if total else "none"
        case = f"{found.cases[0].model}, {found.cases[0].record.protocol}"
        yield f"{case}: parts of the variance of an answer: {shares}. Wordings: {', '.join(found.names)}."
        if found.missing:
            yield f"{case}: {count_of(found.missing, 'image')} left out that not every case answered."


WORDINGS = TableDefinition(
    name="wordings",
    summary="Variation of the accuracy over wordings of a prompt, a new wording, and the best one without selection.",
    pages=_pages,
    needs="compares cases of a model that differ in their prompt alone",
    command=(
        "pytest -k 'toybox/sample and closed_world' --eye-set=closed_world.prompt=closed_world,FILE, where FILE is a "
        "prompt of your own"
    ),
    title="{page}: wordings of a prompt under {labels} (%)",
    cells=_cells,
    rows=("Model", "Protocol"),
    columns=COLUMNS,
    formats={"SD, points": NumberFormat(100, 1)},
    notes=_notes,
)

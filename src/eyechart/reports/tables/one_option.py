"""Cases of a model that differ in one option alone, with the outcomes of the images that all of them answered."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any

import numpy as np

from eyechart.messages.plurals import count_of
from eyechart.reports.runs import CaseRun, ComparableCases, Runs
from eyechart.reports.tables.selection import Page, create_page
from eyechart.results.evidence import Floats, Ints
from eyechart.results.headlines import headlines
from eyechart.statistics.intervals import Interval


@dataclass(frozen=True)
class OneOption:
    """The cases of a model under t values of an option, and the outcomes (n, t) of n images by the main metric.

    `row` is the index of the first case on its page, `units` (n,) is the sampling unit of each image, `samples` (n,) is
    its index in the split, and `missing` is the number of images that are left out since not every case answered them.
    """

    row: int
    values: tuple[str, ...]
    cases: tuple[CaseRun, ...]
    outcomes: Floats
    units: Ints
    samples: Ints
    missing: int

    @property
    def name(self) -> str:
        """The model and the protocol."""
        return f"{self.cases[0].model}, {self.cases[0].record.protocol}"

    def cells(
        self, columns: Sequence[str], cells: Sequence[Mapping[str, Any]], **names: str
    ) -> Iterator[dict[str, Any]]:
        """Yield a cell of each column as a row of a frame; `names` are further columns that name the row."""
        return (
            {"row": self.row, **names, "column": column, **cell} for column, cell in zip(columns, cells, strict=True)
        )

    def missing_notes(self) -> Iterator[str]:
        """Yield at most one sentence: how many images are left out."""
        if self.missing:
            yield f"{self.name}: {count_of(self.missing, 'image')} left out that not every case answered."


def interval_ends(ci: Interval) -> dict[str, float]:
    """Return the ends of an interval as columns of a cell, none if there is no interval."""
    return {} if isnan(ci.low) else {"low": ci.low, "high": ci.high}


def pages_of_option(option: str, default: str = "") -> Callable[[Runs, str | None], list[Page]]:
    """Return the selection of a page for every group and label set with a model under several values of an option.

    Args:
        option: Its name.
        default: The value of a case that has none, which each model must have; "" if such a case is left out.
    """

    def select(runs: Runs, labels: str | None) -> list[Page]:
        pages = []
        for group in runs.groups:
            cases = [case for same in _same_but_for(group, option, default) for case in same.values()]
            for name in group.labels:
                page = create_page(group.select(cases), name, (option,)) if cases and labels in (None, name) else None
                if page is not None and any(read_option(page, option, default)):
                    pages.append(page)
        return pages

    return select


def read_option(page: Page, option: str, default: str = "") -> Iterator[OneOption]:
    """Yield what the models of a page answered, without those that have no outcome of each image."""
    row = 0
    for same in _same_but_for(ComparableCases(page.cases), option, default):
        cases = tuple(same.values())
        outcomes = [_read_outcomes(case, page.labels) for case in cases]
        known = [values for values in outcomes if values is not None]
        if len(known) == len(cases):
            values = np.stack(known, axis=1)
            answered = (~np.isnan(values)).sum(axis=1)
            counted = answered == len(cases)
            clusters = cases[0].evidence.cluster_ids()
            units = np.arange(len(values)) if clusters is None else clusters
            missing = int(((answered > 0) & ~counted).sum())
            if len({*units[counted].tolist()}) > 1:
                yield OneOption(
                    row, tuple(same), cases, values[counted], units[counted], np.flatnonzero(counted), missing
                )
        row += len(cases)


def _same_but_for(group: ComparableCases, option: str, default: str) -> Iterator[dict[str, CaseRun]]:
    """Yield the cases of a model and protocol that differ in the option alone, by its value.

    They are several, and one of them has the default if there is one.
    """
    found: dict[tuple[str, ...], dict[str, CaseRun]] = {}
    for case in group.cases:
        if value := case.option(option, default):
            settings = case.prompt_settings_without((option,))
            found.setdefault((case.model, case.record.protocol, settings), {})[value] = case
    return (cases for cases in found.values() if len(cases) > 1 and (not default or default in cases))


def _read_outcomes(case: CaseRun, labels: str) -> Floats | None:
    """Return the outcome of each image by the main metric; None if it is no proportion."""
    main = [metric for metric in headlines(case.record.metrics) if metric.name == case.accuracy_name]
    keys = [metric.printed_key for metric in main if metric.labels == labels]
    metrics = [one for one in case.evidence.metrics if one.printed_key in keys[:1]]
    return case.evidence.sample_outcomes(metrics[0]) if metrics else None

"""Cases of a model that differ in one option alone, with the outcomes of the images that all of them answered."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from eyechart.gate.baselines.stored_cases import case_evidence
from eyechart.reports.runs import CaseRun, ComparableCases, Runs
from eyechart.reports.tables.selection import Page, create_page
from eyechart.results.evidence import Floats, Ints
from eyechart.results.headlines import headlines


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


def pages_of_option(option: str, default: str = "") -> Callable[[Runs, str | None], list[Page]]:
    """Return the selection of a page for every group and label set with a model under several values of an option.

    Args:
        option: Its name.
        default: The value of a case that has none; "" if such a case is left out.
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
            clusters = case_evidence(cases[0].record, cases[0].folder).cluster_ids()
            units = np.arange(len(values)) if clusters is None else clusters
            missing = int(((answered > 0) & ~counted).sum())
            if len({*units[counted].tolist()}) > 1:
                yield OneOption(
                    row, tuple(same), cases, values[counted], units[counted], np.flatnonzero(counted), missing
                )
        row += len(cases)


def _same_but_for(group: ComparableCases, option: str, default: str) -> Iterator[dict[str, CaseRun]]:
    """Yield the cases of a model and protocol, by the value of the option, that differ in nothing else."""
    found: dict[tuple[str, ...], dict[str, CaseRun]] = {}
    for case in group.cases:
        if value := case.option(option, default):
            settings = case.prompt_settings_without((option,))
            found.setdefault((case.model, case.record.protocol, settings), {})[value] = case
    return (cases for cases in found.values() if len(cases) > 1)


def _read_outcomes(case: CaseRun, labels: str) -> Floats | None:
    """Return the outcome of each image by the main metric; None if it is no proportion."""
    main = [metric for metric in headlines(case.record.metrics) if metric.name == case.accuracy_name]
    keys = [(metric.name, metric.labels, metric.subset_text) for metric in main if metric.labels == labels]
    evidence = case_evidence(case.record, case.folder)
    metrics = [one for one in evidence.metrics if (one.name, one.labels, one.subset_text) in keys[:1]]
    return evidence.sample_outcomes(metrics[0]) if metrics else None

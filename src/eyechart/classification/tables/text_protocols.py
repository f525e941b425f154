"""Closed world, closed world with mapping and open world: Table 6 of arXiv 2603.06578."""

from collections import Counter
from collections.abc import Sequence

import pandas as pd

from eyechart.classification.tables.best_variant import (
    TEXT_PROTOCOLS,
    accuracy,
    non_default_flags,
    prompt_options,
    select_best,
)
from eyechart.classification.tables.class_pages import (
    DELTA,
    INTERVALS,
    PAPER,
    accuracy_cells,
    accuracy_changes,
    accuracy_columns,
    block_coverage_note,
    cover_blocks,
    label_samples,
    with_base,
    with_blocks,
)
from eyechart.reports.runs import CaseRun, Runs
from eyechart.reports.tables.definition import TableDefinition
from eyechart.reports.tables.selection import Page, create_page

ORDER = ("open_world", "closed_world_plus", "closed_world")
CLOSED = "closed_world"


def _protocol_pages(runs: Runs, labels: str | None) -> list[Page]:
    """Return a page for every group and label set with several text protocols; of several encoders, the best.

    A block has the protocols of a model with the same prompt options; its base is closed world.
    """
    pages = []
    for group, label_set in runs.iter_labels(labels):
        text_cases = group.with_protocols(*TEXT_PROTOCOLS).scored_under(group.reference, label_set)
        best = select_best(
            text_cases, lambda e: (e.model, e.record.protocol, prompt_options(e)), label_set, group.reference
        )
        if len({case.record.protocol for case in best}) < 2:
            continue
        cases = _sort_cases(_with_common_settings(best), group.reference)
        note = (
            f"Of several encoders the most accurate under {label_set} is shown, and of several prompt settings those "
            f"with more than one protocol; {len(text_cases) - len(cases)} more are left out: T11 to T14 and T18 "
            "compare them."
        )
        page = create_page(group.select(cases, *[note] * (len(cases) < len(text_cases))), label_set)
        blocks = [(case.model, prompt_options(case)) for case in cases]
        pages.append(with_blocks(page, blocks, [case.record.protocol == CLOSED for case in cases]))
    return pages


def _with_common_settings(cases: Sequence[CaseRun]) -> list[CaseRun]:
    """Return the prompt settings of a model that have several protocols; all cases of a model without such settings."""
    counts: dict[tuple[str, tuple[str, ...]], int] = Counter((case.model, prompt_options(case)) for case in cases)
    several = {model for (model, _), count in counts.items() if count > 1}
    return [case for case in cases if counts[case.model, prompt_options(case)] > 1 or case.model not in several]


def _sort_cases(cases: list[CaseRun], reference: str) -> list[CaseRun]:
    """Return models by best accuracy; of each, default prompt settings first; then OW, CW+, CW."""
    top: dict[str, float] = {}
    for case in cases:
        top[case.model] = max(top.get(case.model, -1.0), accuracy(case, reference))
    return sorted(
        cases,
        key=lambda e: (top[e.model], e.model, non_default_flags(e), prompt_options(e), ORDER.index(e.record.protocol)),
    )


def _protocol_cells(page: Page) -> pd.DataFrame:
    samples = cover_blocks(page, label_samples(page, ["key"]))
    changes = accuracy_changes(page, with_base(page, samples))
    return pd.concat([accuracy_cells(page, samples), changes], ignore_index=True)


def _category_note(page: Page) -> str:
    categories = "" if page.labels == page.reference else f" A to M-: label categories of {page.labels}."
    return f"{page.reference}: the labels of the data set.{categories}"


CLOSED_AND_OPEN = TableDefinition(
    name="closed-and-open-world",
    alias="T6",
    source=PAPER,
    summary="Accuracy in closed world, closed world with mapping and open world by label category, with the changes.",
    pages=_protocol_pages,
    needs="puts CW, CW+ and OW side by side",
    command='pytest -k "closed_world or open_world"',
    title="{page}: accuracy (%) in closed and open world{both}",
    cells=_protocol_cells,
    rows=("Model", "Protocol"),
    columns=lambda page: [head for name in accuracy_columns(page) for head in (name, name + DELTA)],
    notes=(
        _category_note,
        "Δ: change from the CW row of the same model, with the same prompt settings, over the same images.",
        block_coverage_note,
        "CW+ maps CW's answers out of the prompt to the nearest class; OW maps all of its answers.",
        INTERVALS,
    ),
)

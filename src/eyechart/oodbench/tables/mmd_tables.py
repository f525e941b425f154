"""Test whether the OOD pairs of two splits have the same distribution: Section B.1.4 of arXiv 2602.18094."""

from collections.abc import Sequence

import pandas as pd

from eyechart.oodbench.tables.pair_pages import (
    DATA_OPTIONS,
    DISTRIBUTION,
    OODBENCH,
    PAPER,
    data_notes,
    pool_data_sets,
    source_name,
)
from eyechart.reports.runs import CaseRun
from eyechart.reports.tables.definition import TableDefinition
from eyechart.reports.tables.render import FRACTION, NumberFormat
from eyechart.reports.tables.selection import Page, with_suffixes
from eyechart.results.frames import select_metrics

OOD = "OOD"
IGNORED = (*DATA_OPTIONS, "reference", "bandwidth")
METRICS = {"MMD² · 10⁴": "mmd2", "τ · 10⁴": "mmd2_tau", "UCI · 10⁴": "mmd2_null", "p": "mmd2_p"}
DISTANCE, TAU, UCI, P = METRICS
BELOW, INTERVAL_BELOW, BANDWIDTH = "UCI < τ", "Interval < τ", "Bandwidth"


def _distance_page(cases: Sequence[CaseRun]) -> Page:
    references = [case.option("reference").removeprefix(f"{case.record.benchmark}/") for case in cases]
    names = {"Encoder": [case.model for case in cases], "Data": [*map(source_name, cases)], "Reference": references}
    return Page(
        cases=tuple(cases), title=OODBENCH, names=pd.DataFrame(names), notes=data_notes(cases, IGNORED),
        context={"divided": cases[0].prompt_settings_without(IGNORED)},
    )  # fmt: skip


def _distance_cells(page: Page) -> pd.DataFrame:
    columns = {head: {"labels": OODBENCH, "subset": OOD, "metric": name} for head, name in METRICS.items()}
    numbers = select_metrics(page.metrics, columns)
    numbers["n"] = numbers["n"].where(numbers["column"] == DISTANCE)
    wide = numbers.set_index(["column", "row"]).reindex(pd.MultiIndex.from_product([METRICS, range(len(page.cases))]))
    limit = wide.loc[TAU, "value"]
    texts = {BANDWIDTH: pd.Series([case.option("bandwidth") or None for case in page.cases])}
    for head, values in {BELOW: wide.loc[UCI, "value"], INTERVAL_BELOW: wide.loc[DISTANCE, "high"]}.items():
        texts[head] = (values < limit).map({True: "yes", False: "no"}).where(values.notna() & limit.notna())
    parts = [
        values.rename("text").rename_axis("row").reset_index().assign(column=head) for head, values in texts.items()
    ]
    return pd.concat([numbers, *parts], ignore_index=True)


SMALL = NumberFormat(10_000, 3)
DISTANCES = TableDefinition(
    name="oodbench-mmd",
    source=PAPER,
    summary="The distance (MMD²) of the OOD pairs of a split from those of a reference split, and its limit.",
    pages=lambda runs, _: with_suffixes(
        [_distance_page(cases) for cases in pool_data_sets(runs, DISTRIBUTION, IGNORED)]
    ),
    needs="compares the OOD pairs of two splits, such as COCO's validation and training images",
    command=(
        'pytest -k "oodbench and distribution" --eye-set=distribution.reference=oodbench/coco-train --eye-data=ROOT'
    ),
    title="{page}: distance of OOD pairs from those of a reference",
    cells=_distance_cells,
    rows=("Encoder", "Data", "Reference"),
    columns=(*METRICS, BELOW, INTERVAL_BELOW, BANDWIDTH),
    notes=(
        "MMD² of image features with categories, unbiased; n: pairs of both. Brackets: 95 % intervals, bootstrap.",
        "τ: 95th percentile of half-splits of the reference. UCI: that of permutations; p: of these, one-sided.",
        "UCI < τ: the paper's criterion, without the observed MMD². Interval < τ: its upper end is below τ.",
    ),
    formats={DISTANCE: SMALL, TAU: SMALL, UCI: SMALL, P: FRACTION},
)
TABLES = (DISTANCES,)

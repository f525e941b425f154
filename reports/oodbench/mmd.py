"""Test whether the OOD pairs of two splits have the same distribution: Section B.1.4 of arXiv 2602.18094."""

from collections.abc import Sequence
from dataclasses import replace

from ..render import FRACTION, Cell, NumberCell, NumberFormat, Row, Table
from ..runs import CaseRun, Runs
from .cases import metric_number, nothing_to_show, with_unique_titles
from .pages import DATA_OPTIONS, DISTRIBUTION, data_notes, pool_data_sets, source_name

OOD, OWN = "OOD", ("reference", "bandwidth")
SMALL = NumberFormat(10_000, 3)
COLUMNS = (
    "Encoder",
    "Data",
    "Reference",
    "MMD² · 10⁴",
    "τ · 10⁴",
    "UCI · 10⁴",
    "p",
    "UCI < τ",
    "Interval < τ",
    "Bandwidth",
)
MEANING = (
    "MMD² of image features with categories, unbiased; n: pairs of both. Brackets: 95 % intervals, bootstrap.",
    "τ: 95th percentile of half-splits of the reference. UCI: that of permutations; p: of these, one-sided.",
    "UCI < τ: the paper's criterion, which the observed MMD² is no part of. Interval < τ: its upper end is below τ.",
)


def mmd(pool: Runs, _: str | None) -> list[Table]:
    """Return tables of the distances (MMD²) between the OOD pairs of a split and those of its reference split."""
    groups = pool_data_sets(pool, DISTRIBUTION, (*DATA_OPTIONS, *OWN))
    if not groups:
        what = "compares the OOD pairs of two splits, such as COCO's validation and training images"
        command = (
            'pytest -k "oodbench and distribution" --eye-set=distribution.reference=oodbench/coco-train --eye-data=ROOT'
        )
        raise nothing_to_show(pool, "oodbench-mmd", what, command)
    return with_unique_titles([mmd_table(entries) for entries in groups], groups)


def mmd_table(entries: Sequence[CaseRun]) -> Table:
    """Return the table of the splits with the same settings, with one row per encoder and split."""
    return Table(
        "OODBench: distance of OOD pairs from those of a reference",
        COLUMNS,
        tuple(map(mmd_row, entries)),
        (*MEANING, *data_notes(entries, (*DATA_OPTIONS, *OWN))),
        {"divided": entries[0].prompt_settings_without((*DATA_OPTIONS, *OWN))},
    )


def mmd_row(entry: CaseRun) -> Row:
    """Return the row of one encoder and split."""
    observed, tau, null = (distance(entry, name) for name in ("mmd2", "mmd2_tau", "mmd2_null"))
    high = None if observed.ci is None else observed.ci[1]
    p = replace(metric_number(entry, "mmd2_p", OOD), n=None, style=FRACTION)
    decisions = (below_cell(null.value, tau.value), below_cell(high, tau.value))
    where = entry.option("reference").removeprefix(f"{entry.record.benchmark}/")
    return entry.model, source_name(entry), where, observed, tau, null, p, *decisions, entry.option("bandwidth") or None


def distance(entry: CaseRun, name: str) -> NumberCell:
    """Return a distance of a case; only the observed distance is shown with the number of pairs."""
    number = replace(metric_number(entry, name, OOD), style=SMALL)
    return number if name == "mmd2" else replace(number, n=None)


def below_cell(value: float | None, limit: float | None) -> Cell:
    """Return whether a value is below a limit, as "yes" or "no"."""
    return None if value is None or limit is None else "yes" if value < limit else "no"

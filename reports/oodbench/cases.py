"""Groups of OODBench cases that are comparable in one table, and the titles and notes of tables."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from ..pages import disambiguate_titles
from ..render import NumberCell, Table
from ..runs import CaseRun, EmptyTableError, Runs
from .pages import OODBENCH


def metric_number(entry: CaseRun, name: str, subset: str) -> NumberCell:
    """Return a metric of a case for one set."""
    metric = entry.metric(name, OODBENCH, subset)
    return NumberCell(None) if metric is None else NumberCell(metric.value, metric.n, metric.ci)


def with_unique_titles(
    tables: Sequence[Table], cases: Sequence[Sequence[CaseRun]], marked: Collection[str] = ()
) -> list[Table]:
    """Return tables of one kind with different titles."""
    titles = disambiguate_titles([table.title for table in tables], cases, marked)
    return [replace(table, title=title) for table, title in zip(tables, titles, strict=True)]


def protocol_names(pool: Runs) -> str:
    """Return the names of all protocols of the runs, such as `detection, existence`."""
    return ", ".join(sorted({entry.record.protocol for entry in pool.cases}))


def nothing_to_show(pool: Runs, name: str, what: str, command: str) -> EmptyTableError:
    """Return the error of a table without cases: its content, the protocols of the runs, and the command to run."""
    return EmptyTableError(f"{name} {what}; these runs have {protocol_names(pool)}. Make it with: {command}")

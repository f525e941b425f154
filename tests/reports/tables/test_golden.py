"""Every table of the runs made here is equal to its golden file; see tools/golden.py."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from eyechart.errors import ReportError
from eyechart.reports.runs import Runs
from eyechart.reports.tables.registry import table_builders
from eyechart.reports.tables.render import to_csv

pytestmark = pytest.mark.deep

POOLS = ("worded", "repeated", "classified", "paired", "hard", "birds", "free_form")


@pytest.mark.parametrize("name", POOLS)
def test_tables_are_those_of_the_golden_files(
    name: str, request: pytest.FixtureRequest, golden: Any, tables_of: Callable[..., Any]
) -> None:
    pool = request.getfixturevalue(name)
    made = {table.alias or table.name: make_csv(tables_of, table.name, pool) for table in table_builders().values()}
    golden.check(f"tests/{name}.json.gz", {table: {"csv": lines} for table, lines in made.items() if lines})


def make_csv(tables_of: Callable[..., Any], name: str, pool: Runs) -> list[str]:
    with suppress(ReportError):
        return to_csv(tables_of(name, pool)).split("\n")
    return []

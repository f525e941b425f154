"""Every table of the runs made here is equal to its golden file; see tools/golden.py."""

from typing import Any

import pytest

from eyechart.reports.tables.render import to_csv

pytestmark = pytest.mark.deep


def test_tables_are_those_of_the_golden_files(pool: Any, golden: Any) -> None:
    name, _, made = pool
    golden.check(f"tests/{name}.json.gz", {table: {"csv": to_csv(each).split("\n")} for table, each in made.items()})

"""Records, samples and tables of OODBench's runs are equal to the golden files; see tools/golden.py."""

from pathlib import Path
from typing import Any

import pytest

from eyechart.errors import ReportError
from eyechart.oodbench.catalogue import TABLES
from eyechart.reports.tables.render import to_csv

pytestmark = pytest.mark.deep

RUNS = ("all", "others", "thresholds", "detectors")


@pytest.fixture(scope="module")
def runs(bench: Any, golden: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Records and samples by run."""
    found = {name: golden.read_records(Path(bench.runs[name])) for name in RUNS}
    return {name: records for name, (records, _) in found.items()}, {name: kept for name, (_, kept) in found.items()}


def test_records_are_those_of_the_golden_files(runs: Any, golden: Any) -> None:
    golden.check("tests/oodbench_records.json.gz", runs[0])


def test_samples_are_those_of_the_golden_files(runs: Any, golden: Any) -> None:
    golden.check("tests/oodbench_samples.json.gz", runs[1])


def test_tables_are_those_of_the_golden_files(made: Any, golden: Any) -> None:
    names = [table.alias or table.name for table in TABLES]
    golden.check("tests/oodbench_tables.json.gz", {name: csv_lines(made, name) for name in names})


def csv_lines(made: Any, name: str) -> dict[str, list[str]] | None:
    """The lines of a table in csv, None where the reports refuse to make it."""
    try:
        return {"csv": to_csv(made(name.removeprefix("oodbench-"))).split("\n")}
    except ReportError:
        return None

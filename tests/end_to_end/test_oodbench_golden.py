"""Records, samples and tables of OODBench's runs are equal to the golden files; see tools/golden.py."""

from pathlib import Path
from typing import Any

import pytest

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


def test_tables_are_those_of_the_golden_files(bench: Any, golden: Any) -> None:
    made = golden.make_tables(*(bench.runs[name] for name in RUNS), of="oodbench")
    golden.check("tests/oodbench_tables.json.gz", made)

"""Pairs of OODBench and birds of RealBirdID: a packaged model is asked, and what it said is in records and tables."""

import csv
import json
import subprocess
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from eyechart.cli import main

CASES = "(oodbench/sample-coco/ and existence) or (realbirdid/sample-drawn/ and species)"
LIMIT = 8


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, warm_python: Sequence[str]) -> Path:
    """A run about a few images of both studies."""
    folder = tmp_path_factory.mktemp("studies")
    command = ["pytest", "--pyargs", "eyechart.benchmarks", "-k", CASES, f"--eye-limit={LIMIT}", "--eye-offline",
               "--eye-model=hf[toybox-mllm]", "-p", "no:cacheprovider"]  # fmt: skip
    done = subprocess.run([*warm_python, "-m", *command], cwd=folder, capture_output=True, encoding="utf-8",
                          timeout=600, check=False)  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "reports/runs/latest"


@pytest.fixture(scope="module")
def records(run: Path) -> dict[str, dict[str, Any]]:
    """The records by protocol."""
    return {record["protocol"]: record for record in json.loads((run / "records.json").read_bytes())["records"]}


def test_each_study_has_its_answers_and_its_first_number(run: Path, records: dict[str, dict[str, Any]]) -> None:
    assert sorted(records) == ["existence", "species"]
    for record, metric in ((records["existence"], "acc"), (records["species"], "acc")):
        with (run / record["predictions"]["path"]).open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        outcomes = record["outcomes"]
        assert (record["data"]["n"], outcomes["error"]) == (LIMIT, 0)
        assert 0 < outcomes["correct"] <= len(rows)
        assert metric in {number["name"] for number in record["metrics"] if number["value"] is not None}


@pytest.mark.parametrize("name", ["oodbench-T1", "realbirdid-T3"])
def test_each_study_has_its_table(run: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    assert main(["table", name, str(run), "--format", "csv"]) == 0
    assert "hf[toybox-mllm]" in {row["Model"] for row in csv.DictReader(StringIO(capsys.readouterr().out))}

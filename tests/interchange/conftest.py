"""Imports files in process."""

from collections.abc import Callable
from pathlib import Path

import pytest

from eyechart.cli import main
from eyechart.results.records import Record, read_run

Import = Callable[..., Path]


@pytest.fixture
def import_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Import:
    """Import files of a format, and return the folder of the run."""

    def import_files(format_name: str, *arguments: object) -> Path:
        status = main(["import", format_name, *arguments, "--out", tmp_path / "runs"])
        captured = capsys.readouterr()
        assert status == 0, captured.err
        return Path(captured.out.splitlines()[-1])

    return import_files


@pytest.fixture
def import_record(import_files: Import) -> Callable[..., Record]:
    """Import files of one case, and return its record."""

    def import_record(format_name: str, *arguments: object) -> Record:
        (record,) = read_run(import_files(format_name, *arguments)).records
        return record

    return import_record

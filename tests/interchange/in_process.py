"""Imports and exports of files, in process."""

from collections.abc import Callable
from pathlib import Path

import pytest

from eyechart.cli import main
from eyechart.results.records import Record, read_run

FILES = Path(__file__).parent / "files" / "inspect"
Import = Callable[..., Path]
Export = Callable[..., list[Path]]


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


@pytest.fixture
def export(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Export:
    """Export a run, and return the paths that were printed."""

    def export(format_name: str, *arguments: object) -> list[Path]:
        assert main(["export", format_name, *arguments, "--out", tmp_path / "out"]) == 0
        return [Path(line) for line in capsys.readouterr().out.splitlines() if line.startswith(str(tmp_path / "out"))]

    return export


@pytest.fixture
def shape_runs(import_files: Import) -> tuple[Path, Path]:
    """The runs of two logs of inspect_ai, before and after, under one name of the model."""
    runs = [import_files("inspect", FILES / f"{name}.eval", "--model=shapes") for name in ("before", "after")]
    return runs[0], runs[1]

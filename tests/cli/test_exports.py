"""`eyechart export`: the files that it writes, and what it refuses."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import eyechart
from eyechart.cli import main


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--dataset=shapes", "--dataset is 'shapes'. Expected BENCHMARK=ORG/NAME"),
        ("--dataset=other=me/other", "the runs have no benchmark 'other'. They have: imagenet."),
    ],
)
def test_a_wrong_dataset_is_named(
    run_folder: Path, capsys: pytest.CaptureFixture[str], option: str, message: str
) -> None:
    assert main(["export", "hub", run_folder, option]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(("format_name", "read"), [("csv", pd.read_csv), ("parquet", pd.read_parquet)])
def test_the_files_have_the_rows_of_the_frames(
    run_folder: Path, capsys: pytest.CaptureFixture[str], format_name: str, read: Any
) -> None:
    assert main(["export", format_name, str(run_folder)]) == 0
    paths = [Path(line) for line in capsys.readouterr().out.splitlines()]
    assert paths == [run_folder / f"reports/export/{name}.{format_name}" for name in ("metrics", "samples")]
    run = eyechart.load_run(run_folder)
    for path, frame in zip(paths, (run.metrics, run.samples), strict=True):
        found = read(path)
        assert [*found] == [*frame]
        assert len(found) == len(frame) > 0
        assert found["case"].tolist() == frame["case"].tolist()
    assert read(paths[0])["value"].tolist() == pytest.approx(run.metrics["value"].tolist())
    assert read(paths[1])["correct"].tolist() == pytest.approx(run.samples["correct"].tolist(), nan_ok=True)

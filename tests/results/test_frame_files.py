"""`export`: metrics and samples of runs as files that pandas reads back."""

import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import eyechart
from eyechart.cli import main
from eyechart.errors import ReportError


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


def test_a_column_with_texts_and_numbers_is_a_column_of_texts(tmp_path: Path) -> None:
    from eyechart.results.frames import _encode_frame

    (tmp_path / "a.parquet").write_bytes(_encode_frame(pd.DataFrame({"target": [1, "cat", None]}), "parquet"))
    assert pd.read_parquet(tmp_path / "a.parquet")["target"].tolist()[:2] == ["1", "cat"]


def test_without_pyarrow_the_message_has_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    from eyechart.results import frames

    monkeypatch.setattr(frames, "find_spec", lambda name: None)
    with pytest.raises(ReportError, match=re.escape("pip install 'eyechart[hub]', or write csv")):
        frames._encode_frame(pd.DataFrame({"n": [1]}), "parquet")
    assert frames._encode_frame(pd.DataFrame({"n": [1]}), "csv") == b"n\n1\n"

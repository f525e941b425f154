"""Tests of `eyechart.results.frames`."""

import csv
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from eyechart.errors import ReportError
from eyechart.reports.runs import Runs, load
from eyechart.results import frames
from eyechart.statistics.intervals import wilson
from eyechart.statistics.paired import change_interval


@pytest.fixture
def runs(run_folder: Path) -> Runs:
    return load([run_folder])


def test_metrics_are_those_of_the_records(runs: Runs, run_folder: Path) -> None:
    frame = frames.metrics_frame([*runs.cases])
    records = json.loads((run_folder / "records.json").read_text(encoding="utf-8"))["records"]
    assert len(frame) == sum(len(record["metrics"]) for record in records)
    assert [*frame.columns[: len(frames.CASE)]] == [*frames.CASE]
    assert {*frames.NUMBER} <= {*frame.columns}
    values = {
        (record["case"], metric["name"], metric["labels"], metric["subset"]): metric["value"]
        for record in records
        for metric in record["metrics"]
    }
    names = ["case", "metric", "labels", "subset", "value"]
    for *key, value in frame[names].itertuples(index=False):
        assert value == values[tuple(key)] or (np.isnan(value) and values[tuple(key)] is None)
    assert frame["option_names"].dropna().unique().tolist() == ["mill (e55fe991)"]


def test_samples_are_those_of_the_files(runs: Runs) -> None:
    cases = [*runs.cases]
    frame = frames.samples_frame(cases)
    for row, case in enumerate(cases):
        assert case.record.predictions
        with (case.folder / case.record.predictions.path).open(encoding="utf-8", newline="") as file:
            rows = [*csv.DictReader(file)]
        part = frame[frame["row"] == row]
        assert part["key"].tolist() == [line["key"] for line in rows]
        assert part["model"].unique().tolist() == [case.model]
        expected = [float(line["ReGT.correct"] or "nan") for line in rows]
        assert np.array_equal(part["ReGT.correct"], expected, equal_nan=True)
    some = frames.samples_frame(cases, ["key", "ImGT.category"])
    assert some["ImGT.category"].dtype == frames.LABEL_CATEGORY
    assert "ReGT.correct" not in some


def test_shares_and_changes_are_those_of_plain_loops() -> None:
    rng = np.random.default_rng(0)
    kinds = pd.CategoricalDtype(["a", "b", "none"])
    frame = pd.DataFrame(
        {"row": rng.integers(0, 3, 200), "kind": pd.Categorical(rng.choice(["a", "b"], 200)).astype(kinds)}
    )
    for name in ("before", "after"):
        frame[name] = rng.choice([0.0, 1.0, np.nan], 200, p=[0.4, 0.4, 0.2])
    shares = frames.share(frame, "after", ["row", "kind"]).set_index(["row", "kind"])
    changes = frames.change(frame, "before", "after", ["row", "kind"]).set_index(["row", "kind"])
    for row in range(3):
        assert shares.loc[(row, "none"), "n"] == changes.loc[(row, "none"), "n"] == 0
        assert np.isnan(shares.loc[(row, "none"), "value"])
        for kind in "ab":
            part = frame[(frame["row"] == row) & (frame["kind"] == kind)]
            known = part["after"].dropna()
            assert tuple(shares.loc[(row, kind), ["value", "n"]]) == (known.mean(), len(known))
            assert tuple(shares.loc[(row, kind), ["low", "high"]]) == tuple(wilson(int(known.sum()), len(known)))
            moved = (part["after"] - part["before"]).dropna()
            assert tuple(changes.loc[(row, kind), ["value", "n"]]) == (pytest.approx(moved.mean()), len(moved))
            interval = change_interval(part["before"].to_numpy(), part["after"].to_numpy())
            assert tuple(changes.loc[(row, kind), ["low", "high"]]) == pytest.approx(tuple(interval))


def test_a_column_with_texts_and_numbers_is_a_column_of_texts(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(frames._encode_frame(pd.DataFrame({"target": [1, "cat", None]}), "parquet"))
    assert pd.read_parquet(tmp_path / "a.parquet")["target"].tolist()[:2] == ["1", "cat"]


def test_without_pyarrow_the_message_has_the_remedy(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "find_spec", lambda name: None)
    with pytest.raises(ReportError, match=re.escape("pip install 'eyechart[hub]', or write csv")):
        list(frames.export_frames([*runs.cases], "parquet"))
    assert [name for name, _ in frames.export_frames([*runs.cases], "csv")] == ["metrics.csv", "samples.csv"]

"""Tests of `eyechart.reports.tables.selection`."""

from pathlib import Path

import pytest

from eyechart.reports.runs import Runs, load
from eyechart.reports.tables.selection import protocol_pages
from eyechart.results import frames


@pytest.fixture
def runs(run_folder: Path) -> Runs:
    return load([run_folder])


def test_numbers_are_selected_by_their_fields(runs: Runs) -> None:
    (selected, *_) = protocol_pages("zero_shot")(runs, "ReGT")
    chosen = frames.select_metrics(
        selected.metrics, {"top-1": {"metric": "acc1", "labels": "ReGT", "subset": "single_label"}}
    )
    assert chosen["column"].unique().tolist() == ["top-1"]
    metrics = [case.metric("acc1", "ReGT", "single_label") for case in selected.cases]
    assert chosen["value"].tolist() == [metric.value for metric in metrics if metric]

"""Tests of `eyechart.reports.tables.selection`."""

from typing import Any

from eyechart.reports.runs import Runs
from eyechart.reports.tables.selection import protocol_pages
from eyechart.results import frames


def test_numbers_are_selected_by_their_fields(runs: Runs) -> None:
    (selected, *_) = protocol_pages("zero_shot")(runs, "ReGT")
    chosen = frames.select_metrics(
        selected.metrics, {"top-1": {"metric": "acc1", "labels": "ReGT", "subset": "single_label"}}
    )
    assert chosen["column"].unique().tolist() == ["top-1"]
    metrics = [case.metric("acc1", "ReGT", "single_label") for case in selected.cases]
    assert chosen["value"].tolist() == [metric.value for metric in metrics if metric]


def test_answers_of_several_epochs_are_selected_only_on_request(session: Any) -> None:
    made = session()
    made.evaluations([made.right({}), made.right({0: "a beast"})])
    runs = made.pool()
    assert protocol_pages("closed_world")(runs, None) == []
    assert [len(page.cases) for page in protocol_pages("closed_world", epochs=True)(runs, None)] == [1]
    assert runs.describe().startswith("closed_world in 2 epochs under ")
    made.closed_world(made.right({}), model="other[]")
    (page,) = protocol_pages("closed_world")(made.pool(), None)
    assert [case.record.model.spec for case in page.cases] == ["other[]"]

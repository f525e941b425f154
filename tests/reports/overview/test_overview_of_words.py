"""The overview and aggregate.csv when answers in words stand in a run."""

import csv
from io import StringIO

import pytest

from eyechart.reports.overview.write_overview import aggregate, overview_tables


@pytest.fixture
def asked(session):
    """A little of everything."""
    made = session()
    made.closed_world(made.right({0: "a beast"}))
    made.closed_world(made.right(), images_per_request="5")
    made.closed_world_plus(made.right({0: "a beast"}), {"a beast": 356})
    made.mcq(made.right({0: 7}))
    made.multiple_choice("original+random", [made.right(), made.right({0: 7})])
    made.evaluations([made.right(), made.right({0: "it"})])
    return made


@pytest.fixture
def rows(asked):
    return list(csv.DictReader(StringIO(aggregate(asked.pool()))))


def test_mcq_goes_by_mills_names(rows):
    (row,) = [row for row in rows if row["task"] == "imagenet_mcq" and row["metric"] == "imagenet_mcq_acc"]
    assert list(row.values()) == [
        "hf[toybox-mllm]", "imagenet", "imagenet_mcq", "multiple_choice", "0", "imagenet_mcq_acc", "0.6471", "0.1195"
    ]  # fmt: skip


def test_every_row_has_a_key_of_its_own(rows):
    keys = [(row["model"], row["task"], row["task_type"], row["metric"]) for row in rows]
    assert len({*keys}) == len(keys)
    assert "imagenet@images_per_request=5" in {row["task"] for row in rows}


def test_every_defined_metric_is_there(rows, asked):
    metrics = [metric for record in asked.records for metric in record.metrics]
    assert len(rows) == sum(metric.value is not None for metric in metrics)


def test_the_overview_has_the_tables_that_the_run_can_fill(asked):
    titles = "\n".join(table.title for table in overview_tables(asked.pool()))
    for part in ("closed and open world", "on label categories, ReGT", "kinds of answers", "by distractors",
                 "images per request", "positions in a request", "repeated evaluations", "every metric"):  # fmt: skip
        assert part in titles
    for part in ("text embedding spaces", "the order of images", "by class id"):
        assert part not in titles

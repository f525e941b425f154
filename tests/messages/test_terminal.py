"""Tests of `eyechart.messages.terminal`."""

from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from eyechart.messages.terminal import align_texts
from eyechart.plugins.summary import MAX_LINES, select_rows
from eyechart.results.records import Metric, OutcomeCounts


def metric(name: str = "acc1", value: float = 0.5, **fields: object) -> Metric:
    row = Metric(name=name, labels="ImGT", title="ImGT", subset="all", value=value, n=10, n_clusters=10, ci=(0.2, 0.8),
                 ci_method="wilson", higher_is_better=True)  # fmt: skip
    return replace(row, **fields)


def record(split: str, *metrics: Metric, model: str = "conse[]", **fields: object) -> Any:
    """What the summary reads of a record."""
    outcomes = OutcomeCounts(correct=5, wrong=5, unparsed=0, error=0)
    plain = {"case": f"imagenet/{split}/{model}", "benchmark": "imagenet", "split": split, "protocol": "zero_shot"}
    return SimpleNamespace(**{**plain, "metrics": metrics, "outcomes": outcomes, "status": "passed", **fields})


@pytest.mark.parametrize("count", [MAX_LINES + 1, 3 * MAX_LINES])
def test_no_more_lines_than_fit_and_a_mark_for_the_others(count: int) -> None:
    rows = select_rows([record("val", metric(), model=f"model{number}[]") for number in range(count)]).rows
    assert len(rows) == MAX_LINES + 1
    assert rows[-1][0] == "…"
    assert len({line.index("acc1") for line in align_texts(rows[:-1]) if "acc1" in line}) == 1

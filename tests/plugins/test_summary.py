"""The summary shows the most detailed table that fits: every metric, primary metrics, or the range over splits."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from msgspec.structs import replace

from eyechart.plugins.summary import MAX_LINES, Row, select_rows
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


def cells(rows: Sequence[Row], column: str) -> list[str]:
    return [row[rows[0].index(column)] for row in rows[1:]]


def test_a_few_cases_have_a_row_for_each_metric_and_label_set() -> None:
    labelled = metric(labels="ReaL", title="ReaL", subset="labelled")
    whole = metric(labels="ReaL", title="ReaL", value=0.75)
    table = select_rows([record("val", metric(), metric("acc5", 1.0), whole, labelled, metric("ece", title=""))])
    rows = table.rows
    assert table.left == 0
    assert cells(rows, "metric") == ["acc1", "acc5", "acc1", "acc1"]
    assert cells(rows, "labels or subset") == ["ImGT", "ImGT", "ReaL", "ReaL incl. no_label"]
    assert rows[1][4] == "50.00 [20.00, 80.00]"
    assert "unparsed" not in rows[0]


def test_metrics_of_other_benchmarks_are_named_by_subset_level_and_several_label_sets() -> None:
    genus = metric("acc", title="unanswerable, genus", labels="all species", subset="unanswerable", level="genus")
    gain = metric("ig", title="IG, range", labels="range")
    rows = select_rows([record("birds", genus, gain, outcomes=OutcomeCounts(wrong=7, unparsed=3))]).rows
    assert cells(rows, "labels or subset") == ["unanswerable, genus, all species", "all, range"]
    assert cells(rows, "unparsed") == ["3", "3"]


def test_more_cases_have_their_primary_metric_and_many_the_range_over_splits() -> None:
    several = [record(f"split{number}", metric(), metric("acc5")) for number in range(MAX_LINES - 1)]
    table = select_rows(several)
    assert cells(table.rows, "metric") == ["acc1"] * (MAX_LINES - 1)
    assert {metric.name for metric in table.intervals} == {"acc1"}
    assert table.left == MAX_LINES - 1
    many = [
        record(f"split{number:02}", metric(value=number / 100), metric("acc5"), model=model, status=status)
        for model, status in (("a[]", "passed"), ("b[]", "failed"))
        for number in range(MAX_LINES)
    ]
    table = select_rows(many)
    rows = table.rows
    assert cells(rows, "model") == ["a[]", "b[]"]
    assert cells(rows, "lowest split, % [95 % interval]") == ["0.00 [20.00, 80.00] n=10 split00"] * 2
    assert cells(rows, "highest split") == [f"{MAX_LINES - 1}.00 [20.00, 80.00] n=10 split{MAX_LINES - 1}"] * 2
    assert cells(rows, "") == ["", "test failed"]
    assert table.left == 2 * MAX_LINES
    assert {metric.name for metric in table.intervals} == {"acc1"}
    assert len(select_rows(many, verbose=True).rows) == 4 * MAX_LINES + 1


def test_a_value_that_is_no_proportion_is_not_in_percent_and_dependent_samples_are_counted() -> None:
    rows = select_rows([record("val", metric("mmd2", 0.0123, ci=None), metric("acc", n_clusters=4))]).rows
    assert cells(rows, "value in % [95 % interval]") == ["0.0123 [no interval] (not in %)", "50.00 [20.00, 80.00]"]
    assert cells(rows, "n") == ["10", "10 (4 independent)"]


def test_a_record_without_titles_has_no_row() -> None:
    assert select_rows([record("val", metric(title=""))]).rows == []

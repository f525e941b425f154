"""Floors: what may be written, what a floor is about, and what is on the wrong side."""

from typing import Any

import pytest
from msgspec.structs import replace

from eyechart.errors import SpecError
from eyechart.gate.policy.floors import describe_missed_floor, find_missed_floors, parse_floor, suggest_names
from eyechart.results.records import Metric, Record


@pytest.fixture
def records(run_folder: Any) -> list[Record]:
    """The records of three models on imagenet/val."""
    from eyechart.results.records import read_run

    return list(read_run(run_folder).records)


def value(record: Record, name: str, labels: str, category: str = "all") -> float:
    (found,) = [each.value for each in record.metrics if each.printed_key == (name, labels, category)]
    assert found is not None
    return found


@pytest.mark.parametrize("text", [
    "imagenet/zero_shot:acc1>=0.62", "imagenet/val/zero_shot:acc1[ReGT]>=0.7", "imagenet/zero_shot:ece<=0.05",
    "oodbench/l-a.1/existence:acc >= .5", "a/b:c[ReGT,multi_label]>=1",
])  # fmt: skip
def test_what_is_a_floor(text: str) -> None:
    assert parse_floor(text).text == text


@pytest.mark.parametrize("text", [
    "", "acc1>=0.5", "imagenet:acc1>=0.5", "imagenet/zero_shot:acc1>0.5", "imagenet/zero_shot:acc1>=", "a/b:c>=.",
    "a/b:c>=1.2.3", "a/b:c==1", "a/b/c/d:e>=1", "a/b:c>=--1", "a/b:c>=nan", "a/b:c[>=1", "a/b:c>=62%",
])  # fmt: skip
def test_what_is_no_floor(text: str) -> None:
    with pytest.raises(SpecError, match=r"is no floor\. Write BENCHMARK/PROTOCOL:METRIC>=VALUE"):
        parse_floor(text)


def test_a_floor_is_missed_below_it_alone(records: list[Record]) -> None:
    record = next(each for each in records if each.protocol == "supervised")
    now = value(record, "acc1", "ImGT")
    kept, missed = (parse_floor(f"imagenet/supervised:acc1[ImGT]>={bound:.6f}") for bound in (now - 1e-3, now + 1e-3))
    assert list(find_missed_floors([kept], records)) == []
    ((broken, where, metric),) = find_missed_floors([missed], records)
    assert (broken, where) == (missed, record)
    assert metric is not None
    assert describe_missed_floor(broken, record, metric) == (
        f"{record.case} (supervised): acc1 (ImGT) is {now:.4f} (n={metric.n}), and --eye-floor={missed.text}."
    )


def test_the_value_itself_is_enough(records: list[Record]) -> None:
    record = next(each for each in records if each.protocol == "supervised")
    now = value(record, "acc1", "ImGT")
    both = [parse_floor(f"imagenet/supervised:acc1[ImGT]{sign}{now!r}") for sign in (">=", "<=")]
    assert list(find_missed_floors(both, records)) == []


def test_a_floor_without_labels_is_about_every_ground_truth_and_model(records: list[Record]) -> None:
    found = [
        (record, metric)
        for _, record, metric in find_missed_floors([parse_floor("imagenet/val/zero_shot:acc1>=1.1")], records)
    ]
    assert len({record.case for record, _ in found if record}) == 2
    assert {(metric.labels, metric.subset_text) for _, metric in found if metric} == {
        ("ImGT", "all"), ("ReGT", "labelled"), ("WeaselGT", "all")}  # fmt: skip


def test_a_floor_may_be_about_a_category_or_a_number_that_has_no_whole(records: list[Record]) -> None:
    (metric,) = {
        metric.subset_text
        for _, _, metric in find_missed_floors([parse_floor("imagenet/zero_shot:acc1[ReGT,single_label]>=2")], records)
        if metric
    }
    assert metric == "single_label"
    assert [
        each
        for _, each, _ in find_missed_floors([parse_floor("imagenet/zero_shot:mean_per_class_recall>=2")], records)
        if each
    ]


def test_a_misspelled_floor_is_told_the_names_there_are(records: list[Record]) -> None:
    assert suggest_names(parse_floor("imagenet/val/supervized:acc1[ImGT]>=0.1"), records).startswith(
        "; did you mean imagenet/val/supervised:acc1[ImGT] or "
    )
    assert suggest_names(parse_floor("imagenet/supervised:acc1[ReTG]>=0.1"), records).startswith(
        "; did you mean imagenet/supervised:acc1[ReGT] or "
    )
    assert suggest_names(parse_floor("birds/species:ig>=0.1"), records) == "."


def test_a_floor_in_percent_is_told_that_values_are_fractions(records: list[Record]) -> None:
    missed = parse_floor("imagenet/supervised:acc1[ImGT]>=62")
    ((_, record, metric),) = find_missed_floors([missed], records)
    assert record is not None
    assert metric is not None
    assert describe_missed_floor(missed, record, metric).endswith(
        "Values are fractions: 62 % is 0.62, and 62 is more than all."
    )


def test_a_floor_about_nothing_is_told(records: list[Record]) -> None:
    for text in ("toybox/zero_shot:acc1>=0", "imagenet/mcq:acc1>=0", "imagenet/zero_shot:acc9>=0",
                 "imagenet/train/zero_shot:acc1>=0", "imagenet/zero_shot:acc1[NoGT]>=0"):  # fmt: skip
        assert list(find_missed_floors([parse_floor(text)], records)) == [(parse_floor(text), None, None)]


def test_a_record_without_a_number_that_it_should_have_misses_the_floor(records: list[Record]) -> None:
    record = next(each for each in records if each.protocol == "supervised")
    bare = replace(record, metrics=tuple(each for each in record.metrics if each.name == "answered"))
    missed = parse_floor("imagenet/supervised:acc1[ImGT,all]>=0")
    assert list(find_missed_floors([missed], [bare])) == [(missed, bare, None)]
    assert list(find_missed_floors([missed], [record])) == []
    assert describe_missed_floor(missed, bare, None) == (
        f"{record.case} (supervised): acc1 (ImGT) has no value (n=0): no sample of it was scored, and "
        f"--eye-floor={missed.text}."
    )


def test_a_number_without_a_value_is_below_every_floor(records: list[Record]) -> None:
    empty = Metric("acc1", "ImGT", "all", value=None, n=0, n_clusters=0, ci=None, ci_method="wilson")
    for sign in (">=", "<="):
        broken = parse_floor(f"imagenet/zero_shot:acc1{sign}0.5")
        assert broken.is_missed(empty)
        assert "acc1 (ImGT) has no value (n=0)" in describe_missed_floor(broken, records[0], empty)

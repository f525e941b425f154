"""The number a case is known by leaves out what no answer can change; numbers over nothing are not written down."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eyechart.classification.answers.class_predictions import ClassPredictions, Targets
from eyechart.classification.metrics.class_estimates import top5
from eyechart.data.dataset.dataset import Row, build_label_set
from eyechart.data.labels.equivalences import LabelPolicy
from eyechart.gate.comparison.compare_metrics import compare_metrics, missing_metrics
from eyechart.gate.policy.floors import describe_missed_floor, find_missed_floors, parse_floor
from eyechart.gate.verdicts.power import power_without_baseline
from eyechart.plugins.summary import select_rows
from eyechart.reports.comparison.leaderboard import leaderboards
from eyechart.reports.overview.write_overview import aggregate, overview_tables
from eyechart.reports.runs import load
from eyechart.reports.tables.registry import tables
from eyechart.results.evidence import Evidence, read_evidence
from eyechart.results.headlines import headlines
from eyechart.results.records import LABELLED, Metric, Record, read_run
from eyechart.statistics.intervals import wilson

Make = Callable[..., Path]
TIMM = "timm[tf_efficientnet_lite0]"
EMPTY = (11, 17)  # the images that ReGT has no label for
M_PLUS = (5, 13)  # the images of the category M+ under ReGT


def classifier(folder: Path) -> Record:
    """The record of the classifier, which repeats the original labels."""
    return next(record for record in read_run(folder).records if record.protocol == "supervised")


def number(record: Record, name: str, labels: str, category: str) -> Metric | None:
    wanted = (name, labels, category)
    return next((each for each in record.metrics if (each.name, each.labels, each.subset) == wanted), None)


def evidence(folder: Path) -> Evidence:
    record = classifier(folder)
    assert record.evidence is not None
    return read_evidence(folder / record.evidence.path)


@pytest.mark.parametrize("name", ["acc1", "acc5"])
def test_accuracy_comes_with_and_without_images_that_have_no_label(run_folder: Path, name: str) -> None:
    record = classifier(run_folder)
    whole, labelled = (number(record, name, "ReGT", category) for category in ("all", LABELLED))
    assert whole is not None
    assert labelled is not None
    assert whole.value is not None
    assert labelled.value is not None
    assert (whole.n, labelled.n) == (18, 16)
    assert whole.value * 18 == pytest.approx(labelled.value * 16 + len(EMPTY))
    assert labelled.ci == pytest.approx(tuple(wilson(round(labelled.value * 16), 16)))


def test_without_images_that_count_without_a_label_there_is_one_accuracy(run_folder: Path) -> None:
    record = classifier(run_folder)
    assert number(record, "acc1", "ImGT", LABELLED) is None  # empty ones are excluded
    assert number(record, "acc1", "WeaselGT", LABELLED) is None  # it has no empty ones


def test_the_headlines_are_over_the_images_with_a_label(run_folder: Path) -> None:
    record = classifier(run_folder)
    known = {(each.labels, each.subset) for each in headlines(record.metrics) if each.name == "acc1"}
    assert known == {("ImGT", "all"), ("ReGT", LABELLED), ("WeaselGT", "all")}


def test_the_terminal_has_the_accuracy_over_images_with_a_label_and_names_the_other(run_folder: Path) -> None:
    every = select_rows([classifier(run_folder)], verbose=True).rows[1:]
    rows, top5 = ({row[3]: row for row in every if row[2] == name} for name in ("acc1", "acc5"))
    assert list(rows) == ["ImGT", "ReGT", "WeaselGT", "ReGT incl. no_label"]
    assert (rows["ReGT"][5], rows["ReGT incl. no_label"][5]) == ("16", "18")
    labelled = number(classifier(run_folder), "acc1", "ReGT", LABELLED)
    assert labelled is not None
    assert rows["ReGT"][4].startswith(f"{100 * (labelled.value or 0):.2f} [")
    assert top5["ReGT"][4] != top5["ReGT incl. no_label"][4] != "-"


def test_the_leaderboard_ranks_by_the_accuracy_over_images_with_a_label(run_folder: Path) -> None:
    made = {table.title.partition(": ")[2]: table for table in leaderboards(load([run_folder]), None, "ReGT", 0.01)}
    assert set(made) == {f"acc1 under ReGT, {LABELLED}"}
    assert all("incl. no_label" in " ".join(table.notes) for table in made.values())
    made = {table.title.partition(": ")[2]: table for table in leaderboards(load([run_folder]), None, "ImGT", 0.01)}
    assert set(made) == {"acc1 under ImGT"}


def test_the_overview_names_the_accuracy_that_counts_images_without_a_label(run_folder: Path) -> None:
    (table,) = (table for table in overview_tables(load([run_folder])) if table.title.endswith("every metric"))
    found = {(row[2], row[3], row[4]) for row in table.rows}
    assert {("acc1", "ReGT", LABELLED), ("acc1", "ReGT", "all, incl. no_label"), ("acc1", "ImGT", "all")} <= found


def test_mills_rollup_is_over_the_images_with_a_label(make_run: Make) -> None:
    rows = [line.split(",") for line in aggregate(load([make_run(labels=("ReGT",))])).splitlines()]
    tasks = [row[2] for row in rows if row[0] == TIMM and row[5] == "acc"]
    assert tasks[:2] == ["imagenet/ReGT/all", "imagenet"]


def test_the_published_table_keeps_its_convention(make_run: Make) -> None:
    (table,) = tables("T4", load([make_run(labels=("ImGT", "ReGT"))]))
    (row,) = [row for row in table.rows if row[0] == TIMM]
    cells = dict(zip(table.columns, row, strict=True))
    assert (cells["A"].n, cells["N"].value, cells["N"].n) == (17, 1.0, 1)  # the images that ImGT scores, too


def test_a_floor_without_a_category_is_about_the_headline(run_folder: Path) -> None:
    found = [
        metric
        for _, record, metric in find_missed_floors(
            [parse_floor("imagenet/supervised:acc1>=1.1")], [classifier(run_folder)]
        )
    ]
    assert {(metric.labels, metric.subset) for metric in found if metric} == {
        ("ImGT", "all"), ("ReGT", LABELLED), ("WeaselGT", "all")
    }  # fmt: skip
    whole = find_missed_floors([parse_floor("imagenet/supervised:acc1[ReGT,all]>=1.1")], [classifier(run_folder)])
    assert [metric.subset for _, _, metric in whole if metric] == ["all"]


@pytest.mark.deep
def test_the_gate_tests_the_headline_and_not_the_same_samples_twice(make_run: Make) -> None:
    one, other = (evidence(make_run(name)) for name in ("one", "other"))
    keys = [each.metric.key[:3] for each in compare_metrics(one, other)]
    assert ("acc1", "ReGT", LABELLED) in keys
    assert ("acc1", "ReGT", "all") not in keys
    assert ("acc1", "ImGT", "all") in keys
    lines = [*power_without_baseline([one], 0.01)]
    assert any(f"acc1 (ReGT, {LABELLED})" in line for line in lines)
    assert not any("acc1 (ReGT)" in line for line in lines)


def test_a_baseline_that_has_only_the_accuracy_over_all_images_is_compared_by_it(make_run: Make) -> None:
    from msgspec.structs import replace

    now = evidence(make_run())
    old = replace(now, metrics=tuple(each for each in now.metrics if each.subset != LABELLED))
    assert ("acc1", "ReGT", "all") in [each.metric.key[:3] for each in compare_metrics(old, now)]


def test_no_number_over_nothing_is_written_down(run_folder: Path) -> None:
    for record in read_run(run_folder).records:
        assert all(metric.n for metric in record.metrics)
        assert record.evidence is not None
        assert all(proof.n for proof in read_evidence(run_folder / record.evidence.path).metrics)
    assert number(classifier(run_folder), "acc1", "WeaselGT", "no_label") is None


@pytest.mark.deep
def test_a_number_that_has_no_sample_any_more_is_still_missed(make_run: Make) -> None:
    before = make_run("before")
    after = make_run("after", errors=dict.fromkeys(M_PLUS, "timeout"))
    assert number(classifier(before), "acc1", "ReGT", "multi_label_original") is not None
    assert number(classifier(after), "acc1", "ReGT", "multi_label_original") is None
    assert "acc1 (ReGT, multi_label_original)" in missing_metrics(evidence(before), evidence(after))


def test_a_floor_is_missed_where_nothing_was_scored(make_run: Make) -> None:
    record = classifier(make_run(errors=dict.fromkeys(range(18), "timeout")))
    assert not [metric for metric in record.metrics if metric.name == "acc1"]
    for text in ("imagenet/supervised:acc1>=0.1", "imagenet/val/supervised:acc1[ReGT]>=0.1"):
        ((broken, where, metric),) = find_missed_floors([parse_floor(text)], [record])
        assert (where, metric) == (record, None)
        assert "has no value (n=0): no sample of it was scored, and --eye-floor=" in describe_missed_floor(
            broken, record, metric
        )
    other = parse_floor("imagenet/supervised:acc1[NoGT]>=0.1")
    assert [*find_missed_floors([other], [record])] == [(other, None, None)]


def ranked(answers: list[list[int]], classes: int) -> Any:
    """Scores of so many ranked classes an image; all others are ruled out."""
    scores = np.full((len(answers), classes), -np.inf, np.float32)
    for row, ranks in enumerate(answers):
        scores[row, ranks] = -np.arange(len(ranks))
    return scores


@pytest.mark.parametrize(
    ("answers", "classes", "known"),
    [
        ([[0], [1], [2]], 9, False),  # one answer an image
        ([[0, 1, 2, 3]] * 3, 9, False),
        ([[0, 1, 2, 3, 4], [1], [2]], 9, True),
        ([[0, 1, 2]] * 3, 3, False),  # there are no five classes
    ],
)
def test_a_top_5_is_of_five_ranked_classes(answers: list[list[int]], classes: int, *, known: bool) -> None:
    keys = tuple(map(str, range(3)))
    truth = build_label_set("mine", [Row(key, key, "") for key in keys], [(0,), (1,), (0,)], "correct", "test")
    targets = Targets((truth,), np.arange(3), LabelPolicy(), classes)
    predictions = ClassPredictions(keys, ranked(answers, classes), {}, {}, targets=targets)
    assert bool([*top5(predictions)]) is known

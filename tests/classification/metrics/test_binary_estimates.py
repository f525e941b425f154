"""Splits of two classes have an AUROC, which runs are compared by; others have none."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from sklearn.metrics import average_precision_score, roc_auc_score, roc_curve

import eyechart
from eyechart.classification.answers.class_predictions import ClassPredictions, Targets
from eyechart.classification.metrics.binary_estimates import binary_scores
from eyechart.classification.metrics.class_estimates import confidence, mean_per_class_recall, proper_scores, top1
from eyechart.data.dataset.dataset import Row, build_original_labels
from eyechart.errors import EyechartError, SpecError
from eyechart.gate.comparison.compare_metrics import compare_metrics
from eyechart.statistics.auroc import delong_interval, delong_test
from eyechart.statistics.clusters import clustered_wilson

LABELS = np.tile([0, 1, 1], 10)
RANDOM = np.random.default_rng(0)
FIRST, SECOND = RANDOM.normal(size=(2, 30, 2)).astype(np.float32)
FIRST[:, 1] += LABELS


def of_scores(scores: Any, labels: Any = LABELS, classes: int = 2) -> ClassPredictions:
    rows = [Row(str(index), str(index), "") for index in range(len(labels))]
    truth = build_original_labels("parts", rows, [(label,) if label >= 0 else () for label in labels.tolist()], "")
    keys = tuple(row.key for row in rows)
    return replace(ClassPredictions(keys, scores, {}, {}), targets=Targets((truth,), labels, classes=classes))


def test_the_area_is_that_of_the_difference_of_both_scores() -> None:
    (found,) = binary_scores(of_scores(FIRST))
    difference = FIRST[:, 1] - FIRST[:, 0]
    assert (found.name, found.labels, found.n, found.method) == ("auroc", "original", 30, "delong")
    assert found.value == pytest.approx(roc_auc_score(LABELS, difference), abs=1e-12)
    assert found.interval == pytest.approx(delong_interval(difference, LABELS))


def test_images_in_error_and_without_a_label_do_not_count() -> None:
    labels, scores = LABELS.copy(), FIRST.copy()
    labels[3], scores[4] = -1, np.nan
    (found,) = binary_scores(replace(of_scores(scores, labels), errors={4: "broken"}))
    kept = np.delete(np.arange(30), [3, 4])
    assert found.n == 28
    assert found.value == pytest.approx(roc_auc_score(labels[kept], (scores[:, 1] - scores[:, 0])[kept]))


def test_votes_of_one_class_alone_are_an_order() -> None:
    votes = np.array([[3, -np.inf], [1, 2], [-np.inf, 3]], np.float32)
    assert [one.value for one in binary_scores(of_scores(votes, np.array([0, 0, 1])))] == [1]


@pytest.mark.parametrize("width", [0, 3])
def test_words_and_splits_of_other_widths_have_none(width: int) -> None:
    assert list(binary_scores(of_scores(np.zeros((30, width), np.float32), classes=width or 2))) == []


def test_a_split_with_one_class_alone_has_no_value() -> None:
    assert [one.value for one in binary_scores(of_scores(FIRST, np.ones(30, np.int64)))] == [None]


def test_two_runs_are_compared_by_the_test_of_delong(make: Any) -> None:
    before, after = (make([*binary_scores(of_scores(scores))], samples=30) for scores in (FIRST, SECOND))
    before.check()
    (found,) = compare_metrics(before, after)
    expected = delong_test(FIRST[:, 1] - FIRST[:, 0], SECOND[:, 1] - SECOND[:, 0], LABELS)
    assert (found.method, found.n) == ("paired DeLong", 30)
    assert (found.delta, found.p) == pytest.approx((expected.delta, expected.p), abs=1e-12)
    assert found.ci == pytest.approx(expected.ci)


@pytest.mark.parametrize("positive", [0, 1])
def test_a_named_class_has_precision_sensitivity_and_specificity(positive: int) -> None:
    predictions = of_scores(FIRST)
    targets = replace(predictions.targets, positive=positive, names=("good", "defect"))
    found = {one.name: one for one in binary_scores(replace(predictions, targets=targets))}
    scores, is_positive = FIRST[:, positive] - FIRST[:, 1 - positive], positive == LABELS
    alarms, hits, _ = roc_curve(is_positive, scores, drop_intermediate=False)
    expected = {
        "auroc": roc_auc_score(is_positive, scores),
        "sensitivity": (scores > 0)[is_positive].mean(),
        "specificity": (scores < 0)[~is_positive].mean(),
        "average_precision": average_precision_score(is_positive, scores),
        "sensitivity_at_95_specificity": hits[alarms <= 0.05].max(),
        "specificity_at_95_sensitivity": (1 - alarms)[hits >= 0.95].max(),
    }
    assert {name: one.value for name, one in found.items()} == pytest.approx(expected, abs=1e-12)
    assert all(one.interval is not None for one in found.values())
    assert targets.variant["positive"] == ("good", "defect")[positive]


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three images of each of two colours, in a folder for each class."""
    folder = tmp_path_factory.mktemp("root") / "parts" / "test"
    for name, colour in (("good", (0, 0, 255)), ("defect", (255, 0, 0))):
        (folder / name).mkdir(parents=True)
        for number in range(3):
            Image.new("RGB", (40 + number, 40), colour).save(folder / name / f"{number}.png")
    return folder


def test_images_of_one_patient_count_together_in_every_number(make: Any) -> None:
    clusters = np.arange(30) // 3
    plain, other = of_scores(FIRST), of_scores(SECOND)
    clustered = [
        replace(one, targets=replace(one.targets, clusters=clusters, positive=1), calibrated=True)
        for one in (plain, other)
    ]
    metrics = (binary_scores, top1, mean_per_class_recall, confidence, proper_scores)
    found = {one.name: one for metric in metrics for one in metric(clustered[0])}
    assert len(found) == 13
    assert {one.metric.n_clusters for name, one in found.items() if name != "specificity"} == {10}
    difference = FIRST[:, 1] - FIRST[:, 0]
    assert found["auroc"].interval == pytest.approx(delong_interval(difference, LABELS, clusters))
    assert found["auroc"].method == "clustered delong"
    before, after = (
        make([each for metric in metrics for each in metric(one)], samples=30, groups=clusters) for one in clustered
    )
    tests = {each.metric.name: each for each in compare_metrics(before, after)}
    expected = delong_test(difference, SECOND[:, 1] - SECOND[:, 0], LABELS, clusters)
    assert tests["auroc"].p == pytest.approx(expected.p, abs=1e-12)
    assert (tests["acc1"].method, tests["acc1"].n_clusters) == ("exact sign flips of clusters", 10)


def test_the_record_names_the_positive_class_and_another_name_is_refused(parts: Path, tmp_path: Path) -> None:
    folders = {"out": tmp_path / "runs", "store": tmp_path / "store"}
    evaluate = partial(eyechart.evaluate, "open_clip[toybox-clip]", parts, protocol="zero_shot", **folders)
    with pytest.raises(SpecError, match=r"positive is 'cow', and the two classes of parts/test are defect and good\."):
        evaluate(positive="cow")
    run = evaluate(positive="defect")
    assert {"auroc", "sensitivity", "specificity_at_95_sensitivity"} <= {*run.metrics["metric"]}
    assert {*run.metrics["option_positive"]} == {"defect"}


def test_a_column_of_slices_is_the_cluster_and_a_split_without_it_is_refused(parts: Path, tmp_path: Path) -> None:
    folders = {"out": tmp_path / "runs", "store": tmp_path / "store"}
    evaluate = partial(eyechart.evaluate, "open_clip[toybox-clip]", parts, protocol="zero_shot", **folders)
    with pytest.raises(SpecError, match=r"cluster is 'patient', and slices.csv of parts/test has no such column: the"):
        evaluate(cluster="patient")
    keys = [f"{kind}/{number}.png,{kind}{number // 2}" for kind in ("good", "defect") for number in range(3)]
    (parts / "slices.csv").write_text("\n".join(["key,patient", *keys]), encoding="utf-8")
    run = evaluate(cluster="patient")
    whole = run.metrics[run.metrics["subset"].isin(("all", "asked"))].set_index("metric")
    assert whole["n_clusters"][["acc1", "auroc", "answered"]].tolist() == [4, 4, 4]
    assert {*run.metrics["option_cluster"].dropna()} == {"patient"}
    assert not any("--eye-cluster" in note for note in run.records[0].notes)


def test_thresholds_are_those_of_the_other_split() -> None:
    """Oracle: scikit-learn's curve of the other scores, applied to these by hand."""
    clusters = np.arange(30) // 3
    here, other = of_scores(FIRST), of_scores(SECOND, np.roll(LABELS, 1))
    here, other = (replace(one, targets=replace(one.targets, positive=1)) for one in (here, other))
    here = replace(here, targets=replace(here.targets, clusters=clusters))
    joined = here.with_thresholds(lambda: other, "parts/val (12345678)")
    assert isinstance(joined, ClassPredictions)
    found = {one.name: one for one in binary_scores(joined)}
    scores, others = (table[:, 1] - table[:, 0] for table in (FIRST.astype(np.float64), SECOND.astype(np.float64)))
    alarms, hits, thresholds = roc_curve(np.roll(LABELS, 1), others, drop_intermediate=False)
    for target, threshold in (
        ("specificity", thresholds[alarms <= 0.05].min()),
        ("sensitivity", thresholds[hits >= 0.95].max()),
    ):
        name = f"threshold_for_95_{target}"
        assert found[name].value == pytest.approx(threshold)
        called = scores >= threshold
        for share, kind in (("sensitivity", 1), ("specificity", 0)):
            one = found[f"{share}_at_{name}"]
            outcomes = np.where(kind == LABELS, called == kind, np.nan)
            assert one.value == pytest.approx(np.nanmean(outcomes))
            assert one.interval == pytest.approx(clustered_wilson(outcomes, clusters))
    assert joined.full_variant()["threshold_from"] == "parts/val (12345678)"


@pytest.fixture(scope="module")
def splits(parts: Path) -> Path:
    """The folder of `parts` with further splits: val, one of other classes, and one without a defect."""
    for split, kinds in (("val", ("good", "defect")), ("renamed", ("good", "bad")), ("sound", ("good", "defect"))):
        for kind in kinds:
            folder = parts.parent / split / kind
            folder.mkdir(parents=True)
            for number in range(1 if split == "sound" else 4):
                colour = (30 * number + 10, 0, 255) if kind == "good" else (255, 0, 30 * number + 10)
                Image.new("RGB", (40 + number, 50), colour).save(folder / f"{number}.png")
    (parts.parent / "sound" / "defect" / "0.png").write_bytes(b"no image")
    return parts.parent.parent


def margins(samples: Any) -> tuple[Any, Any]:
    """The score of the class defect minus that of good, by the sample table, and whether an image is a defect."""
    first = np.where(samples["top1"].astype(int) == 0, 1, -1)  # the class 0 is defect
    gap = samples["score1"].astype(float) - samples["score2"].astype(float)
    return (first * gap).to_numpy(), samples["label"].astype(int).to_numpy() == 0


def test_a_threshold_is_chosen_on_another_split(splits: Path, tmp_path: Path) -> None:
    folders = {"out": tmp_path / "runs", "store": tmp_path / "store", "data_root": str(splits)}
    evaluate = partial(eyechart.evaluate, "open_clip[toybox-clip]", protocol="zero_shot", **folders)
    run = evaluate("parts/test", positive="defect", threshold_from="parts/val")
    (source,) = {*run.metrics["option_threshold_from"].dropna()}
    assert source.startswith("parts/val (")
    value = run.metrics.set_index("metric")["value"]
    here, there = margins(run.samples), margins(evaluate("parts/val").samples)
    for target, expected in (("specificity", there[0][~there[1]].max()), ("sensitivity", there[0][there[1]].min())):
        threshold = value[f"threshold_for_95_{target}"]
        if target == "sensitivity":
            assert threshold == pytest.approx(expected, abs=1e-5)
        else:
            assert threshold == pytest.approx(min(there[0][there[0] > expected + 1e-6], default=expected), abs=1e-5)
        called = here[0] >= threshold
        assert value[f"sensitivity_at_threshold_for_95_{target}"] == called[here[1]].mean()
        assert value[f"specificity_at_threshold_for_95_{target}"] == (~called)[~here[1]].mean()


@pytest.mark.parametrize(
    ("positive", "split", "problem"),
    [
        ("", "parts/val", r"no class is positive\. Name it with --eye-positive"),
        ("defect", "parts/test", r"that is the evaluated split\. Name another one"),
        ("good", "parts/renamed", r"its classes are not those of parts/test, defect and good\."),
        (
            "defect",
            "parts/sound",
            r"parts/sound \(\w{8}\) has no threshold with a specificity of 95 %\. Expected images",
        ),
        ("defect", "parts/none", r"parts/none"),
    ],
)
def test_a_split_of_no_use_for_thresholds_is_refused(
    splits: Path, tmp_path: Path, positive: str, split: str, problem: str
) -> None:
    folders = {"out": tmp_path / "runs", "store": tmp_path / "store", "data_root": str(splits)}
    with pytest.raises(EyechartError, match=problem):
        eyechart.evaluate(
            "open_clip[toybox-clip]",
            "parts/test",
            protocol="zero_shot",
            positive=positive,
            threshold_from=split,
            **folders,
        )

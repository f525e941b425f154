"""The metrics equal scikit-learn's and timm's where those have them."""

import importlib
import json
from importlib.resources import files

import numpy as np
import pytest
from sklearn import calibration, metrics

from eyechart.models.runtime.torchvision_repair import repair
from eyechart.statistics.accuracy import accuracy, correctness, hits, top_k
from eyechart.statistics.calibration import brier_score, reliability
from eyechart.statistics.recall import mean_per_class_recall, per_class_recall
from eyechart.statistics.thresholds import accuracy_coverage

IMAGES, CLASSES = 400, 12


@pytest.fixture(scope="module")
def scored():
    """Labels of every class and scores that lean towards them."""
    random = np.random.default_rng(5)
    labels = random.permutation(np.arange(IMAGES) % CLASSES)
    return labels, random.normal(size=(IMAGES, CLASSES)) + 1.5 * np.eye(CLASSES)[labels]


@pytest.mark.parametrize("k", [1, 3, 5, 12])
def test_top_k_accuracy_is_scikit_learns(scored, k) -> None:
    labels, scores = scored
    theirs = metrics.top_k_accuracy_score(labels, scores, k=k) if k < CLASSES else 1.0
    assert hits(top_k(scores, k), labels[:, None], k=k).mean() == theirs


def test_recalls_are_scikit_learns(scored) -> None:
    labels, scores = scored
    predicted = top_k(scores, 1)
    correct = hits(predicted, labels[:, None]).astype(float)
    theirs = metrics.recall_score(labels, predicted[:, 0], average=None)
    np.testing.assert_allclose(per_class_recall(correct, labels, CLASSES).values, theirs)
    assert mean_per_class_recall(correct, labels, CLASSES) == pytest.approx(np.mean(theirs))


def test_mean_recall_over_the_classes_present_is_balanced_accuracy(scored) -> None:
    labels, scores = (values[: CLASSES // 2] for values in scored)
    correct = hits(top_k(scores, 1), labels[:, None]).astype(float)
    theirs = metrics.recall_score(labels, top_k(scores, 1)[:, 0], labels=np.unique(labels), average="macro")
    assert mean_per_class_recall(correct, labels, CLASSES) == pytest.approx(theirs)


@pytest.fixture(scope="module", params=[3, 6], ids=["with ties", "without"])
def sure(request):
    """Confidences of so many digits, and answers that are right a little less often than they say."""
    random = np.random.default_rng(8)
    confidences = random.beta(4, 1, 2000).round(request.param)
    return confidences, (random.random(2000) < 0.95 * confidences).astype(float)


def test_the_brier_score_is_scikit_learns(sure) -> None:
    confidences, correct = sure
    assert brier_score(confidences, correct) == pytest.approx(metrics.brier_score_loss(correct, confidences))


@pytest.mark.parametrize(("binning", "strategy"), [("width", "uniform"), ("mass", "quantile")])
@pytest.mark.parametrize("bins", [1, 10, 15])
def test_the_reliability_diagram_is_scikit_learns(sure, binning, strategy, bins) -> None:
    confidences, correct = sure
    ours = reliability(confidences, correct, bins, binning)
    theirs = calibration.calibration_curve(correct, confidences, n_bins=bins, strategy=strategy)
    seen = ours.counts > 0
    np.testing.assert_allclose([ours.accuracy[seen], ours.confidence[seen]], theirs)


def test_the_accuracy_kept_at_each_threshold_is_scikit_learns_precision(sure) -> None:
    confidences, correct = sure
    ours = accuracy_coverage(confidences, correct)
    precision, _, thresholds = metrics.precision_recall_curve(correct, confidences)
    np.testing.assert_array_equal(ours.thresholds[::-1], thresholds)
    np.testing.assert_allclose(ours.accuracy[::-1], precision[:-1])


def batches(labels):
    """Random scores of 1000 classes, half of the images leaning towards one of their labels."""
    random = np.random.default_rng(11)
    for rows in np.array_split(labels, 5):
        scores = random.random((len(rows), 1000), dtype=np.float32)
        lean = (random.random(len(rows)) < 0.5) & (rows[:, 0] >= 0)
        scores[lean, rows[lean, 0]] += 0.003
        yield scores


@pytest.mark.deep
def test_real_accuracy_is_timms_on_5_000_random_predictions(tmp_path) -> None:
    torch = importlib.import_module("torch")
    repair()
    module = importlib.import_module("timm.data.real_labels")
    lists = json.loads(files("timm.data").joinpath("_info/imagenet_real_labels.json").read_text())[:5000]
    (tmp_path / "real.json").write_text(json.dumps(lists))
    labels = np.array([[*row, *[-1] * (max(map(len, lists)) - len(row))] for row in lists])
    names = [f"ILSVRC2012_val_{image + 1:08d}.JPEG" for image in range(len(labels))]
    theirs = module.RealLabelsImagenet(names, tmp_path / "real.json")
    top = []
    for scores in batches(labels):
        theirs.add_result(torch.from_numpy(scores))
        top.append(top_k(scores, 5))
    ours = {k: 100 * accuracy(scored_as_real(np.concatenate(top), labels, k)) for k in (1, 5)}
    assert ours == pytest.approx(theirs.get_accuracy(), abs=1e-9)
    assert 0 < ours[1] < ours[5] < 100


def scored_as_real(top, labels, k):
    return correctness(top, labels, np.ones(len(labels), bool), k=k, empty="exclude")

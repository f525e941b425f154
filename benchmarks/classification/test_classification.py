"""Image classification: one test function a protocol, one case a split and model."""

import pytest

from eyechart.classification.metrics import (
    confidence,
    label_agreement,
    mean_per_class_recall,
    out_of_prompt,
    strict_top1,
    top1,
    top5,
)
from eyechart.classification.predictions import Classification, ClassPredictions, EpochPredictions
from eyechart.protocol.evaluate import Evaluate


@pytest.mark.eyechart("imagenet", "toybox", "*", protocol="zero_shot")
def test_zero_shot(evaluate: Evaluate[ClassPredictions]) -> None:
    """Class names in prompts, the nearest one to the image wins."""
    evaluate(top1, top5, mean_per_class_recall, label_agreement)


@pytest.mark.eyechart("imagenet", "*", protocol="supervised")
def test_supervised(evaluate: Evaluate[ClassPredictions]) -> None:
    """The classifier's own vocabulary."""
    evaluate(top1, top5, mean_per_class_recall, confidence, label_agreement)


@pytest.mark.eyechart("imagenet", "*", protocol="knn")
def test_knn(evaluate: Evaluate[ClassPredictions]) -> None:
    """The nearest images of a labelled split vote."""
    evaluate(top1, top5, mean_per_class_recall, label_agreement)


@pytest.mark.eyechart("imagenet", "toybox", "*", protocol="mcq")
def test_mcq(evaluate: Evaluate[ClassPredictions]) -> None:
    """Mill's ten options, one letter."""
    evaluate(top1, strict_top1, mean_per_class_recall, label_agreement)


@pytest.mark.eyechart("imagenet", "toybox", "*", protocol="closed_world")
def test_closed_world(evaluate: Evaluate[Classification]) -> None:
    """All class names in the prompt, one of them as the answer."""
    evaluate(top1, strict_top1, mean_per_class_recall, out_of_prompt, label_agreement)


@pytest.mark.eyechart("imagenet", "toybox", "*", protocol="closed_world_plus")
def test_closed_world_plus(evaluate: Evaluate[ClassPredictions]) -> None:
    """The same answers, those out of the prompt taken for the nearest class."""
    evaluate(top1, strict_top1, mean_per_class_recall, out_of_prompt, label_agreement)


@pytest.mark.eyechart("imagenet", "toybox", "*", protocol="open_world")
def test_open_world(evaluate: Evaluate[ClassPredictions]) -> None:
    """No list: an answer in free words is taken for the nearest class."""
    evaluate(top1, strict_top1, mean_per_class_recall, label_agreement)


@pytest.mark.eyechart("imagenet", "toybox", "*", protocol="multiple_choice")
def test_multiple_choice(evaluate: Evaluate[EpochPredictions]) -> None:
    """One letter of four, options and their order redrawn in every repeat."""
    evaluate(top1)


@pytest.mark.eyechart("imagenet", "toybox", "*", protocol="posterior")
def test_posterior(evaluate: Evaluate[ClassPredictions]) -> None:
    """How likely each class name is as the whole answer to the closed world's question."""
    evaluate(top1, top5, mean_per_class_recall, confidence, label_agreement)


@pytest.mark.eyechart("imagenet", "*", protocol="replay")
def test_replay(evaluate: Evaluate[ClassPredictions]) -> None:
    """Answers that were collected elsewhere."""
    evaluate(top1, top5, mean_per_class_recall, label_agreement)

"""Image classification: one test function per protocol, one case per split, model and options."""

import pytest

from eyechart.classification.answers.class_predictions import Classification, ClassPredictions, EpochPredictions
from eyechart.classification.metrics.class_estimates import (
    answer_log_probability,
    confidence,
    label_agreement,
    mean_average_precision,
    mean_per_class_recall,
    out_of_prompt,
    proper_scores,
    strict_top1,
    top1,
    top5,
)
from eyechart.evaluation.evaluate import Evaluate


@pytest.mark.eyechart("imagenet", "toybox", "*", protocol="zero_shot")
def test_zero_shot(evaluate: Evaluate[ClassPredictions]) -> None:
    """The class whose prompt embedding is most similar to the image embedding."""
    evaluate(top1, top5, mean_per_class_recall, mean_average_precision, label_agreement, proper_scores)


@pytest.mark.eyechart("imagenet", "*", protocol="supervised")
def test_supervised(evaluate: Evaluate[ClassPredictions]) -> None:
    """A classifier with its own vocabulary."""
    evaluate(top1, top5, mean_per_class_recall, mean_average_precision, confidence, label_agreement, proper_scores)


@pytest.mark.eyechart("imagenet", "*", protocol="knn")
def test_knn(evaluate: Evaluate[ClassPredictions]) -> None:
    """A vote of the nearest images of a labelled split."""
    evaluate(top1, top5, mean_per_class_recall, label_agreement, proper_scores)


@pytest.mark.eyechart("imagenet", "toybox", "*", protocol="mcq")
def test_mcq(evaluate: Evaluate[ClassPredictions]) -> None:
    """Mill's multiple choice: one letter of ten options."""
    evaluate(top1, strict_top1, mean_per_class_recall, label_agreement)


@pytest.mark.eyechart("imagenet", "toybox", "*", protocol="closed_world")
def test_closed_world(evaluate: Evaluate[Classification]) -> None:
    """All class names in the prompt; the answer is one of them."""
    evaluate(top1, strict_top1, mean_per_class_recall, out_of_prompt, label_agreement, answer_log_probability)


@pytest.mark.eyechart("imagenet", "toybox", "*", protocol="closed_world_plus")
def test_closed_world_plus(evaluate: Evaluate[ClassPredictions]) -> None:
    """The answers of the closed world, with those out of the prompt mapped to the nearest class."""
    evaluate(top1, strict_top1, mean_per_class_recall, out_of_prompt, label_agreement, answer_log_probability)


@pytest.mark.eyechart("imagenet", "toybox", "*", protocol="open_world")
def test_open_world(evaluate: Evaluate[ClassPredictions]) -> None:
    """No class list in the prompt; free text is mapped to the nearest class."""
    evaluate(top1, strict_top1, mean_per_class_recall, label_agreement)


@pytest.mark.eyechart("imagenet", "toybox", "*", protocol="multiple_choice")
def test_multiple_choice(evaluate: Evaluate[EpochPredictions]) -> None:
    """One letter of four options, which are redrawn in every epoch."""
    evaluate(top1)


@pytest.mark.eyechart("imagenet", "toybox", "*", protocol="posterior")
def test_posterior(evaluate: Evaluate[ClassPredictions]) -> None:
    """The probability of each class name as the complete answer to the prompt of the closed world."""
    evaluate(top1, top5, mean_per_class_recall, confidence, label_agreement, proper_scores)


@pytest.mark.eyechart("imagenet", "*", protocol="replay")
def test_replay(evaluate: Evaluate[ClassPredictions]) -> None:
    """Answers that were collected elsewhere."""
    evaluate(top1, top5, mean_per_class_recall, label_agreement, proper_scores)

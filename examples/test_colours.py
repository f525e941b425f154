"""Test functions of your own: a packaged protocol with a further metric, and your protocol."""

import numpy as np
import pytest
from eyechart_examples.metric import answer_length
from eyechart_examples.protocols.colour_word import ColourAnswers

from eyechart.classification.answers.class_predictions import ClassPredictions
from eyechart.classification.metrics.class_estimates import top1
from eyechart.evaluation.evaluate import Evaluate


def margin(predictions: ClassPredictions) -> np.ndarray:
    """Return for each image the score of the best class minus that of the second: a metric of your own."""
    ranked = np.sort(predictions.scores, axis=1)
    return np.asarray(ranked[:, -1] - ranked[:, -2], np.float64)


@pytest.mark.eyechart("swatches", protocol="supervised")
def test_colours(evaluate: Evaluate[ClassPredictions]) -> None:
    """A classifier of colours is correct on more than half of the swatches; `margin` is a further metric."""
    accuracy, _ = evaluate(top1, margin)
    assert accuracy.value is not None
    assert accuracy.value > 0.5


@pytest.mark.eyechart(protocol="colour_word")
def test_colour_words(evaluate: Evaluate[ColourAnswers]) -> None:
    """The answers of a language model about swatches are recorded, whatever they are, with a metric of their own."""
    evaluate(answer_length)

"""A metric of your own: the mean length of the answers about swatches."""

import numpy as np

from eyechart.results.metric_definitions import MetricDefinition

from .protocols.colour_word import ColourAnswers

ANSWER_LENGTH = MetricDefinition(
    "answer_length",
    "The mean number of characters of an answer.",
    higher_is_better=None,  # the gate does not judge it
    unit="number",  # not "share", which is written in percent
    range=(0.0, 1000.0),
)


def answer_length(predictions: ColourAnswers) -> np.ndarray:
    """Return the number of characters of each answer (n,), NaN for an error, which does not count."""
    lengths = np.array([len(text) for text in predictions.texts], np.float64)
    lengths[[*predictions.errors]] = np.nan
    return lengths

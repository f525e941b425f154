"""The metrics that several studies compute."""

from math import log

from eyechart.results.metric_definitions import SHARE, MetricDefinition
from eyechart.statistics.least_probability import LEAST

DEFINITIONS = (
    MetricDefinition(
        "answered",
        "The proportion of requests that ended without an error.",
        higher_is_better=True,
        range=SHARE,
        is_common=True,
    ),
    MetricDefinition("acc", "Accuracy: the proportion of correct answers.", higher_is_better=True, range=SHARE),
    MetricDefinition(
        "unparsed",
        "The proportion of answers that could not be parsed; they count as wrong.",
        higher_is_better=None,
        range=SHARE,
    ),
    MetricDefinition(
        "truncated",
        "The proportion of answers that were cut off at the token limit; they count as wrong.",
        higher_is_better=None,
        range=SHARE,
    ),
    MetricDefinition(
        "log_score",
        "Log score: the mean natural logarithm of the probability of the right class or name; 0 is perfect.",
        higher_is_better=True,
        unit="number",
        range=(log(LEAST), 0.0),
        is_common=True,
        kind="score",
    ),
    MetricDefinition(
        "target_brier",
        "Brier score of the right class or name: the mean of (1 - p)², p its probability; lower is better.",
        higher_is_better=False,
        unit="number",
        range=SHARE,
        is_common=True,
        kind="score",
    ),
    MetricDefinition(
        "ece",
        "Expected calibration error: the mean distance of confidence from accuracy, over bins; lower is better.",
        higher_is_better=False,
        range=SHARE,
        kind="score",
    ),
)

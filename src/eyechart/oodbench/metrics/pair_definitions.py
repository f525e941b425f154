"""The metrics of pairs, detectors and distributions, which this folder and the protocols compute, and their subsets."""

from eyechart.results.glossary import Glossary
from eyechart.results.metric_definitions import SHARE, MetricDefinition

DEFINITIONS = (
    MetricDefinition(
        "f1",
        "F1: the harmonic mean of precision and recall of the answer yes.",
        higher_is_better=True,
        range=SHARE,
        is_common=True,
    ),
    MetricDefinition(
        "precision", "Precision: the proportion of answers yes that are correct.", higher_is_better=True, range=SHARE
    ),
    MetricDefinition(
        "recall",
        "Recall: the proportion of present categories that are answered with yes.",
        higher_is_better=True,
        range=SHARE,
    ),
    MetricDefinition(
        "mcc",
        "Matthews correlation coefficient of yes and no: 1 is perfect, 0 is chance.",
        higher_is_better=True,
        range=(-1.0, 1.0),
        is_common=True,
    ),
    MetricDefinition("yes_rate", "The proportion of answers yes.", higher_is_better=None, range=SHARE),
    MetricDefinition(
        "e_acc",
        "Accuracy of the first question of a progression: whether the category is in the image.",
        higher_is_better=True,
        range=SHARE,
        question="existence",
    ),
    MetricDefinition(
        "c_acc",
        "Accuracy of the second question of a progression: how many objects there are.",
        higher_is_better=True,
        range=SHARE,
        question="counting",
    ),
    MetricDefinition(
        "l_acc",
        "Accuracy of the third question of a progression: which of two categories has more objects.",
        higher_is_better=True,
        range=SHARE,
        question="logic",
    ),
    MetricDefinition(
        "e_delta", "The change of the existence accuracy from ID to this set of pairs.", higher_is_better=None
    ),
    MetricDefinition(
        "case1",
        "The proportion of pairs in which an absent category has a higher score than the present one.",
        higher_is_better=None,
        range=SHARE,
    ),
    MetricDefinition(
        "case2",
        "The proportion of pairs whose present category has a probability below the threshold.",
        higher_is_better=None,
        range=SHARE,
    ),
    MetricDefinition(
        "flagged",
        "The proportion of pairs that the detector fails on, by either case.",
        higher_is_better=None,
        range=SHARE,
    ),
    MetricDefinition(
        "mmd2",
        "Squared maximum mean discrepancy: the distance between two distributions of images; 0 if they are equal.",
        higher_is_better=None,
        unit="number",
    ),
    MetricDefinition(
        "mmd2_tau",
        "The distance MMD² between random halves of one distribution, for comparison.",
        higher_is_better=None,
        unit="number",
    ),
    MetricDefinition(
        "mmd2_null",
        "The distance MMD² that random permutations reach, for comparison.",
        higher_is_better=None,
        unit="number",
    ),
    MetricDefinition(
        "mmd2_p",
        "The p-value of the permutation test that both distributions of images are equal.",
        higher_is_better=None,
        unit="number",
        range=SHARE,
    ),
)

GLOSSARY = Glossary(
    {"OODBench": "The labels of OODBench: whether a category is in an image, and how many objects."},
    {
        "ID": "In distribution: pairs of image and category that every detector finds.",
        "OOD-S": "Out of distribution, simple: pairs that some detectors fail on.",
        "OOD-H": "Out of distribution, hard: pairs that all detectors fail on.",
        "hard samples": "Pairs that a detector finds with the lowest scores.",
    },
)

"""The metrics of questions, which this folder computes, and their label set."""

from eyechart.results.glossary import Glossary
from eyechart.results.metric_definitions import SHARE, MetricDefinition

DEFINITIONS = (
    MetricDefinition(
        "question_acc",
        "Accuracy: the proportion of questions whose answer is right.",
        higher_is_better=True,
        range=SHARE,
        is_main=True,
    ),
    MetricDefinition(
        "credit",
        "The mean credit of answers, which may be right in part: VQA's soft accuracy, or the F1 of a list.",
        higher_is_better=True,
        range=SHARE,
        is_common=True,
    ),
    MetricDefinition(
        "first_order_acc",
        "The accuracy in the first order of the options, where each choice is asked in several orders.",
        higher_is_better=None,
        range=SHARE,
    ),
)
GLOSSARY = Glossary(
    {"answers": "The answers of a table of questions."},
    {
        "choice": "Questions with options, one of which is right.",
        "choices": "Questions with options, several of which may be right.",
        "yes_no": "Questions whose answer is yes or no.",
        "number": "Questions whose answer is a number.",
        "exact": "Questions whose answer is a word or a short phrase.",
        "vqa": "Questions with the answers of ten people.",
        "list": "Questions whose answer is a list.",
        "text": "Questions whose answer is a sentence.",
    },
)

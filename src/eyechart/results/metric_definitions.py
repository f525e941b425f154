"""What each metric is: its sentence, its unit, its range and its name in published tables, in one definition.

A package declares its metrics beside the functions that compute them, with an entry point that names a definition or a
tuple of them:

    [project.entry-points."eyechart.metrics"]
    my_metrics = "mypackage.metrics:DEFINITIONS"

Records that hold them are then checked, and tables, page and gate write them, as those of eyechart.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from math import inf, log
from typing import Literal

from eyechart.errors import SpecError
from eyechart.files.installed import find_entry_points
from eyechart.statistics.least_probability import LEAST

GROUP = "eyechart.metrics"
SHARE = (0.0, 1.0)


@dataclass(frozen=True)
class MetricDefinition:
    """What a metric is.

    `summary` is the sentence that explains it. Its `unit` is "share" for a number that is written in percent, else
    "number". `range` has the least and the largest value, None if it is not known: a record with a value beyond it is
    refused as damaged, unless the name `is_common`, so that another tool may use it on another scale. Published tables
    call the metric `published_name`, "" for its name.
    """

    name: str
    summary: str
    unit: Literal["share", "number"] = "share"
    range: tuple[float, float] | None = None
    is_common: bool = False
    published_name: str = ""


PACKAGED = (
    MetricDefinition(
        "acc1",
        "Top-1 accuracy: the proportion of images whose best class is among their labels.",
        range=SHARE,
        published_name="acc",
    ),
    MetricDefinition(
        "acc5", "Top-5 accuracy: the proportion of images with a label among the five best classes.", range=SHARE
    ),
    MetricDefinition(
        "acc1_strict", "Top-1 accuracy if an answer counts only when it repeats a class name exactly.", range=SHARE
    ),
    MetricDefinition(
        "mean_per_class_recall",
        "The accuracy of each class, averaged over classes, so that every class has equal weight.",
        range=SHARE,
    ),
    MetricDefinition(
        "mean_average_precision", "Average precision of the scores of each class, averaged over classes (mAP)."
    ),
    MetricDefinition("intersection", "The proportion of images that are correct under both label sets."),
    MetricDefinition(
        "mc_acc",
        "Multiple-choice accuracy: the proportion of questions with the correct option, averaged over epochs.",
        range=SHARE,
    ),
    MetricDefinition(
        "repeated_acc", "Top-1 accuracy, averaged over epochs that repeat the same requests.", range=SHARE
    ),
    MetricDefinition(
        "repeated_oop", "The proportion of answers outside of the prompt, averaged over epochs.", range=SHARE
    ),
    MetricDefinition(
        "oop", "The proportion of answers that are not a class of the prompt (out of prompt).", range=SHARE
    ),
    MetricDefinition(
        "oop_in", "The proportion of answers outside of the prompt that name a class by another name.", range=SHARE
    ),
    MetricDefinition(
        "oop_partial", "The proportion of answers outside of the prompt that contain a class name.", range=SHARE
    ),
    MetricDefinition(
        "oop_wrong", "The proportion of answers outside of the prompt that name something else.", range=SHARE
    ),
    MetricDefinition(
        "oop_abstain", "The proportion of answers outside of the prompt that decline to answer.", range=SHARE
    ),
    MetricDefinition(
        "oop_mapped",
        "The accuracy of answers outside of the prompt after they are mapped to the nearest class.",
        range=SHARE,
    ),
    MetricDefinition(
        "unparsed", "The proportion of answers that could not be parsed; they count as wrong.", range=SHARE
    ),
    MetricDefinition(
        "truncated", "The proportion of answers that were cut off at the token limit; they count as wrong.", range=SHARE
    ),
    MetricDefinition(
        "answered", "The proportion of requests that ended without an error.", range=SHARE, is_common=True
    ),
    MetricDefinition("acc", "Accuracy: the proportion of correct answers.", range=SHARE),
    MetricDefinition(
        "acc_macro", "The accuracy of each species or class, averaged over them with equal weight.", range=SHARE
    ),
    MetricDefinition(
        "log_score",
        "Log score: the mean natural logarithm of the probability of the right class or name; 0 is perfect.",
        unit="number",
        range=(log(LEAST), 0.0),
        is_common=True,
    ),
    MetricDefinition(
        "target_brier",
        "Brier score of the right class or name: the mean of (1 - p)², p its probability; lower is better.",
        unit="number",
        range=SHARE,
        is_common=True,
    ),
    MetricDefinition(
        "answer_log_prob",
        "The mean natural logarithm of the probability that the model gives its answer; 0 is certain.",
        unit="number",
        range=(-inf, 0.0),
        is_common=True,
    ),
    MetricDefinition(
        "ece",
        "Expected calibration error: the mean distance of confidence from accuracy, over bins; lower is better.",
        range=SHARE,
    ),
    MetricDefinition(
        "f1", "F1: the harmonic mean of precision and recall of the answer yes.", range=SHARE, is_common=True
    ),
    MetricDefinition("precision", "Precision: the proportion of answers yes that are correct.", range=SHARE),
    MetricDefinition("recall", "Recall: the proportion of present categories that are answered with yes.", range=SHARE),
    MetricDefinition(
        "mcc",
        "Matthews correlation coefficient of yes and no: 1 is perfect, 0 is chance.",
        range=(-1.0, 1.0),
        is_common=True,
    ),
    MetricDefinition("yes_rate", "The proportion of answers yes.", range=SHARE),
    MetricDefinition(
        "e_acc", "Accuracy of the first question of a progression: whether the category is in the image.", range=SHARE
    ),
    MetricDefinition(
        "c_acc", "Accuracy of the second question of a progression: how many objects there are.", range=SHARE
    ),
    MetricDefinition(
        "l_acc",
        "Accuracy of the third question of a progression: which of two categories has more objects.",
        range=SHARE,
    ),
    MetricDefinition("e_delta", "The change of the existence accuracy from ID to this set of pairs."),
    MetricDefinition(
        "case1",
        "The proportion of pairs in which an absent category has a higher score than the present one.",
        range=SHARE,
    ),
    MetricDefinition(
        "case2", "The proportion of pairs whose present category has a probability below the threshold.", range=SHARE
    ),
    MetricDefinition("flagged", "The proportion of pairs that the detector fails on, by either case.", range=SHARE),
    MetricDefinition(
        "mmd2",
        "Squared maximum mean discrepancy: the distance between two distributions of images; 0 if they are equal.",
        unit="number",
    ),
    MetricDefinition(
        "mmd2_tau", "The distance MMD² between random halves of one distribution, for comparison.", unit="number"
    ),
    MetricDefinition("mmd2_null", "The distance MMD² that random permutations reach, for comparison.", unit="number"),
    MetricDefinition(
        "mmd2_p",
        "The p-value of the permutation test that both distributions of images are equal.",
        unit="number",
        range=SHARE,
    ),
    MetricDefinition(
        "ig",
        "IG, information gain: the area under accuracy by information gain, as answers become more general, "
        "on the tree of species, genera and the root (species.tree=all: of all levels of the taxonomy).",
    ),
    MetricDefinition("ig_correct_only", "Information gain to which only correct answers contribute."),
    MetricDefinition("ig_depth", "Information gain measured by the depth of the answers in the taxonomy."),
    MetricDefinition("ig_change", "The change of the information gain from all species to the species of the range."),
    MetricDefinition(
        "ua_a",
        "UA/A: the probability that an unanswerable image has a lower confidence than an answerable one; "
        "0.5 is chance.",
        range=SHARE,
        is_common=True,
    ),
    MetricDefinition("ua_a_change", "The change of UA/A from all species to the species of the range."),
    MetricDefinition(
        "abstained",
        "The proportion of images on which the model abstains, without answers that could not be parsed.",
        range=SHARE,
    ),
    MetricDefinition(
        "abstained_at_95",
        "The proportion of images to abstain from for 95 % accuracy on the others.",
        range=SHARE,
        is_common=True,
    ),
    MetricDefinition(
        "abstention",
        "The proportion of images that the model abstains from, averaged over the wordings of a prompt.",
        range=SHARE,
    ),
    MetricDefinition(
        "abstention_sd", "The standard deviation of the proportion of abstentions between the wordings of a prompt."
    ),
    MetricDefinition(
        "p_abstain",
        "The proportion of unanswerable images with this reason that the model abstains from.",
        range=SHARE,
        is_common=True,
    ),
    MetricDefinition(
        "correct_reason", "The proportion of abstentions whose stated reason is the true one.", range=SHARE
    ),
    MetricDefinition(
        "cochran_q",
        "Cochran's Q: how much abstentions differ between the wordings of a prompt.",
        unit="number",
        range=(0.0, inf),
        is_common=True,
    ),
    MetricDefinition(
        "cochran_p",
        "The p-value of Cochran's test that all wordings of a prompt lead to equally many abstentions.",
        unit="number",
        range=SHARE,
    ),
    MetricDefinition(
        "tree_acc",
        "Accuracy of the most specific name that is certain enough, by a threshold fitted on other images.",
        range=SHARE,
    ),
    MetricDefinition(
        "tree_hm",
        "The harmonic mean of the accuracies in the taxonomy on answerable and unanswerable images.",
        range=SHARE,
        is_common=True,
    ),
    MetricDefinition(
        "hm", "The harmonic mean of the accuracies on answerable and unanswerable images.", range=SHARE, is_common=True
    ),
    MetricDefinition(
        "accuracy_coverage_auc",
        "The area under accuracy by coverage: the mean accuracy of the most confident answers.",
        range=SHARE,
        is_common=True,
    ),
    MetricDefinition(
        "brier",
        "Brier score: the mean squared distance of probabilities from the outcomes; lower is better.",
        unit="number",
        range=(0.0, 2.0),
        is_common=True,
    ),
    MetricDefinition(
        "auc",
        "The area under accuracy by coverage: the mean accuracy of the most confident answers.",
        range=SHARE,
        is_common=True,
    ),
    MetricDefinition(
        "aurc",
        "The area under risk by coverage: the mean error rate of the most confident answers; lower is better.",
        range=SHARE,
        is_common=True,
    ),
    MetricDefinition(
        "auc_macro",
        "The area under accuracy by coverage, where accuracy is averaged over species.",
        range=SHARE,
        is_common=True,
    ),
    MetricDefinition(
        "auc_balanced",
        "The area under accuracy by coverage with equal weight for every species.",
        range=SHARE,
        is_common=True,
    ),
)


@cache
def metric_definitions() -> Mapping[str, MetricDefinition]:
    """Return the definitions of eyechart and of installed packages, by name.

    Raises SpecError if two define one name, or if an entry point names something else.
    """
    known = {definition.name: definition for definition in PACKAGED}
    for point in find_entry_points(GROUP):
        target = point.load()
        for definition in target if isinstance(target, tuple) else (target,):
            if not isinstance(definition, MetricDefinition):
                raise SpecError(
                    f"The entry point '{point.name}' of {GROUP} names {point.value}, which holds a "
                    f"{type(definition).__name__}. Expected a MetricDefinition, or a tuple of them."
                )
            if definition.name in known:
                raise SpecError(
                    f"Two packages define the metric '{definition.name}', one of them by the entry point "
                    f"'{point.name}', {point.value}. Give this one another name."
                )
            known[definition.name] = definition
    return known

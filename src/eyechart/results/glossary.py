"""One plain sentence for each metric, label set, subset, level and interval method."""

import re
from collections.abc import Mapping

from eyechart.results.records import ANSWERABLE, LABELLED, UNANSWERABLE, WHOLE, Metric
from eyechart.statistics import categories

METRICS: Mapping[str, str] = {
    "acc1": "Top-1 accuracy: the proportion of images whose best class is among their labels.",
    "acc5": "Top-5 accuracy: the proportion of images with a label among the five best classes.",
    "acc1_strict": "Top-1 accuracy if an answer counts only when it repeats a class name exactly.",
    "mean_per_class_recall": "The accuracy of each class, averaged over classes, so that every class has equal weight.",
    "mean_average_precision": "Average precision of the scores of each class, averaged over classes (mAP).",
    "intersection": "The proportion of images that are correct under both label sets.",
    "mc_acc": "Multiple-choice accuracy: the proportion of questions with the correct option, averaged over epochs.",
    "repeated_acc": "Top-1 accuracy, averaged over epochs that repeat the same requests.",
    "repeated_oop": "The proportion of answers outside of the prompt, averaged over epochs.",
    "oop": "The proportion of answers that are not a class of the prompt (out of prompt).",
    "oop_in": "The proportion of answers outside of the prompt that name a class by another name.",
    "oop_partial": "The proportion of answers outside of the prompt that contain a class name.",
    "oop_wrong": "The proportion of answers outside of the prompt that name something else.",
    "oop_abstain": "The proportion of answers outside of the prompt that decline to answer.",
    "oop_mapped": "The accuracy of answers outside of the prompt after they are mapped to the nearest class.",
    "unparsed": "The proportion of answers that could not be parsed; they count as wrong.",
    "truncated": "The proportion of answers that were cut off at the token limit; they count as wrong.",
    "answered": "The proportion of requests that ended without an error.",
    "acc": "Accuracy: the proportion of correct answers.",
    "acc_macro": "The accuracy of each species or class, averaged over them with equal weight.",
    "log_score": "Log score: the mean natural logarithm of the probability of the right class or name; 0 is perfect.",
    "target_brier": "Brier score of the right class or name: the mean of (1 - p)², p its probability; lower is better.",
    "answer_log_prob": "The mean natural logarithm of the probability that the model gives its answer; 0 is certain.",
    "ece": "Expected calibration error: the mean distance of confidence from accuracy, over bins; lower is better.",
    "f1": "F1: the harmonic mean of precision and recall of the answer yes.",
    "precision": "Precision: the proportion of answers yes that are correct.",
    "recall": "Recall: the proportion of present categories that are answered with yes.",
    "mcc": "Matthews correlation coefficient of yes and no: 1 is perfect, 0 is chance.",
    "yes_rate": "The proportion of answers yes.",
    "e_acc": "Accuracy of the first question of a progression: whether the category is in the image.",
    "c_acc": "Accuracy of the second question of a progression: how many objects there are.",
    "l_acc": "Accuracy of the third question of a progression: which of two categories has more objects.",
    "e_delta": "The change of the existence accuracy from ID to this set of pairs.",
    "case1": "The proportion of pairs in which an absent category has a higher score than the present one.",
    "case2": "The proportion of pairs whose present category has a probability below the threshold.",
    "flagged": "The proportion of pairs that the detector fails on, by either case.",
    "mmd2": "Squared maximum mean discrepancy: the distance between two distributions of images; 0 if they are equal.",
    "mmd2_tau": "The distance MMD² between random halves of one distribution, for comparison.",
    "mmd2_null": "The distance MMD² that random permutations reach, for comparison.",
    "mmd2_p": "The p-value of the permutation test that both distributions of images are equal.",
    "ig": "IG, information gain: the area under accuracy by information gain, as answers become more general, "
    "on the tree of species, genera and the root (species.tree=all: of all levels of the taxonomy).",
    "ig_correct_only": "Information gain to which only correct answers contribute.",
    "ig_depth": "Information gain measured by the depth of the answers in the taxonomy.",
    "ig_change": "The change of the information gain from all species to the species of the range.",
    "ua_a": "UA/A: the probability that an unanswerable image has a lower confidence than an answerable one; "
    "0.5 is chance.",
    "ua_a_change": "The change of UA/A from all species to the species of the range.",
    "abstained": "The proportion of images on which the model abstains, without answers that could not be parsed.",
    "abstained_at_95": "The proportion of images to abstain from for 95 % accuracy on the others.",
    "abstention": "The proportion of images that the model abstains from, averaged over the wordings of a prompt.",
    "abstention_sd": "The standard deviation of the proportion of abstentions between the wordings of a prompt.",
    "p_abstain": "The proportion of unanswerable images with this reason that the model abstains from.",
    "correct_reason": "The proportion of abstentions whose stated reason is the true one.",
    "cochran_q": "Cochran's Q: how much abstentions differ between the wordings of a prompt.",
    "cochran_p": "The p-value of Cochran's test that all wordings of a prompt lead to equally many abstentions.",
    "tree_acc": "Accuracy of the most specific name that is certain enough, by a threshold fitted on other images.",
    "tree_hm": "The harmonic mean of the accuracies in the taxonomy on answerable and unanswerable images.",
    "hm": "The harmonic mean of the accuracies on answerable and unanswerable images.",
    "accuracy_coverage_auc": "The area under accuracy by coverage: the mean accuracy of the most confident answers.",
    "brier": "Brier score: the mean squared distance of probabilities from the outcomes; lower is better.",
    "auc": "The area under accuracy by coverage: the mean accuracy of the most confident answers.",
    "aurc": "The area under risk by coverage: the mean error rate of the most confident answers; lower is better.",
    "auc_macro": "The area under accuracy by coverage, where accuracy is averaged over species.",
    "auc_balanced": "The area under accuracy by coverage with equal weight for every species.",
}  # fmt: skip

LABEL_SETS: Mapping[str, str] = {
    "ImGT": "The original ImageNet labels: one class per image.",
    "original": "The labels that the data set comes with: one class per image.",
    "ReGT": "The corrected ImageNet labels (reannotated ground truth): none, one or several classes per image.",
    "ReaL": "The reassessed ImageNet labels of Beyer et al. (2020): none, one or several classes per image.",
    "multilabel": "Several classes per image: every class that the image shows.",
    "OODBench": "The labels of OODBench: whether a category is in an image, and how many objects.",
    "all species": "Species names; the model chooses among all species.",
    "range": "Species names; the model chooses among the species that live where the image was taken.",
    "species": "Species names.",
    "observations": "The species and the reason for abstention that the observer of each bird gave.",
    "eligible": "Species names, over images with a list of the species that live there; the model chooses among all.",
    "free form": "Species names, compared with answers in free text.",
    "abstention": "Whether the image can be answered: to abstain from unanswerable images is correct.",
    "target": "The expected answer of each sample.",
}

SUBSETS: Mapping[str, str] = {
    WHOLE: "All samples: images, pairs or answers.",
    ANSWERABLE: "The answerable images, whose species can be determined.",
    UNANSWERABLE: "The unanswerable images, whose species cannot be determined.",
    "asked": "All requests.",
    categories.SINGLE_LABEL: "Images with a single label.",
    categories.SINGLE_LABEL_ORIGINAL: "Images with a single label that is the original one.",
    categories.SINGLE_LABEL_OTHER: "Images with a single label that is not the original one.",
    categories.MULTI_LABEL: "Images with several labels.",
    categories.MULTI_LABEL_ORIGINAL: "Images with several labels that include the original one.",
    categories.MULTI_LABEL_OTHER: "Images with several labels that do not include the original one.",
    categories.NO_LABEL: "Images without any correct label.",
    LABELLED: "Images with at least one label.",
    "ID": "In distribution: pairs of image and category that every detector finds.",
    "OOD-S": "Out of distribution, simple: pairs that some detectors fail on.",
    "OOD-H": "Out of distribution, hard: pairs that all detectors fail on.",
    "hard samples": "Pairs that a detector finds with the lowest scores.",
}  # fmt: skip

LEVELS: Mapping[str, str] = {
    "species": "The answer is compared at the level of the species.",
    "genus": "The answer is compared at the level of the genus.",
    "family": "The answer is compared at the level of the family.",
    "order": "The answer is compared at the level of the order.",
}

INTERVALS: Mapping[str, str] = {
    "wilson": "Wilson's 95 % interval of a proportion.",
    "clustered wilson": "Wilson's 95 % interval of a proportion whose samples share images.",
    "bootstrap": "95 % interval from resampling the images.",
    "stratified": "Wilson's 95 % interval of a mean over classes, at an effective number of images.",
    "effective wilson": "Wilson's 95 % interval at an effective number of images, which makes a plain proportion "
    "as uncertain as this value.",
    "chi-squared": "From the chi-squared distribution.",
    "student": "Student's 95 % interval of a mean over epochs or images; for a Brier score, with z² imaginary images "
    "in the variance.",
    "clustered student": "Student's 95 % interval of a mean over samples that share images.",
    "folded normal": "95 % interval of a calibration error, which cannot be below zero.",
    "permutation": "95 % interval of a p-value from random permutations.",
}


NUMBERS = frozenset(
    {"cochran_q", "cochran_p", "brier", "log_score", "target_brier", "answer_log_prob", "mmd2", "mmd2_tau", "mmd2_null"}
)  # not in percent


SHARE = re.compile(
    r"(^|_)(acc|accuracy|agreement|answered|auc|choice|coverage|correct|em|exact|f1|map|match|pass|precision"
    r"|proportion|rate|recall|share)(_|$)"
)  # what the name of another tool's metric, or of a user's, has if it is a share


def is_percent(name: str, *values: float | None, counted: bool = False) -> bool:
    """Return whether a metric is written in percent: all but p-values, statistics of tests and squared distances.

    A metric of another tool may be on any scale. It is in percent if its name says that it is a share, or if it counts
    samples (`counted`), as long as no value is beyond 1: a loss of 0.34 is no 34 percent.

    >>> is_percent("acc1", 0.5, None), is_percent("cochran_q"), is_percent("acc_p"), is_percent("exact_match", 99.0)
    (True, False, False, False)
    >>> is_percent("loss", 0.34), is_percent("exact_match", 0.34), is_percent("quality", 0.34, counted=True)
    (False, True, True)
    """
    is_fraction = all(value is None or not abs(value) > 1 for value in values)
    is_share = counted or bool(describe_metric(name)) or SHARE.search(name.casefold()) is not None
    return name not in NUMBERS and not name.endswith("_p") and is_fraction and is_share


def is_counted(method: str) -> bool:
    """Return whether an interval's method is one for a metric that counts samples.

    >>> is_counted("clustered wilson"), is_counted("student")
    (True, False)
    """
    return method.endswith("wilson") and not method.startswith("effective")


def describe_metric(name: str) -> str:
    """Return the sentence about a metric; "" for one that is not known.

    >>> describe_metric("acc1")
    'Top-1 accuracy: the proportion of images whose best class is among their labels.'
    >>> describe_metric("acc_delta")
    'The change from ID to this set of pairs of: Accuracy: the proportion of correct answers.'
    """
    if name in METRICS:
        return METRICS[name]
    base, _, ending = name.rpartition("_")
    if ending == "delta" and base in METRICS:
        return f"The change from ID to this set of pairs of: {METRICS[base]}"
    if ending == "p" and base in METRICS:
        return f"The p-value of the change from ID to this set of pairs of: {METRICS[base]}"
    stem = next((known for known in sorted(METRICS, key=len, reverse=True) if name.startswith(f"{known}_")), "")
    return f"With {name.removeprefix(f'{stem}_').replace('_', ' ')} as the criterion: {METRICS[stem]}" if stem else ""


def describe_label_set(name: str) -> str:
    """Return the sentence about a label set; "" for one that is not known, such as a file of labels."""
    parts = name.split("∩")
    if len(parts) > 1 and all(part in LABEL_SETS for part in parts):
        return f"Both label sets, {' and '.join(parts)}: an answer counts that is correct under each."
    return LABEL_SETS.get(name, "")


def describe_subset(metric: Metric) -> str:
    """Return the sentences about a metric's subset and level; "" if none is known.

    >>> describe_subset(Metric(name="acc", labels="", subset="answerable", level="genus", value=1, n=1, n_clusters=1,
    ...     ci=None, ci_method=""))[-49:]
    'The answer is compared at the level of the genus.'
    """
    return " ".join(filter(None, (SUBSETS.get(metric.subset, ""), LEVELS.get(metric.level, ""))))

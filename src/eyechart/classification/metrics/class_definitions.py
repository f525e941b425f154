"""The metrics of image classification, which this folder computes, and the label sets and subsets that they name."""

from math import inf

from eyechart.results.glossary import Glossary
from eyechart.results.metric_definitions import SHARE, MetricDefinition
from eyechart.results.records import LABELLED
from eyechart.statistics import categories

POSITIVE = "scores of a split of two classes, and --eye-positive"
FIXED = "scores of a split of two classes, --eye-positive and --eye-threshold-from"
DEFINITIONS = (
    MetricDefinition(
        "acc1",
        "Top-1 accuracy: the proportion of images whose best class is among their labels.",
        higher_is_better=True,
        range=SHARE,
        published_name="acc",
        is_main=True,
    ),
    MetricDefinition(
        "acc5",
        "Top-5 accuracy: the proportion of images with a label among the five best classes.",
        higher_is_better=True,
        range=SHARE,
        needs="several ranked answers of an image, or scores of five classes",
    ),
    MetricDefinition(
        "acc1_strict",
        "Top-1 accuracy if an answer counts only when it repeats a class name exactly.",
        higher_is_better=True,
        range=SHARE,
    ),
    MetricDefinition(
        "mean_per_class_recall",
        "The accuracy of each class, averaged over classes, so that every class has equal weight.",
        higher_is_better=True,
        range=SHARE,
        over_classes=True,
    ),
    MetricDefinition(
        "mean_average_precision",
        "Average precision of the scores of each class, averaged over classes (mAP).",
        higher_is_better=True,
        over_classes=True,
    ),
    MetricDefinition(
        "intersection", "The proportion of images that are correct under both label sets.", higher_is_better=True
    ),
    MetricDefinition(
        "mc_acc",
        "Multiple-choice accuracy: the proportion of questions with the correct option, averaged over epochs.",
        higher_is_better=True,
        range=SHARE,
        is_main=True,
        over_epochs=True,
    ),
    MetricDefinition(
        "repeated_acc",
        "Top-1 accuracy, averaged over epochs that repeat the same requests.",
        higher_is_better=True,
        range=SHARE,
        is_main=True,
        over_epochs=True,
    ),
    MetricDefinition(
        "repeated_oop",
        "The proportion of answers outside of the prompt, averaged over epochs.",
        higher_is_better=None,
        range=SHARE,
        over_epochs=True,
    ),
    MetricDefinition(
        "oop",
        "The proportion of answers that are not a class of the prompt (out of prompt).",
        higher_is_better=None,
        range=SHARE,
    ),
    MetricDefinition(
        "oop_in",
        "The proportion of answers outside of the prompt that name a class by another name.",
        higher_is_better=None,
        range=SHARE,
    ),
    MetricDefinition(
        "oop_partial",
        "The proportion of answers outside of the prompt that contain a class name.",
        higher_is_better=None,
        range=SHARE,
    ),
    MetricDefinition(
        "oop_wrong",
        "The proportion of answers outside of the prompt that name something else.",
        higher_is_better=None,
        range=SHARE,
    ),
    MetricDefinition(
        "oop_abstain",
        "The proportion of answers outside of the prompt that decline to answer.",
        higher_is_better=None,
        range=SHARE,
    ),
    MetricDefinition(
        "oop_mapped",
        "The accuracy of answers outside of the prompt after they are mapped to the nearest class.",
        higher_is_better=None,
        range=SHARE,
    ),
    MetricDefinition(
        "answer_log_prob",
        "The mean natural logarithm of the probability that the model gives its answer; 0 is certain.",
        higher_is_better=None,
        unit="number",
        range=(-inf, 0.0),
        is_common=True,
    ),
    MetricDefinition(
        "brier",
        "Brier score: the mean squared distance of probabilities from the outcomes; lower is better.",
        higher_is_better=False,
        unit="number",
        range=(0.0, 2.0),
        is_common=True,
        kind="score",
    ),
    MetricDefinition(
        "accuracy_coverage_auc",
        "The area under accuracy by coverage: the mean accuracy of the most confident answers.",
        higher_is_better=True,
        range=SHARE,
        is_common=True,
    ),
    MetricDefinition(
        "auroc",
        "The area under the ROC curve: how often an image of one of two classes has the higher score for it.",
        higher_is_better=True,
        range=SHARE,
        is_common=True,
        needs="scores of a split of two classes",
    ),
    MetricDefinition(
        "average_precision",
        "The mean, over the images of the positive class, of the precision at the score of each.",
        higher_is_better=True,
        range=SHARE,
        is_common=True,
        needs=POSITIVE,
    ),
    MetricDefinition(
        "sensitivity",
        "The proportion of images of the positive class that are found.",
        higher_is_better=True,
        range=SHARE,
        is_common=True,
        needs=POSITIVE,
    ),
    MetricDefinition(
        "specificity",
        "The proportion of images of the other class that are not taken for the positive one.",
        higher_is_better=True,
        range=SHARE,
        is_common=True,
        needs=POSITIVE,
    ),
    MetricDefinition(
        "sensitivity_at_95_specificity",
        "The largest sensitivity of a threshold whose specificity is at least 95 %.",
        higher_is_better=True,
        range=SHARE,
        needs=POSITIVE,
    ),
    MetricDefinition(
        "specificity_at_95_sensitivity",
        "The largest specificity of a threshold whose sensitivity is at least 95 %.",
        higher_is_better=True,
        range=SHARE,
        needs=POSITIVE,
    ),
    *(
        definition
        for target in ("specificity", "sensitivity")
        for definition in (
            MetricDefinition(
                f"threshold_for_95_{target}",
                f"The threshold that has a {target} of at least 95 % on the split of --eye-threshold-from.",
                higher_is_better=None,
                unit="number",
                range=(-inf, inf),
                needs=FIXED,
            ),
            *(
                MetricDefinition(
                    f"{name}_at_threshold_for_95_{target}",
                    f"The {name} at the threshold that has a {target} of at least 95 % on another split.",
                    higher_is_better=True,
                    range=SHARE,
                    needs=FIXED,
                )
                for name in ("sensitivity", "specificity")
            ),
        )
    ),
)

GLOSSARY = Glossary(
    {
        "ImGT": "The original ImageNet labels: one class per image.",
        "ReGT": "The corrected ImageNet labels (reannotated ground truth): none, one or several classes per image.",
        "ReaL": "The reassessed ImageNet labels of Beyer et al. (2020): none, one or several classes per image.",
    },
    {
        categories.SINGLE_LABEL: "Images with a single label.",
        categories.SINGLE_LABEL_ORIGINAL: "Images with a single label that is the original one.",
        categories.SINGLE_LABEL_OTHER: "Images with a single label that is not the original one.",
        categories.MULTI_LABEL: "Images with several labels.",
        categories.MULTI_LABEL_ORIGINAL: "Images with several labels that include the original one.",
        categories.MULTI_LABEL_OTHER: "Images with several labels that do not include the original one.",
        categories.NO_LABEL: "Images without any correct label.",
        LABELLED: "Images with at least one label.",
    },
)

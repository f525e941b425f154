"""The metrics of birds, which this folder and the protocols compute; their label sets, subsets and levels."""

from math import inf

from eyechart.results.glossary import Glossary
from eyechart.results.metric_definitions import SHARE, MetricDefinition
from eyechart.results.records import ANSWERABLE, UNANSWERABLE

DEFINITIONS = (
    MetricDefinition(
        "acc_macro",
        "The accuracy of each species or class, averaged over them with equal weight.",
        higher_is_better=None,
        range=SHARE,
        over_classes=True,
    ),
    MetricDefinition(
        "ig",
        "IG, information gain: the area under accuracy by information gain, as answers become more general, "
        "on the tree of species, genera and the root (species.tree=all: of all levels of the taxonomy).",
        higher_is_better=True,
    ),
    MetricDefinition(
        "ig_correct_only", "Information gain to which only correct answers contribute.", higher_is_better=None
    ),
    MetricDefinition(
        "ig_depth", "Information gain measured by the depth of the answers in the taxonomy.", higher_is_better=None
    ),
    MetricDefinition(
        "ig_change",
        "The change of the information gain from all species to the species of the range.",
        higher_is_better=None,
    ),
    MetricDefinition(
        "ua_a",
        "UA/A: the probability that an unanswerable image has a lower confidence than an answerable one; "
        "0.5 is chance.",
        higher_is_better=True,
        range=SHARE,
        is_common=True,
    ),
    MetricDefinition(
        "ua_a_change", "The change of UA/A from all species to the species of the range.", higher_is_better=None
    ),
    MetricDefinition(
        "abstained",
        "The proportion of images on which the model abstains, without answers that could not be parsed.",
        higher_is_better=None,
        range=SHARE,
    ),
    MetricDefinition(
        "abstained_at_95",
        "The proportion of images to abstain from for 95 % accuracy on the others.",
        higher_is_better=None,
        range=SHARE,
        is_common=True,
    ),
    MetricDefinition(
        "abstention",
        "The proportion of images that the model abstains from, averaged over the wordings of a prompt.",
        higher_is_better=None,
        range=SHARE,
    ),
    MetricDefinition(
        "abstention_sd",
        "The standard deviation of the proportion of abstentions between the wordings of a prompt.",
        higher_is_better=None,
    ),
    MetricDefinition(
        "p_abstain",
        "The proportion of unanswerable images with this reason that the model abstains from.",
        higher_is_better=None,
        range=SHARE,
        is_common=True,
    ),
    MetricDefinition(
        "correct_reason",
        "The proportion of abstentions whose stated reason is the true one.",
        higher_is_better=True,
        range=SHARE,
    ),
    MetricDefinition(
        "cochran_q",
        "Cochran's Q: how much abstentions differ between the wordings of a prompt.",
        higher_is_better=None,
        unit="number",
        range=(0.0, inf),
        is_common=True,
    ),
    MetricDefinition(
        "cochran_p",
        "The p-value of Cochran's test that all wordings of a prompt lead to equally many abstentions.",
        higher_is_better=None,
        unit="number",
        range=SHARE,
    ),
    MetricDefinition(
        "tree_acc",
        "Accuracy of the most specific name that is certain enough, by a threshold fitted on other images.",
        higher_is_better=True,
        range=SHARE,
    ),
    MetricDefinition(
        "tree_hm",
        "The harmonic mean of the accuracies in the taxonomy on answerable and unanswerable images.",
        higher_is_better=True,
        range=SHARE,
        is_common=True,
    ),
    MetricDefinition(
        "hm",
        "The harmonic mean of the accuracies on answerable and unanswerable images.",
        higher_is_better=True,
        range=SHARE,
        is_common=True,
    ),
    MetricDefinition(
        "auc",
        "The area under accuracy by coverage: the mean accuracy of the most confident answers.",
        higher_is_better=True,
        range=SHARE,
        is_common=True,
    ),
    MetricDefinition(
        "aurc",
        "The area under risk by coverage: the mean error rate of the most confident answers; lower is better.",
        higher_is_better=False,
        range=SHARE,
        is_common=True,
    ),
    MetricDefinition(
        "auc_macro",
        "The area under accuracy by coverage, where accuracy is averaged over species.",
        higher_is_better=True,
        range=SHARE,
        is_common=True,
        over_classes=True,
    ),
    MetricDefinition(
        "auc_balanced",
        "The area under accuracy by coverage with equal weight for every species.",
        higher_is_better=None,
        range=SHARE,
        is_common=True,
        over_classes=True,
    ),
)

GLOSSARY = Glossary(
    {
        "all species": "Species names; the model chooses among all species.",
        "range": "Species names; the model chooses among the species that live where the image was taken.",
        "species": "Species names.",
        "observations": "The species and the reason for abstention that the observer of each bird gave.",
        "eligible": "Species names, over images with a list of the species that live there; "
        "the model chooses among all.",
        "free form": "Species names, compared with answers in free text.",
        "abstention": "Whether the image can be answered: to abstain from unanswerable images is correct.",
    },
    {
        ANSWERABLE: "The answerable images, whose species can be determined.",
        UNANSWERABLE: "The unanswerable images, whose species cannot be determined.",
    },
    {
        "species": "The answer is compared at the level of the species.",
        "genus": "The answer is compared at the level of the genus.",
        "family": "The answer is compared at the level of the family.",
        "order": "The answer is compared at the level of the order.",
    },
)

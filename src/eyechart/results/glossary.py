"""One plain sentence for each label set, subset, level and interval method, and the sentences of metrics by name.

A package, eyechart's own studies among them, adds the names that its metrics have with an entry point:

    [project.entry-points."eyechart.glossary"]
    mypackage = "mypackage.metrics:GLOSSARY"
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

from eyechart.errors import SpecError
from eyechart.files.installed import find_entry_points, load_entry_point
from eyechart.results.metric_definitions import metric_definitions
from eyechart.results.records import WHOLE, Metric

GROUP = "eyechart.glossary"


@dataclass(frozen=True)
class Glossary:
    """One sentence for each label set, subset and level of a taxonomy that the metrics of a package name."""

    label_sets: Mapping[str, str] = field(default_factory=dict)
    subsets: Mapping[str, str] = field(default_factory=dict)
    levels: Mapping[str, str] = field(default_factory=dict)


SHARED = Glossary(
    {
        "original": "The labels that the data set comes with: one class per image, or one that counts as equivalent.",
        "multilabel": "Several classes per image: every class that the image shows.",
        "target": "The expected answer of each sample.",
    },
    {WHOLE: "All samples: images, pairs or answers.", "asked": "All requests."},
)

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
    "delong": "95 % interval of an area under the ROC curve, from DeLong's variance on the scale of log odds.",
    "clustered delong": "95 % interval of an area under the ROC curve whose samples are in clusters, such as patients.",
    "permutation": "95 % interval of a p-value from random permutations.",
}


@cache
def glossary() -> Glossary:
    """Return the sentences of all installed packages, eyechart's first.

    Raises:
        SpecError: If two packages explain one name in two ways, or if an entry point names something else.

    >>> glossary().levels["genus"]
    'The answer is compared at the level of the genus.'
    """
    kinds: dict[str, dict[str, str]] = {"label_sets": {}, "subsets": {}, "levels": {}}
    origins: dict[tuple[str, str], str] = {}
    parts = [("eyechart", SHARED), *((point.value, load_entry_point(point)) for point in find_entry_points(GROUP))]
    for source, part in parts:
        if not isinstance(part, Glossary):
            raise SpecError(f"{GROUP}: {source} holds a {type(part).__name__}. Expected a Glossary.")
        for kind, sentences in kinds.items():
            for name, text in getattr(part, kind).items():
                if sentences.setdefault(name, text) != text:
                    raise SpecError(
                        f"The name '{name}' has two sentences (entry points of {GROUP}): one of {origins[kind, name]}, "
                        f"one of {source}. Uninstall one of the packages, or rename what its metrics call '{name}'."
                    )
                origins.setdefault((kind, name), source)
    return Glossary(**kinds)


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
    definition = metric_definitions().get(name)
    is_number = name.endswith("_p") or (definition is not None and definition.unit == "number")
    return not is_number and is_fraction and is_share


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
    known = metric_definitions()
    if name in known:
        return known[name].summary
    base, _, ending = name.rpartition("_")
    if ending == "delta" and base in known:
        return f"The change from ID to this set of pairs of: {known[base].summary}"
    if ending == "p" and base in known:
        return f"The p-value of the change from ID to this set of pairs of: {known[base].summary}"
    stem = max((stem for stem in known if name.startswith(f"{stem}_")), key=len, default="")
    criterion = name.removeprefix(f"{stem}_").replace("_", " ")
    return f"With {criterion} as the criterion: {known[stem].summary}" if stem else ""


def describe_label_set(name: str) -> str:
    """Return the sentence about a label set; "" for one that is not known, such as a file of labels."""
    known, parts = glossary().label_sets, name.split("∩")
    if len(parts) > 1 and all(part in known for part in parts):
        return f"Both label sets, {' and '.join(parts)}: an answer counts that is correct under each."
    return known.get(name, "")


def describe_subset(metric: Metric) -> str:
    """Return the sentences about a metric's subset and level; "" if none is known.

    >>> describe_subset(Metric(name="acc", labels="", subset="answerable", level="genus", value=1, n=1, n_clusters=1,
    ...     ci=None, ci_method=""))[-49:]
    'The answer is compared at the level of the genus.'
    """
    known = glossary()
    return " ".join(filter(None, (known.subsets.get(metric.subset, ""), known.levels.get(metric.level, ""))))

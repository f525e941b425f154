"""Map the outputs of a classifier to the classes of a split: by position, by synset or by name.

The synsets of ImageNet heads are in a data file of timm, which is read without importing timm.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from eyechart.classification.answers.class_predictions import ClassPredictions, Targets, make_predictions
from eyechart.classification.metrics.binary_estimates import binary_scores
from eyechart.classification.metrics.class_estimates import (
    CORRECTNESS,
    confidence,
    label_agreement,
    mean_average_precision,
    mean_per_class_recall,
    proper_scores,
    top1,
    top5,
)
from eyechart.data.dataset.dataset import Dataset
from eyechart.data.imagenet.classes import (
    CLASSES,
    classes_by_name,
    has_imagenet_classes,
    normalise_name,
    synset_classes,
)
from eyechart.errors import ModelError
from eyechart.files.installed import packaged_file
from eyechart.inference.requests.row_requests import Classify
from eyechart.inference.runner.runner import Runner
from eyechart.inference.store.arrays import all_failed
from eyechart.models.types import Classifier, Floats, Head
from eyechart.protocol.base import Example, Protocol
from eyechart.protocol.context import Context

# timm's lists of synsets by the number of outputs, as in its ImageNetInfo
LISTS: Mapping[int, str] = {
    1000: "imagenet",
    10450: "imagenet21k_miil_w21",
    11221: "imagenet21k_miil",
    11821: "imagenet12k",
    21841: "imagenet22k",
    21842: "imagenet22k_ms",
    21843: "imagenet21k_goog",
}
_ENOUGH = 0.9  # of a split's classes: ImageNet-21k and its like miss up to nine of ImageNet-1k's
MAX_LISTED = 5
NONE = -1


@dataclass(frozen=True)
class _HeadColumns:
    """The output (classes,) of each class, -1 if the head has none, and how it is mapped, "" by position."""

    indices: NDArray[np.int64]
    mapping: str = ""
    variant: Mapping[str, str] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "variant", {"head": self.mapping} if self.mapping else {})

    def scores(self, logits: Floats) -> Floats:
        """Return the logits (n, classes) of the split's classes out of (n, outputs); a class without one has -inf."""
        if not self.mapping:
            return logits
        selected = np.asarray(logits)[:, np.maximum(self.indices, 0)].astype(np.float32)
        selected[:, self.indices == NONE] = -np.inf
        selected[np.isnan(logits).any(axis=1)] = np.nan
        return selected


def _head_columns(head: Head, dataset: Dataset) -> _HeadColumns:
    """Return the outputs of a head for the classes of a split.

    Raises ModelError if the classes cannot be found by the names of the outputs, or if their number differs and they
    cannot be mapped to ImageNet's.
    """
    if head.names and dataset.names and not head.imagenet:
        return _columns_by_name(head, dataset)
    by_position = _HeadColumns(np.arange(dataset.classes, dtype=np.int64))
    if head.outputs == dataset.classes:
        imagenets = head.imagenet and head.outputs in LISTS
        if not imagenets or not dataset.names or (head.outputs == CLASSES and has_imagenet_classes(dataset)):
            return by_position
    if head.outputs not in LISTS:
        raise ModelError(_refusal(head, dataset, f"No ImageNet head has so many outputs ({_widths()})"))
    wanted, by = _synsets_of(dataset, head.outputs)
    offered = dataset.subset or range(dataset.classes)
    lost = [index for index in offered if not wanted[index]]
    if lost:
        named = [dataset.names[index] if dataset.names else f"class {index}" for index in lost]
        shown = ", ".join(named[:MAX_LISTED]) + (
            f" and {len(lost) - MAX_LISTED} more" if len(lost) > MAX_LISTED else ""
        )
        raise ModelError(_refusal(head, dataset, f"{len(lost)} classes have no single name or synset there: {shown}"))
    columns = {synset: index for index, synset in enumerate(_synsets(head.outputs))}
    indices = np.array([columns.get(synset, NONE) for synset in wanted], np.int64)
    chosen = indices[list(offered)]
    has = int((chosen != NONE).sum())
    if len({*chosen[chosen != NONE].tolist()}) < has or has < _ENOUGH * len(chosen):
        raise ModelError(_refusal(head, dataset, f"{has} of {len(chosen)} classes have an output of their own"))
    return _HeadColumns(
        indices, f"{LISTS[head.outputs]} ({head.outputs} outputs), {has} of {len(chosen)} classes by {by}"
    )


def _columns_by_name(head: Head, dataset: Dataset) -> _HeadColumns:
    """Return the outputs that have the names of a split's classes; a name may list several, as "tench, Tinca tinca"."""
    outputs: dict[str, set[int]] = {}
    for index, name in enumerate(head.names):
        for part in {name, *name.split(",")}:
            outputs.setdefault(normalise_name(part), set()).add(index)
    found = [outputs.get(normalise_name(name), set()) for name in dataset.names]
    indices = np.array([min(named) if len(named) == 1 else NONE for named in found], np.int64)
    offered = [*(dataset.subset or range(dataset.classes))]
    lost = [dataset.names[index] for index in offered if indices[index] == NONE]
    if lost or len({*indices[offered].tolist()}) < len(offered):
        shown = ", ".join(lost[:MAX_LISTED] or ["two classes have one output"])
        raise ModelError(
            f"The outputs of the model have names, and the classes of {dataset.benchmark}/{dataset.split} are not all "
            f"among them: {shown}. The model's first names are {', '.join(head.names[:MAX_LISTED])}. Name the classes "
            "of the split as the model does. If the names are ImageNet's in its order, write imagenet=true."
            f"{_describe_classes(dataset)}"
        )
    if head.outputs == dataset.classes and np.array_equal(indices, np.arange(dataset.classes)):
        return _HeadColumns(indices)
    return _HeadColumns(indices, f"{len(offered)} of {head.outputs} outputs by name")


def _refusal(head: Head, dataset: Dataset, why: str) -> str:
    return (
        f"The model answers over {head.outputs} classes, but {dataset.benchmark}/{dataset.split} has "
        f"{dataset.classes}, and they cannot be found among the model's. {why}. Name the split's classes (folders, or "
        "classnames.txt) by synsets or by ImageNet's names. Or use a model with the split's own vocabulary, or one "
        f"that compares with texts, such as open_clip[…]. Weights of timm with {dataset.classes} outputs need "
        f"num_classes={dataset.classes} in the specification.{_describe_classes(dataset)}"
    )


def _describe_classes(dataset: Dataset) -> str:
    """Return a sentence with the first classes of a split, where a folder may be none; "" without names."""
    shown = ", ".join(dataset.names[:MAX_LISTED]) + (" …" if len(dataset.names) > MAX_LISTED else "")
    return f" The split's classes are {shown}." if dataset.names else ""


def _widths() -> str:
    return ", ".join(map(str, LISTS))


@cache
def _synsets(outputs: int) -> tuple[str, ...]:
    if outputs == CLASSES:
        return tuple(synset_classes())  # so that a file with ImageNet's outputs needs no timm
    return tuple(packaged_file("timm", "data", "_info", f"{LISTS[outputs]}_synsets.txt").read_text("utf-8").split())


@cache
def _lemmas(outputs: int) -> Mapping[str, str]:
    """Return the synset of every WordNet name that belongs to one synset of a head only."""
    lines = packaged_file("timm", "data", "_info", "imagenet_synset_to_lemma.txt").read_text("utf-8").splitlines()
    synsets_by_name: dict[str, set[str]] = {}
    there = {*_synsets(outputs)}
    for synset, names in (line.split("\t", 1) for line in lines):
        for name in names.split(",") if synset in there else ():
            synsets_by_name.setdefault(normalise_name(name), set()).add(synset)
    return {name: min(synsets) for name, synsets in synsets_by_name.items() if len(synsets) == 1}


def _synsets_of(dataset: Dataset, outputs: int) -> tuple[Sequence[str], str]:
    """Return the synset of each class of a split, "" if unknown, and whether it is known by synset or name."""
    imagenet = list(synset_classes())
    if not dataset.names:
        known = has_imagenet_classes(dataset)
        return [imagenet[index] if known else "" for index in range(dataset.classes)], "synset"
    if has_imagenet_classes(dataset):
        return imagenet, "name"
    synsets = [_synset_of(name, imagenet, outputs) for name in dataset.names]
    own = sum(name in _synsets(outputs) for name in dataset.names)
    return synsets, "synset" if own == len(synsets) else "name"


def _synset_of(name: str, imagenet: Sequence[str], outputs: int) -> str:
    if name in _synsets(outputs):
        return name
    known = classes_by_name().get(normalise_name(name), frozenset())
    if len(known) == 1:
        return imagenet[min(known)]
    return "" if known or outputs == CLASSES else _lemmas(outputs).get(normalise_name(name), "")


class Supervised(Protocol[ClassPredictions]):
    """A classifier predicts classes of its own vocabulary, which are mapped to the classes of the split."""

    name = "supervised"
    example = Example("imagenet/sample/timm[tf_efficientnet_lite0]", ("acc1 all", "ece all"))
    summary = "A classifier that was trained on these classes; the class with the highest score counts."
    order = 8
    task_type = "supervised_classification"
    score_name = "logit"
    requires = ("classifier",)
    benchmarks = ("imagenet", "*")
    metrics = (
        top1,
        top5,
        mean_per_class_recall,
        mean_average_precision,
        confidence,
        label_agreement,
        proper_scores,
        binary_scores,
    )
    steps = CORRECTNESS

    def predict(self, context: Context) -> ClassPredictions:
        """Classify every image."""
        predictions = supervised(context.runner, context.classifier, context.dataset)
        return replace(predictions, targets=Targets.from_context(context), calibrated=True)


def supervised(runner: Runner, model: Classifier, dataset: Dataset) -> ClassPredictions:
    """Return the logits of the split's classes. Raises ModelError for an unsuitable head before inference."""
    head = model.head
    if head:
        _head_columns(head, dataset)

    def check_width(width: int) -> None:
        if not head:
            _head_columns(Head(width), dataset)

    logits = runner.run(Classify(), model, dataset, check_width)
    if all_failed(logits):
        return make_predictions(dataset, logits.values, logits, {})
    columns = _head_columns(head or Head(logits.values.shape[1]), dataset)
    return make_predictions(dataset, columns.scores(logits.values), logits, {**columns.variant})

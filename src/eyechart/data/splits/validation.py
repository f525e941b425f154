"""Identify the ILSVRC validation images by file name, and add the ReaL labels."""

from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from eyechart.data.dataset.columns import text_array
from eyechart.data.dataset.dataset import Dataset, build_label_set
from eyechart.data.imagenet.classes import CLASSES, VAL_START, has_imagenet_classes, val_file, val_labels, val_order
from eyechart.data.labels.label_files import packaged_real_labels
from eyechart.errors import DataError

TOLERATED = 0.5  # the share of validation files that labels of one's own may correct


def identify_validation_images(dataset: Dataset) -> Dataset:
    """Return imagenet/val with ILSVRC file names, from the files or the order of labels, and with the ReaL labels.

    Shards have no file names; their labels must be those of all 50,000 images in the order of the files or of the
    synset folders. In any other order the images cannot be identified, and labels by file name cannot be aligned. ReaL
    ships with timm and is omitted if timm is not installed.
    """
    named = _with_file_names(dataset)
    if named is None or find_spec("timm") is None:
        return named or dataset
    real = packaged_real_labels()
    labels = [*map(real.labels.get, named.columns.values("file"))]
    truth = build_label_set("ReaL", named.index, labels, "exclude", real.source)
    return replace(named, label_sets={**named.label_sets, truth.name: truth})


def _with_file_names(dataset: Dataset) -> Dataset | None:
    columns = dataset.columns
    if all(val_file(file) == file for file in columns.values("file")):
        return dataset
    order = val_order([*columns.values("label")])
    return None if order is None else replace(dataset, index=columns.replace(file=text_array(order)))


def check_validation_labels(dataset: Dataset, location: Path | str, *, all_equal: bool = False) -> None:
    """Raise DataError if ILSVRC validation files have labels of another order of ImageNet's classes.

    Such are the numbers of ILSVRC's devkit. Labels may be corrected: only those of most files must be the known ones,
    or those of all files if `all_equal`.
    """
    if dataset.classes != CLASSES or not (has_imagenet_classes(dataset) or all(map(str.isdecimal, dataset.names))):
        return
    labels, names = dataset.columns.arrays["label"], zip(*map(dataset.columns.values, ("file", "key")), strict=True)
    named = [
        (row, found)
        for row, (file, key) in enumerate(names)
        if (VAL_START in file or VAL_START in key)  # as in few data sets
        and labels[row] >= 0
        and (found := val_file(file) or val_file(f"{key}.JPEG"))
    ]
    wrong = [(row, file) for row, file in named if labels[row] != val_labels()[file]]
    if not wrong or (len(wrong) <= TOLERATED * len(named) and not all_equal):
        return
    row, file = dataset.index[wrong[0][0]], wrong[0][1]
    raise DataError(
        f"{location}: {len(wrong):,} of the {len(named):,} ILSVRC validation files have a label that is not theirs, "
        f"the first {row.key} with {row.label}; {file} is of class {val_labels()[file]}. The numbers are of another "
        "order than that of the synsets, such as the one of ILSVRC's devkit: sort the files into folders of their "
        "synsets, or put them all into one folder, since their labels are known by name."
    )

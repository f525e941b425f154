"""Identify the ILSVRC validation images by file name, and add the ReaL labels."""

from dataclasses import replace
from importlib.util import find_spec

from eyechart.data.dataset import Dataset
from eyechart.data.imagenet import val_file, val_order
from eyechart.data.label_files import packaged_real_labels
from eyechart.data.labels import build_label_set
from eyechart.data.rows import Row


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
    labels = [real.labels.get(row.file) for row in named.index]
    truth = build_label_set("ReaL", named.index, labels, "exclude", real.source)
    return replace(named, label_sets={**named.label_sets, truth.name: truth})


def _with_file_names(dataset: Dataset) -> Dataset | None:
    if all(val_file(row.file) == row.file for row in dataset.index):
        return dataset
    order = val_order([row.label for row in dataset.index])
    if order is None:
        return None
    rows = zip(dataset.index, order, strict=True)
    return replace(dataset, index=tuple(Row(row.key, file, row.sha256, row.label) for row, file in rows))

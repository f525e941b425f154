"""The packaged ImageNet sample: photographs and clip art under free licences, labelled by hand.

Subsets: `exact`, where a class, read as its WordNet synset, holds; `none`, where no class is shown; `near`, where no
class holds strictly and `label` is the nearest; `drawing`, no photographs. A folder of pictures may be absent.
"""

import csv
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from io import StringIO
from pathlib import Path

from eyechart.data.dataset.dataset import Dataset, Row, build_label_set, build_original_labels
from eyechart.data.imagenet.classes import CLASSES
from eyechart.data.index.file_index import whole_file_source
from eyechart.data.splits.registry import PackagedSample
from eyechart.errors import DataError
from eyechart.samples.files import REMEDY, packaged, read

SPLITS: Mapping[str, tuple[str, ...]] = {
    "sample": ("exact", "none"),
    "sample-near": ("near",),
    "sample-drawing": ("drawing",),
}


@dataclass(frozen=True)
class _SampleImage:
    """One row of a manifest: path, labels, subset, author and licence of an image."""

    path: Path
    row: Row
    labels: tuple[int, ...]
    subset: str
    author: str
    licence: str


def packaged_root() -> Path:
    """Return the folder of the packaged ImageNet sample."""
    return packaged("imagenet")


def open_sample(split: str, root: Path | None = None) -> Dataset:
    """Open a split of the packaged sample and check every image; `root` is another copy of it."""
    if split not in SPLITS:
        raise DataError(f"The packaged ImageNet sample has no split '{split}'; it has {', '.join(SPLITS)}.")
    root = root or packaged_root()
    selected = [picture for picture in _read_images(root) if picture.subset in SPLITS[split]]
    if not selected:
        raise DataError(f"{root} has no picture of the split '{split}', whose folder was left out. {REMEDY}")
    index = tuple(picture.row for picture in selected)
    labels, source = [(row.label,) if row.label >= 0 else () for row in index], f"packaged sample imagenet/{split}"
    truths = (
        build_original_labels("imagenet", index, labels, source),
        build_label_set("multilabel", index, [picture.labels for picture in selected], "correct", source),
    )
    return Dataset(
        benchmark="imagenet",
        split=split,
        index=index,
        source=whole_file_source((picture.row, picture.path) for picture in selected),
        classes=CLASSES,
        expected=len(selected),
        label_sets={truth.name: truth for truth in truths},
    )


def _read_images(root: Path) -> list[_SampleImage]:
    """Return the images of the existing folders; raises DataError for missing or changed images and wrong counts."""
    return [picture for folder, counts in _folders(root).items() for picture in _folder(root / folder, counts)]


def splits(root: Path | None = None) -> tuple[str, ...]:
    """Return the splits with images in the existing folders."""
    there = {subset for counts in _folders(root or packaged_root()).values() for subset in counts}
    return tuple(split for split, subsets in SPLITS.items() if there & {*subsets})


def _folders(root: Path) -> dict[str, Mapping[str, int]]:
    counts: dict[str, Mapping[str, int]] = json.loads(read(root / "counts.json"))
    present = {folder: counts[folder] for folder in counts if (root / folder).is_dir()}
    if not present:
        raise DataError(f"{root} has none of the folders {', '.join(counts)}. {REMEDY}")
    return present


def _folder(folder: Path, counts: Mapping[str, int]) -> list[_SampleImage]:
    manifest = folder / "manifest.csv"
    lines = csv.DictReader(StringIO(read(manifest).decode(), newline=""))
    images = [_picture(folder, line) for line in lines]
    if (subsets := Counter(picture.subset for picture in images)) != counts:
        raise DataError(f"{manifest} lists {dict(subsets)} pictures, expected {dict(counts)}. {REMEDY}")
    return images


def _picture(folder: Path, line: Mapping[str, str]) -> _SampleImage:
    path = folder / line["file"]
    if (digest := sha256(read(path)).hexdigest()) != line["sha256"]:
        raise DataError(f"{path} has changed: its sha256 is {digest}, expected {line['sha256']}. {REMEDY}")
    row = Row(f"{folder.name}/{path.stem}", path.name, digest, int(line["label"] or -1))
    labels = tuple(int(label) for label in line["labels"].split(";") if label)
    return _SampleImage(path, row, labels, line["subset"], line["author"], line["licence"])


IMAGENET = PackagedSample(
    "Photographs and drawings of ImageNet's classes.", splits, open_sample, ("timm[tf_efficientnet_lite0]", "conse[]")
)

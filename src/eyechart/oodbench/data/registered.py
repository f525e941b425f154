"""OODBench as a registered data set: its packaged sample, and folders of the user in the formats of its data sets.

The packaged splits are named `sample-FORMAT`; the folder of a format may be missing.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from eyechart.data.dataset.dataset import Dataset
from eyechart.data.splits.registry import SplitRef
from eyechart.errors import DataError
from eyechart.oodbench.data.annotated_splits import BENCHMARK, FORMATS, annotated_splits, open_annotated
from eyechart.samples.files import REMEDY, checksums, packaged, read_packaged, read_table

PREFIX = "sample-"


def packaged_root() -> Path:
    """Return the folder of the packaged formats."""
    return packaged(BENCHMARK)


def splits(root: Path | None = None) -> tuple[str, ...]:
    """Return the packaged splits, one for each format whose folder exists."""
    return tuple(f"{PREFIX}{kind}" for kind in FORMATS if ((root or packaged_root()) / kind).is_dir())


def open_oodbench(split: str, root: Path | None = None) -> Dataset:
    """Open a packaged split and verify the checksums of its files; `root` is the folder of another copy.

    Raises DataError for an unknown split, missing or changed files, and additional images.
    """
    root = root or packaged_root()
    kind = next((kind for kind in FORMATS if f"{PREFIX}{kind}" == split), None)
    if kind is None or split not in splits(root):
        there = ", ".join(splits(root)) or "none"
        raise DataError(f"The packaged sample of OODBench has no split '{split}'; it has {there}. {REMEDY}")
    for name in checksums(root / kind):
        read_packaged(root / kind, name)
    expected = len(read_table(root / kind, "manifest.csv"))
    dataset = open_annotated(kind, root / kind, BENCHMARK, split)
    if len(dataset.index) != expected:
        raise DataError(f"{root / kind} has {len(dataset.index)} annotated pictures, expected {expected}. {REMEDY}")
    return replace(dataset, expected=expected)


class _OODBench:
    """Pictures with annotated objects."""

    summary = "Toy scenes with annotated objects, in the format of the data set."
    expected = "COCO, LVIS, nuScenes or Cityscapes below ROOT/oodbench"
    default_models = ("open_clip[toybox-clip]", "open_clip[toybox-clip-b]", "hf[toybox-mllm]")

    @property
    def splits(self) -> tuple[str, ...]:
        """The packaged splits."""
        return splits()

    def dataset(self, split: str) -> Dataset:
        """Open a packaged split."""
        return open_oodbench(split)

    def recognises(self, folder: Path, root: Path) -> Sequence[SplitRef]:
        """Return the splits in a folder of an annotated data set."""
        return annotated_splits(folder, root)

    def open_folder(self, ref: SplitRef, cache: Path | None) -> Dataset:
        """Open a split of the user."""
        return open_annotated(ref.layout, Path(ref.location), ref.benchmark, ref.split, part=ref.part, cache=cache)


OODBENCH = _OODBench()

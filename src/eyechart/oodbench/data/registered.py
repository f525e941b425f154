"""OODBench as a registered data set: its packaged sample, and folders of the user in the formats of its data sets."""

from collections.abc import Sequence
from pathlib import Path

from eyechart.data.dataset.dataset import Dataset
from eyechart.data.splits.registry import SplitRef
from eyechart.oodbench.data.annotated_splits import annotated_splits, open_annotated
from eyechart.oodbench.data.packaged_sample import open_oodbench, splits


class _OODBench:
    """Pictures with annotated objects."""

    summary = "Toy scenes with annotated objects, in the format of the data set."
    expected = "COCO, LVIS, nuScenes or Cityscapes below ROOT/oodbench"

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

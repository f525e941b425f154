"""RealBirdID as a registered data set: its packaged samples, and folders of the user with tables of birds."""

from collections.abc import Sequence
from pathlib import Path

from eyechart.data.dataset.dataset import Dataset
from eyechart.data.splits.registry import SplitRef
from eyechart.realbirdid.data.bird_folder import TABLE_NAMES, open_birds
from eyechart.realbirdid.data.packaged_sample import BENCHMARK, open_realbirdid, splits


class _RealBirdID:
    """Observations of birds."""

    summary = "Observations of birds; some birds cannot be identified."
    expected = " or ".join(TABLE_NAMES)

    @property
    def splits(self) -> tuple[str, ...]:
        """The packaged splits."""
        return splits()

    def dataset(self, split: str) -> Dataset:
        """Open a packaged split."""
        return open_realbirdid(split)

    def recognises(self, folder: Path, root: Path) -> Sequence[SplitRef]:
        """Return the split of a folder with a table of birds, below a folder of a benchmark with the name of that."""
        if not any((folder / name).is_file() for name in TABLE_NAMES):
            return ()
        benchmark = BENCHMARK if root in (folder, folder.parent) else folder.parent.name
        return (SplitRef(benchmark, folder.resolve().name, "birds", str(folder)),)

    def open_folder(self, ref: SplitRef, cache: Path | None) -> Dataset:
        """Open a split of the user."""
        return open_birds(Path(ref.location), ref.benchmark, ref.split, cache=cache)


REALBIRDID = _RealBirdID()

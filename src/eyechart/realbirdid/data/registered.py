"""RealBirdID as a registered data set: its packaged samples, and folders of the user with tables of birds.

The packaged samples are photographs of birds, and drawn birds. The folder of a sample, and a folder of photographs in
it, may be missing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from eyechart.data.dataset.dataset import Dataset
from eyechart.data.splits.registry import SplitRef
from eyechart.data.tables import Table
from eyechart.errors import DataError
from eyechart.realbirdid.data.bird_folder import TABLE_NAMES, open_birds, open_table
from eyechart.realbirdid.data.observation_table import IMAGE, read_birds
from eyechart.samples.files import REMEDY, checksums, packaged, read_packaged

BENCHMARK = "realbirdid"
SPLITS = ("sample", "sample-drawn")


def packaged_root() -> Path:
    """Return the folder of the packaged birds."""
    return packaged(BENCHMARK)


def splits(root: Path | None = None) -> tuple[str, ...]:
    """Return the packaged splits whose folders exist."""
    return tuple(split for split in SPLITS if ((root or packaged_root()) / split).is_dir())


def open_realbirdid(split: str, root: Path | None = None) -> Dataset:
    """Open a packaged split and check every table and image; `root` is another copy of it.

    Raises DataError for an unknown split, and for files that are missing or have changed.
    """
    root = root or packaged_root()
    if split not in splits(root):
        there = ", ".join(splits(root)) or "none"
        raise DataError(f"The packaged sample of RealBirdID has no split '{split}'; it has {there}. {REMEDY}")
    folder = root / split
    for name in checksums(folder):
        if _is_present(folder, name):
            read_packaged(folder, name)
    table = _without_absent(folder, read_birds(folder))
    return replace(open_table(folder, BENCHMARK, split, table), expected=len(table))


def _is_present(folder: Path, name: str) -> bool:
    """Return whether the folder of a file exists."""
    return (folder / name).parent.is_dir()


def _without_absent(folder: Path, table: Table) -> Table:
    """Return the table without the rows whose images are in a missing folder."""
    kept = [row for row in range(len(table)) if _is_present(folder, table[IMAGE][row])]
    if not kept:
        raise DataError(f"{folder} has none of the folders of its pictures. {REMEDY}")
    columns: Mapping[str, list[str]] = {name: [cells[row] for row in kept] for name, cells in table.columns.items()}
    return replace(table, columns=columns, row_numbers=[table.row_numbers[row] for row in kept])


class _RealBirdID:
    """Observations of birds."""

    summary = "Observations of birds; some birds cannot be identified."
    expected = " or ".join(TABLE_NAMES)
    default_models = ("open_clip[toybox-clip]", "conse[]", "hf[toybox-mllm]")

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

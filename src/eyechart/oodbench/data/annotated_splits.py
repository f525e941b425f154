"""Find annotated data sets under a data root in their published layouts, and open them."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from eyechart.data.dataset.dataset import Dataset
from eyechart.data.splits.registry import SplitRef
from eyechart.oodbench.data.annotation import find_annotation
from eyechart.oodbench.data.cityscapes import open_cityscapes
from eyechart.oodbench.data.coco import open_coco
from eyechart.oodbench.data.lvis import open_lvis
from eyechart.oodbench.data.nuscenes import open_nuscenes

FORMATS = ("coco", "lvis", "nuscenes", "cityscapes")
BENCHMARK = "oodbench"
MAIN = "val"


class _Opener(Protocol):
    """Opens a part of a data set; every format has one."""

    def __call__(
        self, folder: Path, benchmark: str, split: str, *, part: str = MAIN, cache: Path | None = None
    ) -> Dataset:
        """Return the data set, checked."""


_OPENERS: Mapping[str, _Opener] = {
    "coco": open_coco,
    "lvis": open_lvis,
    "nuscenes": open_nuscenes,
    "cityscapes": open_cityscapes,
}


def open_annotated(
    kind: str, folder: Path, benchmark: str, split: str, *, part: str = MAIN, cache: Path | None = None
) -> Dataset:
    """Open a part of a data set in a format, which its annotation then names as its source."""
    dataset = _OPENERS[kind](folder, benchmark, split, part=part, cache=cache)
    annotation = find_annotation(dataset)
    return replace(dataset, details=annotation and replace(annotation, source=kind))


@dataclass(frozen=True)
class _SplitPart:
    """A part of a data set in one format; `is_only` if there is no other part."""

    name: str = MAIN
    missing: str = ""
    is_only: bool = True


def annotated_splits(folder: Path, root: Path) -> list[SplitRef]:
    """Return the splits in the data root, in ROOT/<folder> or in ROOT/oodbench/<folder>, () for another folder.

    A split has its folder's name, at the root itself that of the format; `-train` and so on is added for parts other
    than val where a folder has several, `-lvis` and so on where it has several formats. Only folders are listed, no
    file is opened.
    """
    if root not in (folder, folder.parent) and folder.parent.name != BENCHMARK:
        return []
    return [*_splits(folder, named=folder != root)]


def _splits(folder: Path, *, named: bool) -> Iterator[SplitRef]:
    formats = {kind: parts for kind in FORMATS if (parts := [*_FINDERS[kind](folder)])}
    for kind, parts in formats.items():
        own = named and (len(formats) == 1 or folder.name.casefold() == kind)
        stem = folder.name if own else f"{folder.name}-{kind}" if named else kind
        for part in parts:
            name = stem if part.is_only or part.name == MAIN else f"{stem}-{part.name}"
            yield SplitRef(BENCHMARK, name, kind, str(folder), part.missing, part.name)


def _coco(folder: Path) -> Iterator[_SplitPart]:
    names = _matches(folder / "annotations", re.compile(r"instances_([a-z]\w*)2017\.json"))
    for name in names:
        missing = _missing_message(folder, [f"{name}2017"], f"annotations/instances_{name}2017.json")
        if name == MAIN or not missing or len(names) == 1:
            yield _SplitPart(name, missing, len(names) == 1)


def _lvis(folder: Path) -> Iterator[_SplitPart]:
    pattern = re.compile(r"lvis_v1_(?!image_info)(\w+)\.json")
    names = sorted({*_matches(folder, pattern), *_matches(folder / "annotations", pattern)})
    for name in names:
        pictures = ["train2017"] if name == "train" else ["val2017", "train2017"]
        missing = _missing_message(folder, pictures, f"lvis_v1_{name}.json")
        if name == MAIN or not missing or len(names) == 1:
            yield _SplitPart(name, missing, len(names) == 1)


def _nuscenes(folder: Path) -> Iterator[_SplitPart]:
    for table in sorted(folder.glob("v1.0-*/sample_data.json"))[:1]:
        yield _SplitPart(missing=_missing_message(folder, ["samples"], table.relative_to(folder).as_posix()))


def _cityscapes(folder: Path) -> Iterator[_SplitPart]:
    both = ("gtFine", "leftImg8bit")
    there = [name for name in both if (folder / name).is_dir()]
    for name in there[:1]:
        yield _SplitPart(missing="".join(_missing_message(folder, [other], f"{name}/") for other in both))


_FINDERS: Mapping[str, Callable[[Path], Iterable[_SplitPart]]] = {
    "coco": _coco,
    "lvis": _lvis,
    "nuscenes": _nuscenes,
    "cityscapes": _cityscapes,
}


def _matches(folder: Path, pattern: re.Pattern[str]) -> list[str]:
    """Return what a pattern's group matches in the names of a folder's files."""
    names = (path.name for path in folder.iterdir()) if folder.is_dir() else iter(())
    return sorted(match[1] for name in names if (match := pattern.fullmatch(name)))


def _missing_message(folder: Path, wanted: list[str], beside: str) -> str:
    """Return a message if none of the wanted folders exists, else ""."""
    if any((folder / name).is_dir() for name in wanted):
        return ""
    return f"{folder} has {beside} and no folder {' or '.join(wanted)} beside it: unpack or link it there."

"""Which splits there are, and how one is opened: the packaged samples, a root of folders, the hub."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from eyechart.data.annotated_splits import BENCHMARK, FORMATS, AnnotatedSplit, Format, annotated_splits, open_annotated
from eyechart.data.birds import TABLES, open_birds
from eyechart.data.dataset import Dataset
from eyechart.data.folder import open_folder
from eyechart.data.hub import open_hub, parse_hub
from eyechart.data.imagenet import CLASSES, subset
from eyechart.data.images import SUFFIXES
from eyechart.data.located import class_names
from eyechart.data.oodbench_sample import open_oodbench
from eyechart.data.oodbench_sample import splits as oodbench_splits
from eyechart.data.realbirdid_sample import BENCHMARK as BIRDS
from eyechart.data.realbirdid_sample import open_realbirdid
from eyechart.data.realbirdid_sample import splits as realbirdid_splits
from eyechart.data.sample import open_sample
from eyechart.data.sample import splits as sample_splits
from eyechart.data.toybox import open_toybox
from eyechart.data.validation import identified
from eyechart.data.webdataset_shards import open_shards
from eyechart.errors import DataError
from eyechart.spec import did_you_mean
from eyechart.toybox.packaged import splits as toybox_splits

Layout = Literal["sample", "shards", "folder", "hub", "birds", "none"] | Format


@dataclass(frozen=True)
class SplitRef:
    """A split and where it lies; `missing` says why it cannot be opened, where that can be seen from outside.

    `part` is which part of an annotated data set it is.
    """

    benchmark: str
    split: str
    layout: Layout = "sample"
    place: str = ""
    missing: str = ""
    part: str = ""

    def __str__(self) -> str:
        return f"{self.benchmark}/{self.split}"


@dataclass(frozen=True)
class Known:
    """A published split: how many images it has, and which of ImageNet's classes (a letter of `imagenet.subset`)."""

    count: int
    classes: str = ""

    @property
    def subset(self) -> tuple[int, ...]:
        """The classes, ascending; () for all."""
        return subset(self.classes) if self.classes else ()


PACKAGED: Mapping[str, Callable[[str], Dataset]] = {
    "imagenet": open_sample,
    "toybox": open_toybox,
    BENCHMARK: open_oodbench,
    BIRDS: open_realbirdid,
}
VALIDATION = "imagenet/val"
KNOWN: Mapping[str, Known] = {
    VALIDATION: Known(50_000),
    "imagenet/v2": Known(10_000),
    "imagenet/a": Known(7_500, "a"),
    "imagenet/r": Known(30_000, "r"),
    "imagenet/sketch": Known(50_889),
}


def available(root: str | Path | None = None) -> list[SplitRef]:
    """Return the packaged splits, then those of the root: ROOT/<benchmark>/<split>, or a data set `hub:OWNER/NAME`.

    Annotated data sets are splits of `oodbench`: the root itself, ROOT/<folder> and ROOT/oodbench/<folder>. Tables of
    birds are splits of their benchmark's folder, and of `realbirdid`: the root itself and ROOT/<folder>. ImageNet's
    validation images are always named, with what is missing where they are not there. Only folders are listed, no file
    is opened. Raises DataError for a root that is no folder, and for two splits of one name.
    """
    refs = [SplitRef("imagenet", split) for split in sample_splits()]
    refs.extend(SplitRef("toybox", split) for split in toybox_splits())
    refs.extend(SplitRef(BENCHMARK, split) for split in oodbench_splits())
    refs.extend(SplitRef(BIRDS, split) for split in realbirdid_splits())
    if root is not None and str(root).startswith("hub:"):
        refs.append(_hub(str(root)))
    elif root is not None:
        if not Path(root).is_dir():
            raise DataError(f"The data root {root} is no folder: give one with splits as ROOT/<benchmark>/<split>.")
        refs.extend(_found(Path(root)))
        _check_names(refs)
    return refs if any(str(ref) == VALIDATION for ref in refs) else [*refs, _absent(root)]


def unknown(name: str, refs: Iterable[SplitRef]) -> str:
    """Say that there is no split of a name, and which ones there are."""
    names = [*map(str, refs)]
    near = did_you_mean(name, names)
    return f"There is no split {name}{near} Splits: {', '.join(names)}; others come with --eye-data=ROOT."


def _absent(root: str | Path | None) -> SplitRef:
    """The validation images, as a split that is not there."""
    where = f"not under {root}" if root is not None else "not packaged"
    missing = (
        f"{VALIDATION} is {where}: put its shards or pictures into ROOT/{VALIDATION} and give --eye-data=ROOT, or "
        "--eye-data=hub:OWNER/NAME."
    )
    return SplitRef("imagenet", "val", "none", missing=missing)


def open_split(
    ref: SplitRef, cache: Path | None = None, *, offline: bool = False, known: Mapping[str, Known] = KNOWN
) -> Dataset:
    """Open a split, its index checked; that of a known one must have the published number of images and classes."""
    if ref.missing:
        raise DataError(ref.missing)
    if ref.layout == "sample":
        return PACKAGED[ref.benchmark](ref.split)
    if ref.layout in FORMATS:
        return open_annotated(ref.layout, Path(ref.place), ref.benchmark, ref.split, part=ref.part, cache=cache)
    if ref.layout == "birds":
        return open_birds(Path(ref.place), ref.benchmark, ref.split, cache=cache)
    fact = known.get(str(ref))
    found = _opened(ref, fact, cache, offline)
    return identified(found) if str(ref) == VALIDATION else found


def _hub(text: str) -> SplitRef:
    """Name a data set of the hub: ImageNet-1k's validation images by their own name, any other by its place."""
    spec = parse_hub(text)
    name, split = spec.place.rstrip("/").rpartition("/")[2], spec.split or "default"
    if name == "imagenet-1k" and split in ("default", "validation"):
        return SplitRef("imagenet", "val", "hub", f"hub:{spec.place}:validation")
    return SplitRef(name, split, "hub", text)


def _found(root: Path) -> Iterator[SplitRef]:
    annotated = annotated_splits(root)
    yield from (_annotated(split) for split in annotated)
    birds = [folder for folder in (root, *_folders(root)) if _layout(folder) == "birds"]
    yield from (SplitRef(BIRDS, folder.resolve().name, "birds", str(folder)) for folder in birds)
    taken = {*birds, *(split.folder for split in annotated)}
    for benchmark in _folders(root) if root not in taken else ():  # a data set's folders are its own
        for folder in _folders(benchmark) if benchmark not in taken else ():
            if folder not in taken:
                yield _plain(benchmark.name, folder)


def _plain(benchmark: str, folder: Path) -> SplitRef:
    layout = _layout(folder)
    place = f"hub:{folder}" if layout == "hub" else str(folder)
    return SplitRef(benchmark, folder.name, layout, place, _unknown(folder) if layout == "none" else "")


def _annotated(split: AnnotatedSplit) -> SplitRef:
    return SplitRef(BENCHMARK, split.name, split.format, str(split.folder), split.missing, split.part)


def _folders(path: Path) -> list[Path]:
    return sorted(inner for inner in path.iterdir() if inner.is_dir() and not inner.name.startswith("."))


def _layout(folder: Path) -> Layout:
    inside = [path for path in folder.iterdir() if not path.name.startswith(".")]
    suffixes = {path.suffix.lower() for path in inside}
    if any(path.name in TABLES for path in inside):
        return "birds"
    if any(path.name == "nshards.txt" for path in inside) or ".tar" in suffixes:
        return "shards"
    if ".parquet" in suffixes or any(folder.glob("data/*.parquet")):
        return "hub"
    return "folder" if suffixes & SUFFIXES or any(path.is_dir() for path in inside) else "none"


def _unknown(folder: Path) -> str:
    return (
        f"{folder} holds no split in a known layout: expected nshards.txt with 0.tar and so on, pictures in a folder a "
        "class, ILSVRC validation files, parquet files, or birds.csv or birds.parquet."
    )


def _check_names(refs: Iterable[SplitRef]) -> None:
    places: dict[str, str] = {}
    for ref in refs:
        if str(ref) in places:
            raise DataError(
                f"{ref.place} is a second split {ref} beside {places[str(ref)] or 'the packaged one'}: give the folder "
                "another name."
            )
        places[str(ref)] = ref.place


def _opened(ref: SplitRef, fact: Known | None, cache: Path | None, offline: bool) -> Dataset:
    classes, upright = (CLASSES, False) if fact else (None, True)
    named = (ref.benchmark, ref.split)
    if ref.layout == "hub":
        found = open_hub(ref.place, *named, classes=classes, upright=upright, cache=cache, offline=offline)
    elif ref.layout == "folder":
        found = open_folder(Path(ref.place), *named, classes=classes, upright=upright, cache=cache)
    else:
        known = fact.subset if fact else ()
        own = classes or (CLASSES if ref.benchmark == "imagenet" and not class_names(Path(ref.place)) else None)
        found = open_shards(Path(ref.place), *named, classes=own, subset=known, upright=upright, cache=cache)
    return _checked(found, fact, ref) if fact else found


def _checked(found: Dataset, fact: Known, ref: SplitRef) -> Dataset:
    if len(found.index) != fact.count:
        raise DataError(
            f"{ref.place} holds {len(found.index):,} images, expected the {fact.count:,} of {ref}: complete it, or "
            "give a selection of your own another name than that of a published split."
        )
    strangers = [row for row in found.index if fact.classes and row.label not in fact.subset]
    if strangers:
        raise DataError(
            f"{ref.place}: {len(strangers):,} images are of classes that {ref} does not have, the first "
            f"{strangers[0].key} of class {strangers[0].label}; expected the {len(fact.subset)} classes of {ref} as "
            "synset folders, or as labels of ImageNet-1k: sort them again."
        )
    return replace(found, expected=fact.count, subset=fact.subset, names=())

"""List and open splits: the packaged samples, installed data sets, a data root, and the Hugging Face Hub."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from eyechart.data.dataset.dataset import Dataset, SliceVariable
from eyechart.data.dataset.slice_variables import read_slices
from eyechart.data.discovery import join_names, picture_folders, survey_root
from eyechart.data.imagenet.classes import CLASSES, subset
from eyechart.data.index.file_index import read_class_names
from eyechart.data.labels.class_names import TEMPLATES_FILE
from eyechart.data.labels.foreign_labels import describe_label_files
from eyechart.data.readers.clip_benchmark import clip_benchmark_splits, is_clip_benchmark, note_count
from eyechart.data.readers.folder import open_folder
from eyechart.data.readers.hub import open_hub, parse_hub
from eyechart.data.readers.remote_shards import remote_folder, survey_url
from eyechart.data.readers.webdataset_shards import ShardFiles, open_shards
from eyechart.data.side_files import describe_unread
from eyechart.data.splits.registry import (
    SplitRef,
    folder_sources,
    is_url,
    packaged_benchmarks,
    registered_datasets,
)
from eyechart.data.splits.validation import identify_validation_images
from eyechart.errors import DataError
from eyechart.messages.suggestions import did_you_mean


@dataclass(frozen=True)
class PublishedSplit:
    """A published split: its number of images, and its subset of ImageNet classes (a letter of `imagenet.subset`)."""

    count: int
    classes: str = ""

    @property
    def subset(self) -> tuple[int, ...]:
        """The classes of the subset, ascending; () for all classes."""
        return subset(self.classes) if self.classes else ()


VALIDATION = "imagenet/val"
SHARD_FILES = {"equivalences.csv": "--eye-equivalences", TEMPLATES_FILE: "--eye-templates"}
PUBLISHED: Mapping[str, PublishedSplit] = {
    VALIDATION: PublishedSplit(50_000),
    "imagenet/v2": PublishedSplit(10_000),
    "imagenet/a": PublishedSplit(7_500, "a"),
    "imagenet/r": PublishedSplit(30_000, "r"),
    "imagenet/sketch": PublishedSplit(50_889),
}


def list_splits(root: str | Path | None = None, *, offline: bool = False) -> list[SplitRef]:
    """Return the packaged splits, those of installed packages, and those of the root.

    A root has ROOT/<benchmark>/<split>; `hub:OWNER/NAME` is a data set of the hub, and a URL has shards.

    Registered data sets recognise folders of their formats: the root itself, ROOT/<folder> and
    ROOT/<benchmark>/<folder>. ImageNet's validation images are always named, with what is missing where they are not
    there. Only folders are listed, no file is opened. Raises DataError for two splits of one name and for what
    `survey_root` and `survey_url` refuse.
    """
    refs = [
        SplitRef(name, split, "sample" if name in packaged_benchmarks() else "registered")
        for name, source in registered_datasets().items()
        for split in source.splits
    ]
    if root is not None and str(root).startswith("hub:"):
        spec = parse_hub(str(root))
        refs.extend(clip_benchmark_splits(spec) if is_clip_benchmark(spec) else [_hub(str(root))])
    elif root is not None:
        refs.extend(survey_url(str(root), offline=offline) if is_url(root) else survey_root(Path(root)).splits)
        _check_names(refs)
    return refs if any(str(ref) == VALIDATION for ref in refs) else [*refs, _missing_validation(root)]


def unknown_split_message(name: str, refs: Iterable[SplitRef]) -> str:
    """Return a message that a split does not exist, with similar and available names."""
    names = [*map(str, refs)]
    near = did_you_mean(name, names)
    return f"There is no split {name}{near} Splits: {', '.join(names)}; others come with --eye-data=ROOT."


def _missing_validation(root: str | Path | None) -> SplitRef:
    """Return the ImageNet validation split as missing."""
    where = f"not under {root}" if root is not None else "not packaged"
    missing = (
        f"{VALIDATION} is {where}: put its shards or pictures into ROOT/{VALIDATION} and give --eye-data=ROOT, or "
        "--eye-data=hub:OWNER/NAME."
    )
    return SplitRef("imagenet", "val", "none", missing=missing)


def open_split(
    ref: SplitRef, cache: Path | None = None, *, offline: bool = False, known: Mapping[str, PublishedSplit] = PUBLISHED
) -> Dataset:
    """Open a split with its slices.csv and check its index.

    A published split must have the published number of images and classes.
    """
    if is_url(ref.location):
        with remote_folder(ref.location, offline=offline) as (folder, shards):
            dataset = _open_layout(replace(ref, location=str(folder)), cache, offline, known, shards)
            return replace(dataset, slices=(*dataset.slices, *_read_slices(folder, dataset)))
    dataset = _open_layout(ref, cache, offline, known)
    folder = Path(parse_hub(ref.location).location if ref.layout in ("hub", "disk") else ref.location)
    if not ref.location or not folder.is_dir():
        return dataset
    beside = picture_folders(folder) if ref.layout in ("shards", "hub", "disk") else []
    note = f"the folders {join_names(beside)} with pictures beside the shards or tables are not read."
    slices = (*dataset.slices, *_read_slices(folder, dataset))
    notes = (*dataset.notes, *([note] if beside else []), *describe_unread(folder), *_describe_shard_files(ref, folder))
    return replace(dataset, slices=slices, notes=notes)


def _describe_shard_files(ref: SplitRef, folder: Path) -> Iterator[str]:
    """Yield notes on files that are read beside shards alone, beside pictures or tables."""
    for name, option in SHARD_FILES.items() if ref.layout in ("folder", "hub", "disk") else ():
        if (folder / name).is_file() or (folder.parent / name).is_file():
            yield f"{name} is read beside shards alone: give {option}=FILE."


def _read_slices(folder: Path, dataset: Dataset) -> tuple[SliceVariable, ...]:
    """Return the user's variables of a data set, none of which its details may have, too."""
    own = (*dataset.slices, *(() if dataset.details is None else dataset.details.slice_variables()))
    return read_slices(folder, dataset.index, [variable.name for variable in own])


def _open_layout(
    ref: SplitRef,
    cache: Path | None,
    offline: bool,
    known: Mapping[str, PublishedSplit],
    shards: ShardFiles | None = None,
) -> Dataset:
    if why := ref.missing or ref.defect:
        raise DataError(f"{why}{describe_label_files([Path(ref.location)]) if ref.defect and ref.location else ''}")
    if ref.layout in ("sample", "registered"):
        return registered_datasets()[ref.benchmark].dataset(ref.split)
    if ref.reader:
        return folder_sources()[ref.reader].open_folder(ref, cache)
    published = known.get(str(ref))
    dataset = _open_files(ref, published, cache, offline, shards)
    return identify_validation_images(dataset) if str(ref) == VALIDATION else dataset


def _hub(text: str) -> SplitRef:
    """Return the split of a data set of the Hub; ImageNet-1k's validation images become imagenet/val."""
    spec = parse_hub(text)
    name, split = spec.location.rstrip("/").rpartition("/")[2], spec.split or "default"
    if name == "imagenet-1k" and split in ("default", "validation"):
        return SplitRef("imagenet", "val", "hub", f"hub:{spec.location}:validation")
    return SplitRef(name, split, "hub", text)


def _check_names(refs: Iterable[SplitRef]) -> None:
    locations: dict[str, str] = {}
    for ref in refs:
        if str(ref) in locations:
            raise DataError(
                f"{ref.location} is a second split {ref} beside {locations[str(ref)] or 'the packaged one'}: give the "
                "folder another name."
            )
        locations[str(ref)] = ref.location


def _open_files(
    ref: SplitRef, published: PublishedSplit | None, cache: Path | None, offline: bool, shards: ShardFiles | None
) -> Dataset:
    classes, upright = (CLASSES, False) if published else (None, True)
    named = (ref.benchmark, ref.split)
    if ref.layout in ("hub", "disk"):
        dataset = open_hub(ref.location, *named, classes=classes, upright=upright, cache=cache, offline=offline)
    elif ref.layout == "folder":
        dataset = open_folder(Path(ref.location), *named, classes=classes, upright=upright, cache=cache)
    else:
        subset_classes = published.subset if published else ()
        own = classes or (CLASSES if ref.benchmark == "imagenet" and not read_class_names(Path(ref.location)) else None)
        dataset = open_shards(
            Path(ref.location), *named, classes=own, subset=subset_classes, upright=upright, cache=cache, files=shards
        )
    return _check_published(dataset, published, ref) if published else note_count(dataset)


def _check_published(dataset: Dataset, published: PublishedSplit, ref: SplitRef) -> Dataset:
    if len(dataset.index) != published.count:
        raise DataError(
            f"{ref.location} holds {len(dataset.index):,} images, expected the {published.count:,} of {ref}: "
            "complete it, or give a selection of your own another name than that of a published split."
        )
    strangers = [row for row in dataset.index if row.label not in published.subset] if published.classes else []
    if strangers:
        raise DataError(
            f"{ref.location}: {len(strangers):,} images are of classes that {ref} does not have, the first "
            f"{strangers[0].key} of class {strangers[0].label}; expected the {len(published.subset)} classes of {ref} "
            "as synset folders, or as labels of ImageNet-1k: sort them again."
        )
    return replace(dataset, expected=published.count, subset=published.subset, names=())

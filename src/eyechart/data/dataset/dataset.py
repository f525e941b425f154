"""A data set: images in a fixed order, with label sets, and variables that split the images into slices."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from itertools import chain, islice
from typing import Any, Protocol, Self

import msgspec
import numpy as np
from numpy.typing import NDArray

from eyechart.data.dataset.columns import Columns
from eyechart.data.dataset.limits import Limit, draw_rows
from eyechart.errors import DataError, SpecError
from eyechart.statistics.accuracy import Empty

HASHED = 4096  # lines of samples that are hashed at once
KEY_BITS = 48  # of what identifies a sample; the rest is of its image


class Row(msgspec.Struct, frozen=True, gc=False):
    """One image of an index: its key, its original file name, the sha256 of its bytes, and its label (-1: none)."""

    key: str
    file: str
    sha256: str
    label: int = -1


@dataclass(frozen=True)
class LabelSet:
    """One ground truth, in the order of a data set's rows.

    `labels` has shape (n, maximum number of labels) and is padded with -1. `annotated` (n,) marks the annotated images.
    `empty` is the policy for annotated images without labels. `notes` describe mismatches between file and data set.
    `original` marks the labels that the data set comes with, one class per image.
    """

    name: str
    labels: NDArray[np.int64]
    annotated: NDArray[np.bool_]
    empty: Empty
    source: str
    sha256: str
    notes: tuple[str, ...] = ()
    original: bool = False

    def select(self, rows: Sequence[int]) -> "LabelSet":
        """Return the labels of some rows."""
        return replace(self, labels=self.labels[list(rows)], annotated=self.annotated[list(rows)])


def original_name(benchmark: str) -> str:
    """Return the name of the label set that the images of a benchmark come with.

    The papers call ImageNet's own labels ImGT; all other data have the label set `original`.

    >>> original_name("imagenet"), original_name("pets")
    ('ImGT', 'original')
    """
    return "ImGT" if benchmark == "imagenet" else "original"


def build_original_labels(
    benchmark: str, rows: Sequence[Row], labels: Sequence[Sequence[int] | None], source: str
) -> LabelSet:
    """Return the label set that a benchmark's images come with; images without a label are not evaluated."""
    return replace(build_label_set(original_name(benchmark), rows, labels, "exclude", source), original=True)


def build_label_set(
    name: str, rows: Sequence[Row], labels: Sequence[Sequence[int] | None], empty: Empty, source: str
) -> LabelSet:
    """Return a label set from one sequence of labels per row; None is an image without annotation."""
    if len(labels) != len(rows):
        raise DataError(
            f"The label set '{name}' ({source}) has labels for {len(labels)} images; the data set has {len(rows)}. "
            "Give one entry a row, None where there is no annotation."
        )
    known = [None if valid is None else tuple(valid) for valid in labels]
    counts = np.array([len(valid) if valid else 0 for valid in known], np.int64)
    padded = np.full((len(rows), counts.max(initial=0)), -1, dtype=np.int64)
    padded[np.arange(padded.shape[1]) < counts[:, None]] = [*chain.from_iterable(filter(None, known))]
    annotated = np.array([valid is not None for valid in known], dtype=np.bool_)
    text = {valid: f"\t{valid if valid is None else [*valid]}\n" for valid in {*known}}
    keys = Columns.of(Row, rows).values("key")
    content, lines = sha256(), (f"{key}{text[valid]}" for key, valid in zip(keys, known, strict=True))
    while part := "".join(islice(lines, HASHED)):
        content.update(part.encode())
    return LabelSet(name, padded, annotated, empty, source, content.hexdigest())


@dataclass(frozen=True, eq=False)
class SliceVariable:
    """A variable of images: `codes` (n,) are indices into the values, -1 for an image without a value.

    `group` names the attributes of images that are correlated with it, and the variable itself; "" for other variables.
    """

    name: str
    values: tuple[str, ...]
    codes: NDArray[np.int64]
    group: str = ""

    def select(self, rows: Sequence[int] | NDArray[np.int64]) -> "SliceVariable":
        """Return the variable of some images, in the order of `rows`."""
        return SliceVariable(self.name, self.values, self.codes[np.asarray(rows, np.int64)], self.group)

    def used(self) -> "SliceVariable":
        """Return the variable with only the values that an image has."""
        present, codes = np.unique(self.codes, return_inverse=True)
        without = int((present < 0).sum())
        names = tuple(self.values[code] for code in present[without:].tolist())
        return SliceVariable(self.name, names, codes.reshape(-1).astype(np.int64) - without, self.group)


def hash_samples(samples: Iterable[tuple[str, str]]) -> NDArray[np.uint64]:
    """Return what identifies each sample, from its key and the sha256 of its image, as uint64 (n,)."""
    bits = (
        int.from_bytes(sha256(key.encode()).digest()[: KEY_BITS // 8], "big") << 16 | int(image[:4] or "0", 16)
        for key, image in samples
    )
    return np.fromiter(bits, np.uint64)


def _hash_lines(keys: Iterable[str], images: Iterable[str]) -> str:
    """Return the sha256 of lines with the key of each image and the sha256 of its bytes."""
    content, lines = sha256(), (f"{key}\t{image}\n" for key, image in zip(keys, images, strict=True))
    while part := "".join(islice(lines, HASHED)):
        content.update(part.encode())
    return content.hexdigest()


class Details(Protocol):
    """One row per image. The reader of a data set fills them, and the protocols of its study read them.

    A study finds its own by their class: `isinstance(dataset.selected_details, Observations)`.
    """

    @property
    def sha256(self) -> str:
        """The sha256 of all that an answer or a number depends on."""

    def select(self, rows: Sequence[int]) -> Self:
        """Return the details of some rows, in the order of `rows`."""

    def slice_variables(self) -> Iterable[SliceVariable]:
        """Return the variables that split the images into slices; none if the original class is the only one."""

    def image_classes(self) -> NDArray[np.int64] | None:
        """Return the class of each image for a limit by class, None if the images have no classes."""

    def image_attributes(self) -> Mapping[str, NDArray[np.float64]]:
        """Return attributes of each image by name, such as how many objects it has, NaN for none."""


class Source(Protocol):
    """Reads the bytes of images. Rows are numbered in the order of the index."""

    def read(self, rows: Sequence[int]) -> Iterator[tuple[int, bytes]]:
        """Yield (row, image bytes) for ascending rows."""

    def part(self, rows: Sequence[int]) -> "Source":
        """Return the source of some rows alone, which are numbered anew."""

    def location(self, row: int) -> str:
        """Return where the bytes of a row are, for messages: a path, or the name of a table."""


@dataclass(frozen=True)
class Dataset:
    """A split with its checked index; `rows` are the selected rows, by their number in the source, () for all.

    `equivalences` are pairs of classes that count as one. `details`, which a study reads, have one row per row of the
    index, and so have `slices`, the variables of slices.csv. `notes` describe what is not evaluated, and `provenance`
    says where labels and class names are from. `templates` are prompt templates that travel with the data.
    `with_images` is the same data set with its images if this one has a blank instead, None if it has its own.
    """

    benchmark: str
    split: str
    index: Sequence[Row]
    source: Source
    classes: int
    expected: int | None = None
    subset: tuple[int, ...] = ()
    names: tuple[str, ...] = ()
    upright: bool = True
    label_sets: Mapping[str, LabelSet] = field(default_factory=dict)
    rows: tuple[int, ...] = ()
    equivalences: tuple[tuple[int, int], ...] = ()
    details: Details | None = None
    notes: tuple[str, ...] = ()
    slices: tuple[SliceVariable, ...] = ()
    templates: tuple[str, ...] = ()
    provenance: str = ""
    with_images: "Dataset | None" = None

    def __len__(self) -> int:
        return len(self.selected)

    @cached_property
    def selected(self) -> Sequence[int]:
        """The numbers of the selected rows, ascending."""
        return self.rows or range(len(self.index))

    @cached_property
    def columns(self) -> Columns[Row]:
        """The index by columns, from which the values of many rows are read faster than from one row after another."""
        return Columns.of(Row, self.index)

    def selected_values(self, name: str) -> Iterator[Any]:
        """Yield the values of a field of the selected rows of the index."""
        return self.columns.values(name, self.rows or None)

    @property
    def selected_digests(self) -> tuple[str, ...]:
        """The sha256 of the bytes of each selected image."""
        return tuple(self.selected_values("sha256"))

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """The keys of the selected samples, in order."""
        return tuple(self.selected_values("key"))

    @cached_property
    def fingerprint(self) -> str:
        """The sha256 of the selected keys and images."""
        return _hash_lines(self.keys, self.selected_values("sha256"))

    @cached_property
    def index_fingerprint(self) -> str:
        """The sha256 of all keys and images of the split, whatever rows are selected."""
        return _hash_lines(self.columns.values("key"), self.columns.values("sha256"))

    @cached_property
    def sample_hashes(self) -> NDArray[np.uint64]:
        """What identifies each selected sample (n,), by `hash_samples`."""
        return hash_samples(zip(self.keys, self.selected_values("sha256"), strict=True))

    @cached_property
    def selected_details(self) -> Details | None:
        """The details of the selected rows; not copied if all rows are selected."""
        return self.details.select(self.rows) if self.details is not None and self.rows else self.details

    def read(self, indices: Sequence[int]) -> Iterator[tuple[int, bytes]]:
        """Yield (position, image bytes) for the selected rows at ascending positions."""
        position = {self.selected[index]: index for index in indices}
        for row, data in self.source.read([*position]):
            yield position[row], data

    def part(self, indices: Sequence[int]) -> "Dataset":
        """Return the images at some positions alone, without labels: what another process needs to read them."""
        rows = [self.selected[index] for index in indices]
        return Dataset(
            self.benchmark, self.split, [self.index[row] for row in rows], self.source.part(rows), self.classes,
            upright=self.upright,
        )  # fmt: skip

    def select_label_sets(self, empty: Empty | None = None) -> tuple[LabelSet, ...]:
        """Return the label sets of the selected rows; `empty` overrides the policy of all but the original labels."""
        return tuple(
            replace(labels.select(self.selected), empty=labels.empty if empty is None or labels.original else empty)
            for labels in self.label_sets.values()
        )

    def subsample(self, limit: Limit, seed: int) -> "Dataset":
        """Return a random sample of `limit` images, in the order of the split.

        Raises SpecError if the limit is by class and the images have no class.
        """
        size = len(self.index)
        if limit is None or (isinstance(limit, int) and limit >= size):
            return self
        classes = None if isinstance(limit, int) else self.image_classes(limit)
        return replace(self, rows=tuple(draw_rows(limit, size, f"{seed}|limit|{self.benchmark}/{self.split}", classes)))

    def image_classes(self, limit: str) -> NDArray[np.int64]:
        """Return the original class of each image of the split, or the class that its details give it."""
        for labels in self.label_sets.values():
            if labels.original:
                return labels.labels[:, 0]
        classes = self.details.image_classes() if self.details is not None else None
        if classes is not None:
            return classes
        raise SpecError(
            f"--eye-limit={limit}: the images of {self.benchmark}/{self.split} have no classes. "
            "Give a number of images."
        )

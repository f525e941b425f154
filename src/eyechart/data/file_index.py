"""The index of images in files or slices of files, and the data set that is built from it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from eyechart.data.dataset import Dataset, Source
from eyechart.data.labels import LabelSet, build_label_set, build_original_labels
from eyechart.data.rows import Row
from eyechart.errors import DataError

MULTILABEL = "multilabel"  # the label set of data with several labels an image


class IndexEntry(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One image of an index. Size -1 means the whole file, label -1 no label, and `labels` None no list of labels."""

    key: str
    file: str
    sha256: str
    path: str
    offset: int = 0
    size: int = -1
    label: int = -1
    labels: tuple[int, ...] | None = None


@dataclass(frozen=True)
class FileSource:
    """A source of images by path, offset and size, with one entry per row; reading is thread-safe."""

    root: Path
    entries: Sequence[IndexEntry]

    def read(self, rows: Sequence[int]) -> Iterator[tuple[int, bytes]]:
        """Yield (row, image bytes) in the requested order."""
        for row in rows:
            yield row, self._bytes(self.entries[row])

    def part(self, rows: Sequence[int]) -> "FileSource":
        """Return the source of some rows alone."""
        return FileSource(self.root, [self.entries[row] for row in rows])

    def place(self, row: int) -> str:
        """Return the path, and where an image begins in a file of several."""
        entry = self.entries[row]
        return f"{self.root / entry.path}{f' at byte {entry.offset:,}' if entry.offset else ''}"

    def _bytes(self, entry: IndexEntry) -> bytes:
        path = self.root / entry.path
        try:
            with path.open("rb") as file:
                file.seek(entry.offset)
                data = file.read(entry.size)
        except OSError as error:
            raise DataError(
                f"{path} was there when it was indexed and cannot be read now ({error.strerror}): put it back."
            ) from error
        if entry.size not in (-1, len(data)):
            raise DataError(f"{path} has become shorter since the data set was indexed: copy it again.")
        return data


def whole_file_source(files: Iterable[tuple[Row, Path]]) -> FileSource:
    """Return a source of images that are whole files."""
    return FileSource(Path(), tuple(IndexEntry(row.key, row.file, row.sha256, str(path)) for row, path in files))


def read_class_names(folder: Path) -> tuple[str, ...]:
    """Return the lines of `classnames.txt` in the folder of a split or its parent, () if there is none."""
    for path in (folder / "classnames.txt", folder.parent / "classnames.txt"):
        if path.is_file():
            return tuple(line.strip() for line in _text(path).strip().splitlines())
    return ()


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read as UTF-8 text ({error}): write one class name a line.") from error


def build_dataset(
    place: Path | str,
    benchmark: str,
    split: str,
    entries: Sequence[IndexEntry],
    *,
    classes: int,
    names: Sequence[str] = (),
    upright: bool = True,
    source: Source | None = None,
) -> Dataset:
    """Return a data set of entries, with the original label set for single labels and `multilabel` for lists of labels.

    Raises DataError for no entries, equal keys, a label out of range, or a wrong number of class names.
    """
    if names and len(names) != classes:
        raise DataError(f"{place}: its classnames.txt has {len(names)} lines, expected {classes}, one a class.")
    if not entries:
        raise DataError(f"{place} holds no images: fill it, or remove it so that {benchmark}/{split} is no split.")
    _check_keys(place, entries)
    _check_range(place, entries, classes)
    index = tuple(Row(entry.key, entry.file, entry.sha256, entry.label) for entry in entries)
    return Dataset(
        benchmark=benchmark,
        split=split,
        index=index,
        source=source or FileSource(Path(place), entries),
        classes=classes,
        names=tuple(names),
        upright=upright,
        label_sets={truth.name: truth for truth in _label_sets(index, entries, benchmark, split)},
    )


def _label_sets(index: Sequence[Row], entries: Sequence[IndexEntry], benchmark: str, split: str) -> Iterator[LabelSet]:
    source = f"the labels of {benchmark}/{split}"
    by_label = {label: (label,) if label >= 0 else None for label in {row.label for row in index}}
    single = [by_label[row.label] for row in index]
    several = [entry.labels for entry in entries]
    if any(single) or not any(several):
        yield build_original_labels(benchmark, index, single, source)
    if any(labels is not None for labels in several):
        yield build_label_set(MULTILABEL, index, several, "exclude", source)


def _check_keys(place: Path | str, entries: Sequence[IndexEntry]) -> None:
    entry_by_key: dict[str, IndexEntry] = {}
    for entry in entries:
        if (first := entry_by_key.setdefault(entry.key, entry)) is not entry:
            raise DataError(
                f"{place} has two samples with the key {entry.key}, in {first.path} and in {entry.path}: "
                "rename or remove one."
            )


def _check_range(place: Path | str, entries: Sequence[IndexEntry], classes: int) -> None:
    for entry in entries:
        for label in (entry.label,) if entry.labels is None else entry.labels:
            if not 0 <= label < classes:
                raise DataError(
                    f"{place}: sample {entry.key} in {entry.path} has the label {label}, expected 0 to {classes - 1}: "
                    "correct the label or the class names."
                )

"""The index of images in files or slices of files, and the data set that is built from it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np

from eyechart.data.dataset.columns import Columns
from eyechart.data.dataset.dataset import Dataset, LabelSet, Row, Source, build_label_set, build_original_labels
from eyechart.data.names import check_name_lines, space_names
from eyechart.data.side_files import is_side_file
from eyechart.errors import DataError
from eyechart.files.text_files import read_text, unix_lines

MULTILABEL = "multilabel"  # the label set of data with several labels an image


class IndexEntry(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One image of an index. Size -1 means the whole file, label -1 no label, and `labels` None no list of labels.

    `labels` of a file that says so are `multi_hot`. `label_at` are offset and size of the label in a shard.
    """

    key: str
    file: str
    sha256: str
    path: str
    offset: int = 0
    size: int = -1
    label: int = -1
    labels: tuple[int, ...] | None = None
    multi_hot: bool = False
    label_at: tuple[int, int] | None = None

    @property
    def location(self) -> str:
        """The key, with the file that it is in if there is one, as messages have it."""
        return f"{self.key} in {self.path}" if self.path else self.key


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

    def location(self, row: int) -> str:
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
        if is_side_file(path):
            return split_names(path)
    return ()


def split_names(path: Path) -> tuple[str, ...]:
    """Return the lines of a file of names, without empty ones at its end. Raises DataError for another empty line."""
    text = unix_lines(read_text(path).rstrip())
    lines = [*map(str.strip, text.split("\n"))]
    if lines != [""] and "" in lines:
        raise DataError(f"{path}, line {lines.index('') + 1} is empty. Write one class name on every line.")
    check_name_lines(path, lines)
    return tuple(filter(None, lines))


def build_dataset(
    location: Path | str,
    benchmark: str,
    split: str,
    entries: Sequence[IndexEntry],
    *,
    classes: int,
    names: Sequence[str] = (),
    upright: bool = True,
    source: Source | None = None,
    numbered: bool = False,
    provenance: str = "",
) -> Dataset:
    """Return a data set of entries, with the original label set for single labels and `multilabel` for lists of labels.

    Names have spaces instead of underscores, as in prompts. The notes report this, a single class, and equal pictures
    in two classes; with `numbered`, if labels are numbers that a file or a caller gives, also that none is 0.
    `provenance` says where labels and class names are from.

    Raises DataError for no entries, equal keys, a label out of range, or a wrong number of class names.
    """
    if names and len(names) != classes:
        raise DataError(f"{location}: its classnames.txt has {len(names)} lines, expected {classes}, one a class.")
    if not entries:
        raise DataError(f"{location} holds no images: fill it, or remove it so that {benchmark}/{split} is no split.")
    entries = Columns.of(IndexEntry, entries)
    _check_names(location, names)
    _check_keys(location, entries)
    _check_range(location, entries, classes)
    index = Columns.of(Row, entries)
    shown, note = space_names(names)
    return Dataset(
        benchmark=benchmark,
        split=split,
        index=index,
        source=source or FileSource(Path(location), entries),
        classes=classes,
        names=shown,
        upright=upright,
        label_sets={truth.name: truth for truth in _label_sets(entries, benchmark, split)},
        notes=(*([note] if note else []), *_describe_labels(entries, classes, shown, numbered=numbered)),
        provenance=provenance,
    )


def _describe_labels(
    entries: Columns[IndexEntry], classes: int, names: Sequence[str], *, numbered: bool
) -> Iterator[str]:
    """Yield notes on labels that may not mean what they seem to."""
    known = entries.arrays["label"]
    if classes == 1 and (known >= 0).any():
        yield f"there is only one class{f', {names[0]}' if names else ''}, so that every answer is right."
    if pairs := _find_contradictions(entries):
        count = "one picture is" if len(pairs) == 1 else f"{len(pairs):,} pictures are"
        yield f"{count} in two classes, the first {pairs[0][0].key} and {pairs[0][1].key}: no answer is right for both."
    labels = {*known.tolist()}
    if numbered and names and len(labels) == classes - 1 and min(labels) == 1:
        yield (
            f"no image has the label 0, '{names[0]}', and all others occur. If the labels count from 1, each is taken "
            "for the class after its own: subtract 1."
        )


def _find_contradictions(entries: Columns[IndexEntry]) -> list[tuple[IndexEntry, IndexEntry]]:
    """Return the images that have another label than the first one with the same bytes, each after that one."""
    labels, starts = entries.arrays["label"], entries.arrays["sha256"].astype("S8").view(np.uint64)
    order = np.argsort(starts)  # numbers, since texts take ten times as long
    pairs = (starts[order[1:]] == starts[order[:-1]]) & (labels[order[1:]] != labels[order[:-1]])
    if not pairs.any():
        return []
    doubtful = np.isin(starts, starts[order[1:][pairs]]) & (labels >= 0)
    first_by_image: dict[str, IndexEntry] = {}
    return [
        (first, entry)
        for entry in entries.take(np.flatnonzero(doubtful))
        if (first := first_by_image.setdefault(entry.sha256, entry)).label != entry.label
    ]


def _label_sets(entries: Columns[IndexEntry], benchmark: str, split: str) -> Iterator[LabelSet]:
    source, index = f"the labels of {benchmark}/{split}", Columns.of(Row, entries)
    labels = entries.arrays["label"].tolist()
    by_label = {label: (label,) if label >= 0 else None for label in {*labels}}
    single = [by_label[label] for label in labels]
    several = [*entries.values("labels")]
    if any(single) or not any(several):
        yield build_original_labels(benchmark, index, single, source)
    if any(labels is not None for labels in several):
        yield build_label_set(MULTILABEL, index, several, "exclude", source)


def _check_names(location: Path | str, names: Sequence[str]) -> None:
    for name in names:
        try:
            name.encode()
        except UnicodeEncodeError as error:
            raise DataError(
                f"{location} has the class name {name!r}, which is no UTF-8 text: rename the class."
            ) from error


def _check_keys(location: Path | str, entries: Columns[IndexEntry]) -> None:
    keys = entries.arrays["key"]
    if (keys[:-1] < keys[1:]).all():
        return
    entry_by_key: dict[str, IndexEntry] = {}
    for entry in entries:
        if (first := entry_by_key.setdefault(entry.key, entry)) is not entry:
            raise DataError(
                f"{location} has two samples with the key {entry.key}"
                f"{f', in {first.path} and in {entry.path}' if first.path else ''}: rename or remove one."
            )


def _check_range(location: Path | str, entries: Columns[IndexEntry], classes: int) -> None:
    labels = entries.arrays["label"]
    doubtful = (labels < 0) | (labels >= classes)  # or with a list of labels instead
    for entry in entries.take(np.flatnonzero(doubtful)):
        for label in (entry.label,) if entry.labels is None else entry.labels:
            if not 0 <= label < classes:
                raise DataError(
                    f"{location}: sample {entry.location} has the label {label}, expected 0 to {classes - 1}: "
                    "correct the label or the class names."
                )

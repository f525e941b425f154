"""Read label files of users, check them, and align them with the rows of a data set."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import cast, get_args
from unicodedata import normalize

from eyechart.data.dataset.columns import Columns
from eyechart.data.dataset.dataset import LabelSet, Row, build_label_set
from eyechart.data.imagenet.classes import CLASSES, VAL_COUNT, val_file
from eyechart.data.labels.label_formats import FORMATS, Labels, Location, Reader, detect_format
from eyechart.data.names import composed
from eyechart.errors import DataError
from eyechart.files.folders import expand_home
from eyechart.files.installed import packaged_file
from eyechart.files.text_files import check_text, unix_lines, utf8_bytes
from eyechart.messages.suggestions import did_you_mean
from eyechart.statistics.accuracy import Empty

EXAMPLES = 3
MIN_EQUAL = 10  # images whose labels say that a file counts from 1
UNUSUAL = re.compile(r"\\|\./|//|[/.]$", re.MULTILINE)  # in a name that is no plain relative path
MULTI_DATASET_FORMATS = ("multilabel", "imagenet-m")  # with images of ImageNetV2, and only annotated ones
PARTIAL_FORMATS = ("reimagenet", "kisel", "expert")  # ReGT covers 375 classes, the others are corrections
OPTION = re.compile(r"(?P<name>[^\[\]=]+?)\s*(?:\[(?P<options>[^\[\]]*)\])?\s*=\s*(?P<path>.+)")


@dataclass(frozen=True)
class LabelFile:
    """Labels by image name, () for no class; unannotated images are absent. The sha256 is the file's."""

    labels: Mapping[str, Labels]
    sha256: str
    source: str
    format: str

    @cached_property
    def line_by_form(self) -> Mapping[str, int]:
        """The index of the line with each form of an image name that only one line has."""
        return _unambiguous_forms(tuple(self.labels))


class ImageNames:
    """The names of a split's images, which the lines of its label files are matched with."""

    def __init__(self, index: Sequence[Row]) -> None:
        self.index = Columns.of(Row, index)
        self._matched: tuple[LabelFile, list[int | None]] | None = None  # the last file, which is asked for again

    @cached_property
    def forms(self) -> list[list[str | None]]:
        """The forms of file names and keys, the most exact first, None for one that several rows have."""
        columns: list[list[str]] = []
        for column in (
            *_form_columns([*self.index.values("file")]),
            *_form_columns([*self.index.values("key")]),
        ):
            if column not in columns:
                columns.append(column)
        if len(set[str]().union(*columns)) == sum(map(len, columns)):  # all forms differ
            return [[*column] for column in columns]
        _, shared = _index_forms(columns)
        return [[None if form in shared else form for form in column] for column in columns]

    def match(self, label_file: LabelFile) -> list[int | None]:
        """Return for each row of the index the index of its line in a label file, None if there is none.

        Names in another Unicode form, as macOS writes them, are the same.
        """
        if self._matched is None or self._matched[0] is not label_file:
            self._matched = label_file, self._match(label_file.line_by_form)
        return self._matched[1]

    def _match(self, line_by_form: Mapping[str, int]) -> list[int | None]:
        spellings = composed(line_by_form) if not all(map(str.isascii, line_by_form)) else {}
        matches = list[int | None]([None] * len(self.index))

        def find(form: str) -> int | None:
            line = line_by_form.get(form)
            if line is None and not form.isascii():
                line = line_by_form.get(spellings.get(normalize("NFC", form), form))
            return line

        for column in self.forms:
            if None not in matches:
                break
            lines = [None if form is None else find(form) for form in column]
            matches = [line if match is None else match for match, line in zip(matches, lines, strict=True)]
        return matches


@dataclass(frozen=True)
class LabelsOption:
    """A value of `--eye-labels`: `name=path` or `name[format=…,empty=…]=path`."""

    name: str
    path: str
    format: str | None = None
    empty: Empty | None = None


def parse_labels_option(text: str) -> LabelsOption:
    """Parse a value of `--eye-labels`.

    >>> parse_labels_option("ReaL[empty=exclude]=real.json")
    LabelsOption(name='ReaL', path='real.json', format=None, empty='exclude')
    """
    match = OPTION.fullmatch(text.strip())
    if not match:
        raise DataError(f"--eye-labels '{text}' cannot be read. Expected name=path or name[format=…,empty=…]=path.")
    allowed: dict[str, Sequence[str]] = {"format": (*FORMATS,), "empty": get_args(Empty)}
    options = dict(_options(text, match["options"] or "", allowed))
    empty = cast("Empty", options.get("empty", "correct"))
    return LabelsOption(match["name"].strip(), expand_home(match["path"].strip()), options.get("format"), empty)


def read_labels(path: str | Path, format: str | None = None, *, classes: int = CLASSES) -> LabelFile:  # noqa: A002
    """Read a label file; the format is detected from the content by default."""
    try:
        data = Path(path).read_bytes()
        check_text(utf8_bytes(data), "it")
        text = unix_lines(utf8_bytes(data).decode())
        name = format or detect_format(text)
        labels = _parse(name, text)
        _check_range(name, text, labels, classes)
    except OSError as error:
        raise DataError(f"The label file {path} cannot be read ({error.strerror}).") from error
    except UnicodeDecodeError as error:
        raise DataError(f"The label file {path} is not UTF-8 at byte {error.start}. Save it as UTF-8.") from error
    except DataError as error:
        raise DataError(f"The label file {path}, {error}") from error
    return LabelFile(labels, sha256(data).hexdigest(), str(path), name)


def packaged_real_labels() -> LabelFile:
    """Return the ReaL labels (Beyer et al. 2020) of the 50,000 validation images, as shipped by timm."""
    return read_labels(packaged_file("timm", "data", "_info", "imagenet_real_labels.json"), "real")


def align_labels(
    label_file: LabelFile, images: ImageNames, name: str, empty: Empty, selected: Sequence[int] | None = None
) -> LabelSet:
    """Return the label set of the selected rows of a split, all by default, matched by file name or key.

    Raises DataError if no selected row has a line, and for labels that count from 1.
    """
    values, matches = [*label_file.labels.values()], images.match(label_file)
    indices = range(len(images.index)) if selected is None else selected
    rows = images.index if selected is None else images.index.take(selected)
    labels = [None if (line := matches[index]) is None else values[line] for index in indices]
    if len(rows) and not any(valid is not None for valid in labels):
        if not label_file.labels:
            raise DataError(f"The label file {label_file.source} has no labels of an image: give a line at least.")
        if shared := {*label_file.labels} & {*rows.values("file")}:
            raise DataError(
                f"The label file {label_file.source} has '{min(shared)}', which is the name of several images: write "
                f"their keys, such as '{rows[0].key}'."
            )
        raise DataError(
            f"The label file {label_file.source} names none of the {len(rows)} images: its first is "
            f"'{next(iter(label_file.labels))}', the data set's '{rows[0].file}' with the key "
            f"'{rows[0].key}'."
        )
    _check_first_number(label_file, rows, labels)
    return build_label_set(name, rows, labels, empty, label_file.source)


def _check_first_number(label_file: LabelFile, rows: Columns[Row], labels: Sequence[Labels | None]) -> None:
    """Raise DataError if the labels equal the data set's plus 1, and never its own."""
    both = zip(rows.values("label"), labels, strict=True)
    if any(valid and valid[0] == own >= 0 for own, valid in both):  # as for most files, near the first line
        return
    pairs = [(own, valid[0]) for own, valid in zip(rows.values("label"), labels, strict=True) if valid and own >= 0]
    later = sum(label == own + 1 for own, label in pairs)
    if later >= MIN_EQUAL and 2 * later > len(pairs):
        raise DataError(
            f"The label file {label_file.source} has the data set's own label plus 1 for {later:,} of {len(pairs):,} "
            "images, and never the label itself: its numbers begin at 1. Subtract 1 from all."
        )


def describe_mismatches(label_file: LabelFile, images: ImageNames) -> tuple[str, ...]:
    """Return notes about lines that match no image of the split, and about images without a line.

    Not reported: images that a published format omits by design, images of other data sets, and other validation images
    of ImageNet if the split is a subset of them.
    """
    if label_file.format in MULTI_DATASET_FORMATS:
        return ()
    matches = images.match(label_file)
    used = {entry for entry in matches if entry is not None}
    whole = len(images.index) >= VAL_COUNT
    lines = [
        name for index, name in enumerate(label_file.labels) if index not in used and (whole or val_file(name) is None)
    ]
    unnamed = [file for file, entry in zip(images.index.values("file"), matches, strict=True) if entry is None]
    partial = label_file.format in PARTIAL_FORMATS
    no_image = _count(lines, "line names no image", "lines name no image")
    no_line = _count([] if partial else unnamed, "image has no line", "images have no line")
    return tuple(f"{label_file.source}: {sentence}" for sentence in (no_image, no_line) if sentence)


def _count(names: Sequence[str], singular: str, plural: str) -> str:
    """Return the number of names and the first ones as text, "" for none."""
    shown = f"{', '.join(names[:EXAMPLES])}{', …' if len(names) > EXAMPLES else ''}"
    return f"{len(names):,} {singular if len(names) == 1 else plural} ({shown})" if names else ""


def _form_columns(names: Sequence[str]) -> list[list[str]]:
    """Return the forms of file names, the most exact first: path, base name, and both without extension.

    Equal columns are returned once.

    >>> _form_columns(["a/cat.png"])
    [['a/cat.png'], ['cat.png'], ['a/cat'], ['cat']]
    >>> _form_columns(["cat.png"])
    [['cat.png'], ['cat']]
    """
    text = "\n".join(names)  # one search of all names takes a tenth of the time of one for each
    if UNUSUAL.search(text):
        names = [str(PurePosixPath(name.replace("\\", "/"))) if UNUSUAL.search(name) else name for name in names]
    paths = [*names]
    if "/" not in text and "\\" not in text:
        return [paths, [_without_extension(path) for path in paths]]
    bases = [path.rpartition("/")[2] for path in paths]
    stems = [_without_extension(base) for base in bases]
    folders = [path[: len(path) - len(base)] for path, base in zip(paths, bases, strict=True)]
    return [paths, bases, [f"{folder}{stem}" for folder, stem in zip(folders, stems, strict=True)], stems]


@lru_cache(maxsize=2)
def _unambiguous_forms(names: tuple[str, ...]) -> Mapping[str, int]:
    """Return the index of the name with each form that only one has; files of one session often have the same names."""
    index_by_form, shared = _index_forms(_form_columns(names))
    return {form: index for form, index in index_by_form.items() if form not in shared} if shared else index_by_form


def _without_extension(base: str) -> str:
    return base[:dot] if 0 < (dot := base.rfind(".")) < len(base) - 1 else base


def _index_forms(columns: Sequence[Sequence[str]]) -> tuple[dict[str, int], set[str]]:
    """Return the index of an item with each form, and the forms that several items have."""
    index_by_form: dict[str, int] = {}
    for column in columns:
        index_by_form.update(zip(column, range(len(column)), strict=True))
    shared: set[str] = set()
    if len(index_by_form) == sum(map(len, columns)):  # all forms differ
        return index_by_form, shared
    for column in columns:
        if [*map(index_by_form.__getitem__, column)] != [*range(len(column))]:
            shared |= {form for index, form in enumerate(column) if index_by_form[form] != index}
    return index_by_form, shared


def _reader(name: str) -> Reader:
    if name not in FORMATS:
        raise DataError(f"format '{name}' is not known{did_you_mean(name, [*FORMATS])} Expected {', '.join(FORMATS)}.")
    return FORMATS[name]


@lru_cache(maxsize=8)
def _parse(name: str, text: str) -> Mapping[str, Labels]:
    """Return the labels by image name; a session reads each file when it starts and for each split."""
    entries = [*_reader(name)(text)]
    labels = {image: valid for _, image, valid in entries}
    if len(labels) < len(entries):
        location_by_name: dict[str, str] = {}
        for location, image, _ in entries:
            where = _describe(location)
            if image in location_by_name:
                raise DataError(f"{where}: '{image}' stands in {location_by_name[image]} already. Keep one of the two.")
            location_by_name[image] = where
    if all(valid is not None and len(valid) < 2 for valid in {*labels.values()}):  # few labels differ, of many lines
        return cast("Mapping[str, Labels]", labels)
    return {
        image: valid if len(valid) < 2 else tuple(dict.fromkeys(valid))
        for image, valid in labels.items()
        if valid is not None
    }


def _check_range(name: str, text: str, labels: Mapping[str, Labels], classes: int) -> None:
    numbers = {label for valid in {*labels.values()} for label in valid}
    if not numbers or (min(numbers) >= 0 and max(numbers) < classes):
        return
    for location, image, valid in _reader(name)(text):
        if wrong := [label for label in valid or () if not 0 <= label < classes]:
            where = _describe(location)
            raise DataError(f"{where}: the label {wrong[0]} of '{image}' is out of range, expected 0 to {classes - 1}.")


def _describe(location: Location) -> str:
    """Return where an entry of a label file is.

    >>> _describe(3), _describe("entry 'cat.png'")
    ('line 3', "entry 'cat.png'")
    """
    return f"line {location}" if isinstance(location, int) else location


def _options(text: str, body: str, allowed: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, str]]:
    for piece in filter(None, map(str.strip, body.split(","))):
        key, _, value = map(str.strip, piece.partition("="))
        if key not in allowed:
            raise DataError(f"--eye-labels '{text}' has the option '{key}'{did_you_mean(key, [*allowed])}")
        if value not in allowed[key]:
            raise DataError(f"--eye-labels '{text}' has {key}={value}; expected one of {', '.join(allowed[key])}.")
        yield key, value

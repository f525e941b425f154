"""The files of a second annotation pass: the key of a sheet, and the answers, as JSON.

The sheet is for the annotator and does not contain who suggested which name. The key does; it must not be given to
annotators.
"""

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec

from eyechart.errors import ReportError
from eyechart.results.records import encode

SCHEMA = 1
MODEL, LABELS, ORIGINAL, SECOND = "model", "labels", "original", "second"
T = TypeVar("T")


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A candidate class of an image: index, name as shown, and who suggested it."""

    label: int
    name: str
    by: tuple[str, ...]


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """An image with its candidates, in the order in which they are shown."""

    key: str
    category: str
    candidates: tuple[Candidate, ...]


class CategoryCounts(msgspec.Struct, frozen=True, kw_only=True):
    """The number of images of a category, with a valid prediction, and with one that the labels dispute."""

    category: str
    images: int
    valid: int
    disputed: int


class SheetSource(msgspec.Struct, frozen=True, kw_only=True):
    """The answers and the labels that dispute them; answers to sheets of one source are counted together."""

    case: str
    protocol: str
    predictions: str
    labels: str
    labels_sha256: str
    second: str | None
    second_predictions: str | None
    counts: tuple[CategoryCounts, ...]


class SampleDraw(msgspec.Struct, frozen=True, kw_only=True):
    """A sample of the images of a split, drawn by chance, whose answers estimate the accuracy of every model.

    `strata` has a character for each image of the split: the number of its stratum, or `-` for an image that the labels
    do not score. `size` images were drawn, and every image of a stratum had the same probability. The answers to a
    `sequential` sample may be looked at before all are there. `equivalents` are the classes that count as equal to an
    offered class, by its number.
    """

    split: str
    fingerprint: str
    labels: str
    labels_sha256: str
    size: int
    seed: int
    strata: str
    sequential: bool
    equivalents: dict[str, tuple[int, ...]]

    def __hash__(self) -> int:
        return hash((self.fingerprint, self.labels, self.strata, self.size, self.seed))


class _Key(msgspec.Struct, frozen=True, kw_only=True):
    schema: int = SCHEMA
    names: str
    items: tuple[Item, ...]

    @property
    def sheet(self) -> str:
        """Return the id of the sheet: a digest of the key, which reveals nothing."""
        return sha256(msgspec.json.encode(self, order="sorted")).hexdigest()[:16]


class SheetKey(_Key, frozen=True, kw_only=True):
    """The images of a sheet of disputed images and the sources of their candidates; items are numbered from 1."""

    source: SheetSource
    seed: int


class SampleKey(_Key, frozen=True, kw_only=True):
    """The images of the sheet of a drawn sample, or of an annotator's part of it, in the order of the draw."""

    draw: SampleDraw


AnyKey = SheetKey | SampleKey
Key = TypeVar("Key", SheetKey, SampleKey)


class AnnotatorChoice(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The answer to one image: the selected candidates, numbered from 1, or `none` if no candidate is right."""

    selected: tuple[int, ...] = ()
    none: bool = False
    comment: str = ""

    @property
    def is_answered(self) -> bool:
        """Return whether there is an answer, not only a comment."""
        return self.none or bool(self.selected)


class _SheetAnswers(msgspec.Struct, frozen=True, kw_only=True):
    """The file that a sheet's button writes: choices by the number of the image."""

    schema: int
    sheet: str
    answers: dict[str, AnnotatorChoice]


class AnswerFile(msgspec.Struct, Generic[Key], frozen=True, kw_only=True):
    """A file of answers with the key of its sheet."""

    path: Path
    key: Key
    answers: _SheetAnswers

    @property
    def choices(self) -> dict[int, AnnotatorChoice]:
        """Return the answers by the index of their image in the key."""
        return {int(number) - 1: choice for number, choice in self.answers.answers.items() if choice.is_answered}


def key_path(sheet: Path) -> Path:
    """Return the path of a sheet's key."""
    return sheet.with_suffix(".key.json")


def write_key(key: AnyKey, path: Path) -> None:
    """Write a key; raise ReportError if the file is the key of another sheet, whose answers would become unreadable."""
    if path.is_file() and read_key(path).sheet != key.sheet:
        raise ReportError(
            f"{path} is the key of another sheet, whose answers cannot be read without it. "
            "Give this sheet another name with --out, or remove the key."
        )
    path.write_bytes(encode(key))


def read_key(path: Path) -> AnyKey:
    """Return the key in a file, that of disputed images or that of a drawn sample."""
    description, remedy = "the key of a sheet", "Write the sheet again, with the same options."
    if "draw" in read(path, dict[str, Any], description, remedy):
        return read(path, SampleKey, description, remedy)
    return read(path, SheetKey, description, remedy)


def read_answers(paths: Sequence[Path], folders: Sequence[Path], kind: type[Key]) -> list[AnswerFile[Key]]:
    """Return the answers to sheets of one kind; raise ReportError if two files answer the same image of one sample."""
    files = [file for path in paths for file in [_read_answer_file(path, folders)] if isinstance(file.key, kind)]
    for index, file in enumerate(files):
        for other in files[:index]:
            twice = _answered_keys(other) & _answered_keys(file) if _source(other.key) == _source(file.key) else set()
            if twice:
                raise ReportError(
                    f"{other.path} and {file.path} both answer the image {min(twice)}, of {len(twice)} in common. "
                    "Give one of them, or make a table of each."
                )
    return files


def _source(key: AnyKey) -> SheetSource | SampleDraw:
    return key.source if isinstance(key, SheetKey) else key.draw


def _answered_keys(file: AnswerFile[Any]) -> set[str]:
    return {file.key.items[index].key for index in file.choices}


def _read_answer_file(path: Path, folders: Sequence[Path]) -> AnswerFile[Any]:
    """Return answers checked against the key of their sheet, which is in their folder or one of `folders`."""
    again = "Download the answers from the sheet again."
    answers = read(path, _SheetAnswers, "the answers to a sheet", again)
    key = _find_key(answers.sheet, path, (path.parent, *folders))
    for number, choice in answers.answers.items():
        if fault := _find_fault(number, choice, key):
            raise ReportError(f"{path}: the answer to picture {number!r} {fault}. {again}")
    return AnswerFile[Any](path=path, key=key, answers=answers)


def _find_key(sheet: str, answers: Path, folders: Sequence[Path]) -> AnyKey:
    """Return the key of a sheet; other keys in the folders are ignored."""
    keys = dict.fromkeys(path for folder in folders for path in sorted(folder.glob("*.key.json")))
    match = next((key for path in keys if (key := read_key(path)).sheet == sheet), None)
    if match is None:
        searched = ", ".join(dict.fromkeys(map(str, folders)))
        raise ReportError(
            f"{answers} answers the sheet {sheet}, and none of the {len(keys)} keys in {searched} is of that sheet. "
            "Put the .key.json that was written with the sheet next to the answers."
        )
    return match


def _find_fault(number: str, choice: AnnotatorChoice, key: AnyKey) -> str:
    """Return what is wrong with an answer, or ""."""
    numbers = [str(index) for index in range(1, len(key.items) + 1)]
    if number not in numbers:
        return f"is about no picture of the sheet, which has 1 to {len(numbers)}"
    n_candidates = len(key.items[int(number) - 1].candidates)
    if len({*choice.selected}) < len(choice.selected) or not all(
        1 <= index <= n_candidates for index in choice.selected
    ):
        return f"chooses {list(choice.selected)}, expected different numbers from 1 to {n_candidates}"
    return "chooses candidates and none of them at once" if choice.selected and choice.none else ""


def read(path: Path, kind: type[T], description: str, remedy: str) -> T:
    """Return the content of a JSON file of one of the types above; raise ReportError for another schema."""
    try:
        data = path.read_bytes()
        value = msgspec.json.decode(data, type=kind)
    except OSError as error:
        raise ReportError(f"{path} cannot be read ({error.strerror}); expected {description}. {remedy}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ReportError(f"{path} is not {description} ({error}). {remedy}") from error
    if (schema := getattr(value, "schema", SCHEMA)) != SCHEMA:
        raise ReportError(f"{path} has schema {schema}, expected {SCHEMA}. Use the eyechart that wrote it.")
    return value

"""Readers of training corpora: the texts of each image, from LLaVA's conversations, COCO's captions or a table."""

import re
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping
from csv import DictReader, Error
from dataclasses import dataclass
from hashlib import sha256
from io import StringIO
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec

from eyechart.data.names import fold_name
from eyechart.errors import DataError
from eyechart.files.text_files import plain_text, utf8_bytes
from eyechart.messages.suggestions import did_you_mean
from eyechart.oodbench.data.annotation import Exclusion, list_exclusions

_RELEASE = re.compile(r"COCO_(?:train|val|test)\d{4}_(?=\d{12}$)")  # the same images without it in later releases
_ENDING = re.compile(r"\.(?:jpe?g|png|webp|gif|bmp|tiff?|jp2)$", re.IGNORECASE)  # names may have other dots
_PLACEHOLDER = re.compile(r"<image>|<video>")
TEXTS = ("text", "caption", "captions", "conversations")

_CorpusEntry = tuple[str, str, Iterable[str]]  # the line in the file, the image ("" if there is none), its texts


@dataclass(frozen=True)
class Corpus:
    """The texts of each image by the stem of its file name, and the format, hash and path of the corpus file."""

    texts: Mapping[str, tuple[str, ...]]
    format: str
    sha256: str
    source: str
    excluded: tuple[Exclusion, ...]


def stem(image: str) -> str:
    """Return the name of an image that is the same in all corpora: its file name without folder and suffix.

    COCO's releases of 2014 have a prefix before the number, which is removed.

    >>> stem("coco/train2017/000000033471.jpg") == stem("COCO_train2014_000000033471.jpg")
    True
    """
    return _RELEASE.sub("", _ENDING.sub("", PurePosixPath(image.replace("\\", "/")).name))


def read_corpus(path: str | Path, images: Container[str] | None = None) -> Corpus:
    """Read a corpus; only the texts of `images` (stems) are kept, if given, to save memory.

    A .csv file has the columns image and text. A .jsonl file has one object per line and a .json file a list of
    objects, with `image` (one name or a list) and `text`, `caption`, `captions` or LLaVA's `conversations`. A .json
    file with a single object is read as COCO captions. Entries without an image are counted and skipped.
    """
    try:
        data = Path(path).read_bytes()
        name, entries = _recognised(Path(path), data)
        return _collected(entries, name, data, str(path), images)
    except OSError as error:
        raise DataError(f"The corpus {path} cannot be read ({error.strerror}).") from error
    except UnicodeDecodeError as error:
        raise DataError(f"The corpus {path} is not UTF-8 at byte {error.start}. Save it as UTF-8.") from error
    except DataError as error:
        raise DataError(f"The corpus {path}, {error}") from error


def read_synonyms(path: str | Path, categories: Iterable[str]) -> Mapping[str, tuple[str, ...]]:
    """Read synonyms of categories from a CSV file with the columns category and words, separated by semicolons."""
    known = {fold_name(name): name for name in categories}
    words_by_category: defaultdict[str, list[str]] = defaultdict(list)
    try:
        for where, row in _table(plain_text(Path(path)), "category", "words"):
            category = known.get(fold_name(row["category"]))
            if category is None:
                near = did_you_mean(row["category"], [*known.values()])
                raise DataError(f"{where}: '{row['category']}' is no category{near}")
            words_by_category[category] += [word.strip() for word in row["words"].split(";") if word.strip()]
    except OSError as error:
        raise DataError(f"The synonyms {path} cannot be read ({error.strerror}).") from error
    except UnicodeDecodeError as error:
        raise DataError(f"The synonyms {path} are not UTF-8 at byte {error.start}. Save them as UTF-8.") from error
    except DataError as error:
        raise DataError(f"The synonyms {path}, {error}") from error
    return {category: tuple(dict.fromkeys(words)) for category, words in words_by_category.items()}


def _collected(
    entries: Iterable[_CorpusEntry], name: str, data: bytes, source: str, images: Container[str] | None
) -> Corpus:
    texts: defaultdict[str, list[str]] = defaultdict(list)
    nameless = []
    for where, image, image_texts in entries:
        if not image:
            nameless.append(where)
        elif images is None or stem(image) in images:
            texts[stem(image)] += image_texts
    unique_texts = {image: tuple(dict.fromkeys(image_texts)) for image, image_texts in texts.items()}
    return Corpus(
        unique_texts, name, sha256(data).hexdigest(), source, list_exclusions("entry", "it has no image", nameless)
    )


def _recognised(path: Path, data: bytes) -> tuple[str, Iterator[_CorpusEntry]]:
    ending = path.suffix.casefold()
    if ending == ".csv":
        return "csv", _rows(utf8_bytes(data).decode())
    if ending == ".jsonl":
        return "jsonl", _lines(data)
    if ending != ".json":
        raise DataError(f"its format '{path.suffix}' is not known. Expected .json, .jsonl or .csv.")
    if utf8_bytes(data).lstrip().startswith(b"{"):
        return "captions", _captions(_decode(data, _Captions))
    return "json", _objects(_decode(data, list[_Entry]))


class _Turn(msgspec.Struct):
    value: str


class _Entry(msgspec.Struct):
    image: str | list[str] | None = None
    text: str | list[str] | None = None
    caption: str | list[str] | None = None
    captions: str | list[str] | None = None
    conversations: list[_Turn] | None = None


class _Image(msgspec.Struct):
    id: int | str
    file_name: str


class _Caption(msgspec.Struct):
    image_id: int | str
    caption: str


class _Captions(msgspec.Struct):
    images: list[_Image]
    annotations: list[_Caption]


def _objects(entries: Iterable[_Entry], what: str = "entry") -> Iterator[_CorpusEntry]:
    for number, entry in enumerate(entries, 1):
        yield from _said(f"{what} {number}", entry)


def _lines(data: bytes) -> Iterator[_CorpusEntry]:
    for number, line in enumerate(utf8_bytes(data).splitlines(), 1):
        if line.strip():
            yield from _said(f"line {number}", _decode(line, _Entry, f"line {number}: "))


def _said(where: str, entry: _Entry) -> Iterator[_CorpusEntry]:
    fields = [entry.text, entry.caption, entry.captions]
    texts = [text for field in fields if field is not None for text in _several(field)]
    texts += [_PLACEHOLDER.sub(" ", turn.value) for turn in entry.conversations or ()]
    if not texts and entry.conversations is None and not any(field is not None for field in fields):
        raise DataError(f"{where}: it has none of the keys {', '.join(TEXTS)}. Use one of them for the image's text.")
    for image in _several(entry.image or ""):
        yield where, image, texts


def _several(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


def _captions(captions: _Captions) -> Iterator[_CorpusEntry]:
    names = {str(image.id): image.file_name for image in captions.images}
    for number, caption in enumerate(captions.annotations, 1):
        if str(caption.image_id) not in names:
            raise DataError(f"annotation {number}: its image_id {caption.image_id} is not among the file's images.")
        yield f"annotation {number}", names[str(caption.image_id)], [caption.caption]


def _rows(text: str) -> Iterator[_CorpusEntry]:
    for where, row in _table(text, "image", "text"):
        yield where, row["image"], [row["text"]]


def _table(text: str, *columns: str) -> Iterator[tuple[str, Mapping[str, str]]]:
    reader = DictReader(StringIO(text, newline=""), strict=True)
    if missing := {*columns} - {*(reader.fieldnames or ())}:
        raise DataError(f"it has no column {', '.join(sorted(missing))}; expected {' and '.join(columns)}.")
    try:
        for row in reader:
            if None in row or None in row.values():
                raise DataError(f"line {reader.line_num}: {[*row.values()]} does not have the columns of the header.")
            yield f"line {reader.line_num}", row
    except Error as error:
        raise DataError(f"after line {reader.line_num}: {error}.") from error


def _decode(data: bytes, shape: Any, where: str = "") -> Any:
    try:
        return msgspec.json.decode(data.removeprefix(b"\xef\xbb\xbf"), type=shape)
    except msgspec.ValidationError as error:
        raise DataError(f"{where}{error}.") from error
    except msgspec.DecodeError as error:
        raise DataError(f"{where}it is not valid JSON ({error}).") from error

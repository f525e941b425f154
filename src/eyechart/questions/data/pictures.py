"""The pictures that a table of questions names or holds: files, base64 texts, bytes and open pictures."""

import json
import re
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from eyechart.data.dataset.dataset import Dataset, Row
from eyechart.data.index.image_files import find_file, find_picture, is_below
from eyechart.data.labels.label_values import is_missing
from eyechart.data.readers.in_memory import ImageSource
from eyechart.errors import DataError

FOLDER = "images"  # a folder of pictures beside the table
SEPARATORS = (";", "|", ",")
SHORTEST_BASE64 = 64
BASE64 = re.compile(r"(?:data:image/[\w.+-]+;base64,)?([A-Za-z0-9+/\s]+={0,2}\s*)")


class _Picture(NamedTuple):
    """A picture: its name in messages, the sha256 of its bytes, and where these are."""

    name: str
    sha256: str
    content: Path | bytes | Any


@dataclass(frozen=True)
class _PictureSource:
    """Reads pictures: files, or bytes and open pictures in memory."""

    pictures: Sequence[_Picture]

    def read(self, rows: Sequence[int]) -> Iterator[tuple[int, bytes]]:
        """Yield (row, image bytes) in the requested order."""
        for row in rows:
            yield row, _read(self.pictures[row].content, self.pictures[row].name)

    def part(self, rows: Sequence[int]) -> "_PictureSource":
        """Return the source of some rows alone."""
        return _PictureSource([self.pictures[row] for row in rows])

    def location(self, row: int) -> str:
        """Return the path of a picture, or the row of the table that holds it."""
        return self.pictures[row].name


def _read(content: Any, name: str) -> bytes:
    if isinstance(content, bytes):
        return content
    if isinstance(content, Path):
        try:
            return content.read_bytes()
        except OSError as error:
            raise DataError(f"{name} cannot be read ({error.strerror}). Put it back, or copy it again.") from error
    return next(data for _, data in ImageSource([(content, 0)]).read([0]))


@dataclass
class PictureList:
    """The different pictures of a table, in the order in which its rows name them.

    `folders` are those in which paths are looked for, the first one first.
    """

    folders: Sequence[Path]
    pictures: list[_Picture] = field(default_factory=list)
    _by_sha256: dict[str, int] = field(default_factory=dict)
    _by_path: dict[Path, int] = field(default_factory=dict)

    def add_cell(self, cell: Any, where: str) -> list[int]:
        """Return the indices of the pictures of a cell, [] for an empty one. Raises DataError, which names the row."""
        if isinstance(cell, str):
            return [self._add(item, where) for item in self._split(cell.strip(), where)]
        if isinstance(cell, list | tuple) or (hasattr(cell, "tolist") and getattr(cell, "ndim", 0) == 1):
            return [index for item in cell for index in self.add_cell(item, where)]
        return [] if is_missing(cell) else [self._add(cell, where)]

    def dataset(self, benchmark: str, split: str) -> Dataset:
        """Return the pictures as a data set without labels."""
        index = tuple(Row(name, Path(name).name, digest) for name, digest, _ in self.pictures)
        return Dataset(benchmark, split, index, _PictureSource(tuple(self.pictures)), 0)

    def _split(self, text: str, where: str) -> list[Any]:
        """Return the paths or base64 texts of a cell."""
        if not text or self._find(text) is not None:
            return [text] if text else []
        if text.startswith("["):
            return _list_of(text, where)
        if text.startswith("data:") or (len(text) > SHORTEST_BASE64 and BASE64.fullmatch(text)):
            return [text]
        for sign in SEPARATORS:
            parts = [*filter(None, map(str.strip, text.split(sign)))]
            if len(parts) > 1:
                return parts
        return [text]

    def _find(self, text: str) -> Path | None:
        """Return the file that a path names, None if there is none."""
        if len(text) > 1000 or "\n" in text:
            return None
        for folder in self.folders:
            if is_below(path := find_picture(folder, text)) and (folder / path).is_file():
                return folder / path
        absolute = find_file(text)
        return absolute if absolute.is_absolute() and absolute.is_file() else None

    def _add(self, item: Any, where: str) -> int:
        """Return the index of a picture, which is added unless it is known."""
        if isinstance(item, dict):
            item = item.get("bytes") or item.get("path")
        if isinstance(item, str) and (path := self._find(item)):
            return self._add_file(path)
        if isinstance(item, Path):
            item = str(item)
            return self._add(item, where)
        if isinstance(item, str):
            item = self._decode(item, where)
        if not isinstance(item, bytes) and not hasattr(item, "mode"):
            raise DataError(
                f"{where}: the image is a {type(item).__name__}. Expected a path, base64, bytes or a PIL image."
            )
        return self._add_content(item, where)

    def _decode(self, text: str, where: str) -> bytes:
        if "://" in text:
            raise DataError(f"{where}: the image is the URL {text}. Download it, and give its path.")
        match = BASE64.fullmatch(text) if len(text) > SHORTEST_BASE64 else None
        if match:
            try:
                return b64decode("".join(match[1].split()), validate=True)
            except Base64Error as error:
                raise DataError(f"{where}: the image is no base64 ({error}). Write the table again.") from error
        looked = " or ".join(map(str, self.folders))
        raise DataError(
            f"{where}: there is no image {text if len(text) < 200 else f'{text[:200]}…'} below {looked}. Correct the "
            "path, or put the file there."
        )

    def _add_file(self, path: Path) -> int:
        if path not in self._by_path:
            root = next((folder for folder in self.folders if path.is_relative_to(folder)), path.parent)
            name = path.relative_to(root).as_posix()
            self._by_path[path] = self._index(name, sha256(_read(path, str(path))).hexdigest(), path)
        return self._by_path[path]

    def _add_content(self, content: Any, where: str) -> int:
        return self._index(f"picture {len(self.pictures) + 1}", sha256(_read(content, where)).hexdigest(), content)

    def _index(self, name: str, digest: str, content: Any) -> int:
        known = self._by_sha256.setdefault(digest, len(self.pictures))
        if known == len(self.pictures):
            self.pictures.append(_Picture(name, digest, content))
        return known


def _list_of(text: str, where: str) -> list[Any]:
    """Return the items of a list that is written as text, as VLMEvalKit writes several images."""
    try:
        items = json.loads(text.replace("'", '"'))
    except json.JSONDecodeError as error:
        raise DataError(
            f"{where}: the images begin with '[' and are no list. Write ['a.png', 'b.png'], or a.png;b.png."
        ) from error
    return [*items]

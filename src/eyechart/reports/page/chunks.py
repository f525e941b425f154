"""Data chunks as scripts: a page opened from disk may not fetch files, but it may load scripts from its folder.

Each script is one call with a name and JSON as text. It contains no code, and browsers parse it as fast as JSON.
"""

import json
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

FOLDER = "data"
CALL = "eyechart"
MAX_LETTERS = 4000  # of one answer


def script(name: str, value: object) -> str:
    """Return the script of a chunk, in ASCII."""
    return f"{CALL}({json.dumps(name)},{json.dumps(msgspec.json.encode(value).decode())})\n"


def write_chunk(folder: Path, name: str, value: object) -> None:
    """Write one chunk; its name is its path in the data folder."""
    path = folder / FOLDER / f"{name}.js"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(script(name, value), encoding="ascii", newline="\n")


def pack(values: NDArray[Any] | Sequence[int]) -> dict[str, str]:
    """Return integers as little-endian base64 of the smallest type that holds them."""
    array = np.asarray(values)
    low, high = (int(array.min()), int(array.max())) if array.size else (0, 0)
    kind = next((kind for kind in ("u1", "i2", "i4") if fits(kind, low, high)), "i4")
    return {"t": kind, "d": b64encode(array.astype(f"<{kind}").tobytes()).decode()}


def pack_floats(values: NDArray[Any]) -> dict[str, str]:
    """Return numbers as little-endian base64 of four bytes each."""
    return {"t": "f4", "d": b64encode(np.asarray(values, "<f4").tobytes()).decode()}


def fits(kind: str, low: int, high: int) -> bool:
    """Return whether a type holds all numbers of a range."""
    return bool(np.iinfo(kind).min <= low and high <= np.iinfo(kind).max)


def pack_ragged(rows: Iterable[Sequence[int]]) -> dict[str, dict[str, str]]:
    """Return rows of different lengths: the end of each row, and all values."""
    lists = [*rows]
    ends = np.cumsum([len(row) for row in lists], dtype=np.int64)
    return {"ends": pack(ends), "values": pack([value for row in lists for value in row])}


def truncate(text: str) -> str | list[str | int]:
    """Return a text, or if it is too long its beginning and its length."""
    return text if len(text) <= MAX_LETTERS else [text[:MAX_LETTERS], len(text)]


@dataclass
class TextNumbers:
    """Numbers texts, each once; 0 is the empty text."""

    numbers: dict[str, int] = field(default_factory=lambda: {"": 0})

    def __call__(self, text: str) -> int:
        """Return the number of a text."""
        return self.numbers.setdefault(text, len(self.numbers))

    def all(self) -> list[str | list[str | int]]:
        """Return every text in the order of the numbers."""
        return [truncate(text) for text in self.numbers]


def pack_flags(flags: Mapping[int, ArrayLike]) -> NDArray[np.uint8]:
    """Return several boolean columns as the bits of one number."""
    columns = [np.asarray(column, bool).astype(np.uint8) << bit for bit, column in flags.items()]
    return np.asarray(np.bitwise_or.reduce(columns), np.uint8)

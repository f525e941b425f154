"""The packaged art: one atlas a style, whose bytes must be those that were packaged."""

import csv
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from io import BytesIO, StringIO
from pathlib import Path

from PIL import Image

from eyechart import samples
from eyechart.errors import DataError
from eyechart.toybox.styles import STYLES

CELL = 72
COLUMNS = 12
SEAL = "sha256.txt"
REMEDY = "Install eyechart again, or give the folder of an intact sample."


@dataclass(frozen=True)
class Atlas:
    """A style's pictures by class, each cut to its own size."""

    style: str
    sprites: Mapping[int, tuple[Image.Image, ...]]

    @property
    def classes(self) -> tuple[int, ...]:
        """The classes that the style shows."""
        return tuple(sorted(self.sprites))


def packaged_root() -> Path:
    """Return the folder of the packaged art and pictures."""
    return Path(samples.__path__[0]) / "toybox"


def styles(root: Path | None = None) -> tuple[str, ...]:
    """Return the styles whose folders are in place; a folder may be left out for its licence."""
    return tuple(style for style in STYLES if ((root or packaged_root()) / style).is_dir())


@cache
def atlas(style: str, root: Path | None = None) -> Atlas:
    """Open a style's atlas; raises DataError where a file is missing or has changed."""
    folder = (root or packaged_root()) / style
    sheet = Image.open(BytesIO(intact(folder, "atlas.webp"))).convert("RGBA")
    sprites: dict[int, tuple[Image.Image, ...]] = {}
    for line in table(folder, "sprites.csv"):
        label, cell = int(line["class"]), int(line["cell"])
        left, top = cell % COLUMNS * CELL, cell // COLUMNS * CELL
        sprite = sheet.crop((left, top, left + int(line["width"]), top + int(line["height"])))
        sprites[label] = (*sprites.get(label, ()), sprite)
    return Atlas(style, sprites)


def table(folder: Path, name: str) -> list[dict[str, str]]:
    """Read a csv that must be the packaged one."""
    return list(csv.DictReader(StringIO(intact(folder, name).decode(), newline="")))


def intact(folder: Path, name: str) -> bytes:
    """Read a file of a folder, which must have the sha256 that `sha256.txt` beside it gives."""
    expected, data = checksums(folder).get(name, "none"), read(folder / name)
    if (found := sha256(data).hexdigest()) != expected:
        raise DataError(f"{folder / name} has changed: its sha256 is {found}, expected {expected}. {REMEDY}")
    return data


def checksums(folder: Path) -> dict[str, str]:
    """Read the sha256 of a folder's files, in the form of the program `sha256sum`."""
    lines = read(folder / SEAL).decode().splitlines()
    return {name: digest for digest, _, name in (line.partition("  ") for line in lines)}


def seal(folder: Path, suffixes: Container[str] = frozenset({".csv", ".webp"})) -> None:
    """Write down the sha256 of a folder's art, tables and pictures."""
    files = [path for path in sorted(folder.rglob("*")) if path.suffix in suffixes]
    lines = (f"{sha256(path.read_bytes()).hexdigest()}  {path.relative_to(folder).as_posix()}\n" for path in files)
    (folder / SEAL).write_text("".join(lines), encoding="utf-8")


def write_table(path: Path, columns: Sequence[str], rows: Iterable[Mapping[str, object]]) -> None:
    """Write a csv with plain line ends."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n", extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)


def read(path: Path) -> bytes:
    """Read a packaged file."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}). {REMEDY}") from error

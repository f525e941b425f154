"""The packaged art: one atlas a style, whose bytes must be those that were packaged."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from pathlib import Path

from PIL import Image

from eyechart.samples.files import packaged, read_packaged, read_table
from eyechart.toybox.art.styles import STYLES

CELL = 72
COLUMNS = 12


@dataclass(frozen=True)
class _Atlas:
    """A style's pictures by class, each cut to its own size."""

    style: str
    sprites: Mapping[int, tuple[Image.Image, ...]]

    @property
    def classes(self) -> tuple[int, ...]:
        """The classes that the style shows."""
        return tuple(sorted(self.sprites))


def styles(root: Path | None = None) -> tuple[str, ...]:
    """Return the styles whose folders are in place; a folder may be left out for its licence."""
    return tuple(style for style in STYLES if ((root or packaged("toybox")) / style).is_dir())


@cache
def atlas(style: str, root: Path | None = None) -> _Atlas:
    """Open a style's atlas; raises DataError where a file is missing or has changed."""
    folder = (root or packaged("toybox")) / style
    sheet = Image.open(BytesIO(read_packaged(folder, "atlas.webp"))).convert("RGBA")
    sprites: dict[int, tuple[Image.Image, ...]] = {}
    for line in read_table(folder, "sprites.csv"):
        label, cell = int(line["class"]), int(line["cell"])
        left, top = cell % COLUMNS * CELL, cell // COLUMNS * CELL
        sprite = sheet.crop((left, top, left + int(line["width"]), top + int(line["height"])))
        sprites[label] = (*sprites.get(label, ()), sprite)
    return _Atlas(style, sprites)

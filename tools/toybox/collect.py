"""Collect the art from unpacked npm packages and a folder of cut-outs into atlases; needed by nobody who uses them.

    npm install emojibase-data@17 emoji-datasource-google@16 emoji-datasource-twitter@16 \\
        @iconify-json/fluent-emoji-flat@1.2.6 @iconify-json/noto-v1@1.2.5 @lobehub/fluent-emoji-3d@1.1.0
    python -m toybox.collect NODE_MODULES CUTOUTS [TARGET]

An atlas is a lossless WebP of cells, a picture a cell, cropped to what is not transparent and never made larger.
Vector art is drawn by `resvg_py`.
"""

import argparse
import csv
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image

from eyechart.samples.files import packaged, write_checksums, write_table
from eyechart.toybox.art.shapes import CELL, COLUMNS
from eyechart.toybox.art.styles import NAMES_PACKAGE, STYLES
from eyechart.toybox.art.toy_classes import Concept, concepts

DRAWN = 4 * CELL
CLASSES = ("class", "name", "label", "hexcode", "group", "subgroup")
SPRITES = ("cell", "class", "width", "height", "source")
MANIFEST = ("file", "title", "author", "licence", "source_url", "source_package", "source_path", "sha256")
Found = tuple[str, bytes, Image.Image]


class Emoji:
    """The pictures of one set after another, found by code point or by name."""

    def __init__(self, modules: Path) -> None:
        """Read emojibase's names."""
        self.modules = modules
        data = json.loads((modules / "emojibase-data/en/data.json").read_text(encoding="utf-8"))
        self.meta = json.loads((modules / "emojibase-data/meta/groups.json").read_text(encoding="utf-8"))
        self.entries: dict[str, dict[str, Any]] = {entry["label"]: entry for entry in data}

    def classes(self) -> Iterator[dict[str, object]]:
        """Yield the table of classes: emojibase's label, or a tag of it, as name, and its two groups."""
        for number, concept in enumerate(concepts()):
            entry = self.entries[concept.label]
            if concept.name not in (concept.label, *entry["tags"]):
                raise ValueError(f"emojibase does not call '{concept.label}' '{concept.name}'.")
            group, subgroup = str(entry["group"]), str(entry["subgroup"])
            groups = (self.meta["groups"][group], self.meta["subgroups"][subgroup])
            yield dict(zip(CLASSES, (number, concept.name, concept.label, entry["hexcode"], *groups), strict=True))

    def find(self, style: str, concept: Concept) -> Iterator[Found]:
        """Yield the style's picture of a class, if it has one."""
        package = STYLES[style].package.split()[0]
        if style in ("google", "twitter"):
            yield from self._files(f"{package}/img/{style}/64", ".png", concept)
        elif style == "fluent-3d":
            yield from self._files(f"{package}/assets", ".webp", concept)
        else:
            yield from self._drawn(f"{package}/icons.json", concept)

    def _files(self, folder: str, suffix: str, concept: Concept) -> Iterator[Found]:
        code = self.entries[concept.label]["hexcode"].lower()
        for name in (code, code.replace("-fe0f", ""), f"{code}-fe0f"):
            path = self.modules / folder / f"{name}{suffix}"
            if path.is_file():
                yield f"{folder}/{path.name}", path.read_bytes(), Image.open(path)
                return

    def _drawn(self, path: str, concept: Concept) -> Iterator[Found]:
        import resvg_py

        codes = json.loads((self.modules / path).with_name("chars.json").read_text(encoding="utf-8"))
        code = self.entries[concept.label]["hexcode"].lower()
        name = codes.get(code) or re.sub(r"[^a-z0-9]+", "-", concept.label.lower())
        svg = _svg(self.modules / path, name)
        if svg:
            png = bytes(resvg_py.svg_to_bytes(svg_string=svg, width=DRAWN, height=DRAWN, skip_system_fonts=True))
            yield f"{path}:{name}", svg.encode(), Image.open(BytesIO(png))


@cache
def _icons(path: Path) -> Mapping[str, Any]:
    content: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content


def _svg(path: Path, name: str) -> str:
    icons = _icons(path)
    name = icons.get("aliases", {}).get(name, {}).get("parent", name)
    icon, side = icons["icons"].get(name), icons.get("height", 16)
    if icon is None:
        return ""
    box = (icon.get("left", 0), icon.get("top", 0), icon.get("width", side), icon.get("height", side))
    links = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
    return f'<svg {links} viewBox="{" ".join(map(str, box))}">{icon["body"]}</svg>'


def cutouts(folder: Path, concept: Concept) -> Iterator[Found]:
    """Yield the photographs of a class."""
    for name in concept.cutouts:
        path = folder / f"{name}.webp"
        yield path.name, path.read_bytes(), Image.open(path)


def fit_to_cell(image: Image.Image) -> Image.Image:
    """Crop a picture to what is not transparent, its long side no longer than a cell."""
    cut = image.convert("RGBA")
    cut = cut.crop(cut.getchannel("A").point(lambda value: 255 * (value > 7)).getbbox())
    cut.thumbnail((CELL, CELL), Image.Resampling.LANCZOS)
    return cut


def atlas(pictures: Sequence[tuple[int, Found]]) -> tuple[bytes, list[dict[str, object]]]:
    """Put pictures into cells, row by row; return the file and the table of its cells."""
    sheet, table = Image.new("RGBA", (COLUMNS * CELL, -(-len(pictures) // COLUMNS) * CELL)), []
    for cell, (label, (source, _, image)) in enumerate(pictures):
        sprite = fit_to_cell(image)
        sheet.paste(sprite, (cell % COLUMNS * CELL, cell // COLUMNS * CELL))
        table.append(dict(zip(SPRITES, (cell, label, *sprite.size, source), strict=True)))
    buffer = BytesIO()
    sheet.save(buffer, "WEBP", lossless=True, quality=100, method=6)
    return buffer.getvalue(), table


def collect(modules: Path, photographs: Path, target: Path) -> None:
    """Write the table of classes, and every style's atlas with its manifest."""
    emoji = Emoji(modules)
    write_table(target / "emojibase/classes.csv", CLASSES, emoji.classes())
    data = (target / "emojibase/classes.csv").read_bytes()
    names = {
        "file": "classes.csv",
        "title": "emojibase-data, names and groups",
        "author": "Miles Johnson",
        "licence": "MIT",
        "source_url": "https://github.com/milesj/emojibase",
        "source_package": NAMES_PACKAGE,
        "source_path": "en/data.json",
        "sha256": sha256(data).hexdigest(),
    }
    write_table(target / "emojibase/manifest.csv", MANIFEST, [names])
    write_checksums(target / "emojibase")
    for style in STYLES:
        _collect_style(style, emoji, photographs, target / style)
        write_checksums(target / style)


def _collect_style(style: str, emoji: Emoji, photographs: Path, folder: Path) -> None:
    pictures = [
        (label, picture)
        for label, concept in enumerate(concepts())
        for picture in (cutouts(photographs, concept) if style == "cutouts" else emoji.find(style, concept))
    ]
    data, table = atlas(pictures)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "atlas.webp").write_bytes(data)
    write_table(folder / "sprites.csv", SPRITES, table)
    facts = STYLES[style]
    whole = {
        "file": "atlas.webp",
        "title": facts.title,
        "author": facts.author,
        "licence": facts.licence,
        "source_url": facts.url,
        "source_package": facts.package,
        "source_path": "sprites.csv, column source",
        "sha256": sha256(data).hexdigest(),
    }
    rows = [*_stamps(photographs, table)] if style == "cutouts" else [whole]
    write_table(folder / "manifest.csv", MANIFEST, rows)


def _stamps(photographs: Path, table: Sequence[Mapping[str, object]]) -> Iterator[Mapping[str, object]]:
    """Yield a line a cut-out, whose authors differ."""
    used = {line["source"] for line in table}
    with (photographs / "manifest.csv").open(encoding="utf-8", newline="") as file:
        for line in csv.DictReader(file):
            if line["file"] in used:
                package = STYLES["cutouts"].package
                yield {**line, "title": line["category"], "source_url": "", "source_package": package}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m toybox.collect", description=__doc__.splitlines()[0])
    parser.add_argument("modules", type=Path, help="npm's node_modules with the packages named above")
    parser.add_argument("photographs", type=Path, help="folder of cut-outs with manifest.csv")
    parser.add_argument("target", type=Path, nargs="?", default=packaged("toybox"))
    options = parser.parse_args(arguments)
    collect(options.modules, options.photographs, options.target)


if __name__ == "__main__":
    main()

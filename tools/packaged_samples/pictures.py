"""Write the packaged photographs from the folder in which they were collected: of ImageNet's classes, or of birds.

    PYTHONPATH=tools python -m packaged_samples.pictures SOURCE TARGET

Every source folder becomes a self-contained folder with images, `manifest.csv` and `LICENSE-NOTES.txt`. Images with
transparency are centred on white, so that the background is the same for all models; other images are copied unchanged.
If TARGET has a birds.csv, which is edited by hand, only the images that it names are written, and checksums of all.
"""

import argparse
import csv
import io
import json
import math
import re
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path

from PIL import Image

from eyechart.samples.files import packaged, write_checksums, write_table

SHARE = 0.9
LICENCE = packaged("imagenet") / "tuxpaint" / "LICENSE-GPL-2.0.txt"
CHOSEN = "\nOf these pictures the {} that manifest.csv lists are in this folder.\n"
CHANGES = """
Changes made for eyechart: pictures with transparency were centred on a white
square whose side is the picture's long side divided by 0.9, without resampling,
and saved as lossless WebP. The other pictures are unchanged. The columns
source_sha256 and sha256 of manifest.csv belong to the file before and after.
"""
Line = dict[str, str]


def on_white(image: Image.Image) -> Image.Image:
    """Return a cut-out centred on a white square; its long side is 0.9 of the side of the square."""
    cutout = image.convert("RGBA")
    side = math.ceil(max(cutout.size) / SHARE)
    canvas = Image.new("RGB", (side, side), "white")
    canvas.paste(cutout, ((side - cutout.width) // 2, (side - cutout.height) // 2), mask=cutout)
    return canvas


def packaged_bytes(data: bytes) -> bytes:
    """Return the packaged bytes of an image: unchanged, or WebP on white if it has an alpha channel."""
    with Image.open(io.BytesIO(data)) as image:
        if not image.has_transparency_data:
            return data
        buffer = io.BytesIO()
        on_white(image).save(buffer, "WEBP", lossless=True, quality=100, method=6)
    return buffer.getvalue()


def package(source: Path, target: Path) -> None:
    """Write every folder of the source's manifest to the target, with the counts or checksums that readers check."""
    lines, table = _lines(source / "manifest.csv"), target / "birds.csv"
    if is_part := table.is_file():
        wanted = {line["image"] for line in _lines(table)}
        lines = [line for line in lines if line["file"] in wanted]
    remarks = _remarks(source / "NOTES.md") if not is_part else {}
    folders: dict[str, list[Line]] = {}
    for line in lines:
        folders.setdefault(line["file"].partition("/")[0], []).append(line)
    for name, chosen in sorted(folders.items()):
        rows = [_write_picture(source, target, line) | {"remark": remarks.get(line["file"], "")} for line in chosen]
        columns = [column for column in chosen[0] if column != "sha256"]
        columns += ["source_sha256", "sha256"] if is_part else ["source_sha256", "sha256", "remark"]
        write_table(target / name / "manifest.csv", columns, rows)
        notes = (source / name / "LICENSE-NOTES.txt").read_text(encoding="utf-8")
        text = notes.replace("../manifest.csv", "manifest.csv").rstrip() + "\n"
        text += CHOSEN.format(len(chosen)) if is_part else ""
        (target / name / "LICENSE-NOTES.txt").write_text(text + CHANGES, encoding="utf-8")
        if is_part and any(line["licence"].startswith("GPL") for line in chosen):
            shutil.copyfile(LICENCE, target / name / LICENCE.name)
    if is_part:
        write_checksums(target)
    else:
        subsets = {name: Counter(line["subset"] for line in chosen) for name, chosen in folders.items()}
        (target / "counts.json").write_text(json.dumps(subsets, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def _write_picture(source: Path, target: Path, line: Mapping[str, str]) -> Line:
    data = (source / line["file"]).read_bytes()
    content, path = packaged_bytes(data), target / line["file"]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    sums = {"source_sha256": sha256(data).hexdigest(), "sha256": sha256(content).hexdigest()}
    return {**line, **sums, "file": path.name}


def _lines(path: Path) -> list[Line]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _remarks(notes: Path) -> dict[str, str]:
    """Return the remarks by image, from lines of the form: - `folder/file`: remark."""
    if not notes.exists():
        return {}
    return dict(re.findall(r"^- `([^`]+/[^`]+)`: (.+)$", notes.read_text(encoding="utf-8"), re.MULTILINE))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m packaged_samples.pictures", description=__doc__.splitlines()[0])
    parser.add_argument("source", type=Path, help="folder with manifest.csv and the folders of pictures")
    parser.add_argument("target", type=Path, help="folder of the sample, such as src/eyechart/samples/imagenet")
    options = parser.parse_args(arguments)
    package(options.source, options.target)


if __name__ == "__main__":
    main()

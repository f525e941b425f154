"""Write the packaged ImageNet sample from the folder in which it was collected.

    PYTHONPATH=tools python -m packaged_samples.imagenet SOURCE [TARGET]

Every source folder becomes a self-contained folder with images, `manifest.csv` and `LICENSE-NOTES.txt`. Images with
transparency are centred on white, so that the background is the same for all models; other images are copied unchanged.
"""

import argparse
import csv
import io
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path

from PIL import Image

from eyechart.samples.files import packaged

COLUMNS = (
    *("file", "label", "labels", "subset", "title", "author", "licence", "source_url", "source_package"),
    *("source_path", "source_sha256", "sha256", "remark"),
)
SHARE = 0.9
CHANGES = """
Changes made for eyechart: pictures with transparency were centred on a white
square whose side is the picture's long side divided by 0.9, without resampling,
and saved as lossless WebP. The other pictures are unchanged. The columns
source_sha256 and sha256 of manifest.csv belong to the file before and after.
"""


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
    """Write every folder of the source's manifest to the target, and the counts that readers check."""
    with (source / "manifest.csv").open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    remarks = _remarks(source / "NOTES.md")
    folders = sorted({line["file"].split("/")[0] for line in lines})
    chosen = {folder: [line for line in lines if line["file"].startswith(f"{folder}/")] for folder in folders}
    for folder in folders:
        _write_folder(source, target / folder, chosen[folder], remarks)
    counts = {folder: dict(sorted(Counter(line["subset"] for line in chosen[folder]).items())) for folder in folders}
    (target / "counts.json").write_text(json.dumps(counts, indent=2) + "\n", encoding="utf-8")


def _write_folder(source: Path, folder: Path, lines: Iterable[Mapping[str, str]], remarks: Mapping[str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    rows = [_write_picture(source, folder, line, remarks) for line in lines]
    _write_manifest(folder / "manifest.csv", rows)
    notes = (source / folder.name / "LICENSE-NOTES.txt").read_text(encoding="utf-8")
    text = notes.replace("../manifest.csv", "manifest.csv").rstrip() + "\n" + CHANGES
    (folder / "LICENSE-NOTES.txt").write_text(text, encoding="utf-8")


def _write_picture(source: Path, folder: Path, line: Mapping[str, str], remarks: Mapping[str, str]) -> dict[str, str]:
    data = (source / line["file"]).read_bytes()
    content = packaged_bytes(data)
    name = Path(line["file"]).name
    (folder / name).write_bytes(content)
    sums = {"source_sha256": sha256(data).hexdigest(), "sha256": sha256(content).hexdigest()}
    return {**line, **sums, "file": name, "remark": remarks.get(line["file"], "")}


def _write_manifest(path: Path, rows: Iterable[Mapping[str, str]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _remarks(notes: Path) -> dict[str, str]:
    """Return the remarks by image, from lines of the form: - `folder/file`: remark."""
    if not notes.exists():
        return {}
    return dict(re.findall(r"^- `([^`]+/[^`]+)`: (.+)$", notes.read_text(encoding="utf-8"), re.MULTILINE))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m packaged_samples.imagenet", description=__doc__.splitlines()[0])
    parser.add_argument("source", type=Path, help="folder with manifest.csv, NOTES.md and the folders of pictures")
    parser.add_argument("target", type=Path, nargs="?", default=packaged("imagenet"))
    options = parser.parse_args(arguments)
    package(options.source, options.target)


if __name__ == "__main__":
    main()

"""Copy the photographs of birds that birds.csv names from the folder in which they were collected.

    PYTHONPATH=tools python -m packaged_samples.birds SOURCE [TARGET]

The tables are edited by hand; this tool writes the images, the `manifest.csv` and `LICENSE-NOTES.txt` of every folder,
and the checksums.
"""

import argparse
import csv
import shutil
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path

from eyechart.samples.files import packaged, write_checksums, write_table
from packaged_samples.imagenet import CHANGES, packaged_bytes

COLUMNS = (
    *("file", "common_name", "species", "genus", "certain", "title", "author", "licence", "source_url"),
    *("source_package", "source_path", "source_sha256", "sha256"),
)
LICENCE = packaged("imagenet") / "tuxpaint" / "LICENSE-GPL-2.0.txt"


def package(source: Path, target: Path) -> None:
    """Write the images that the target's birds.csv names, with their authors and licences."""
    wanted = {line["image"] for line in _lines(target / "birds.csv")}
    lines = [line for line in _lines(source / "manifest.csv") if line["file"] in wanted]
    for folder in sorted({line["file"].partition("/")[0] for line in lines}):
        chosen = [line for line in lines if line["file"].startswith(f"{folder}/")]
        rows = [_write_picture(source, target, line) for line in chosen]
        write_table(target / folder / "manifest.csv", COLUMNS, rows)
        notes = (source / folder / "LICENSE-NOTES.txt").read_text(encoding="utf-8")
        (target / folder / "LICENSE-NOTES.txt").write_text(_notes(notes, chosen), encoding="utf-8")
        if any(line["licence"].startswith("GPL") for line in chosen):
            shutil.copyfile(LICENCE, target / folder / LICENCE.name)
    write_checksums(target)


def _write_picture(source: Path, target: Path, line: Mapping[str, str]) -> dict[str, str]:
    data = (source / line["file"]).read_bytes()
    content = packaged_bytes(data)
    (target / line["file"]).parent.mkdir(exist_ok=True)
    (target / line["file"]).write_bytes(content)
    sums = {"source_sha256": sha256(data).hexdigest(), "sha256": sha256(content).hexdigest()}
    return {**line, **sums, "file": Path(line["file"]).name}


def _notes(notes: str, chosen: Iterable[Mapping[str, str]]) -> str:
    """Return the licence notes with the number of copied images and the changes."""
    sentence = f"\nOf these pictures the {len([*chosen])} that manifest.csv lists are in this folder.\n"
    return notes.replace("../manifest.csv", "manifest.csv").rstrip() + "\n" + sentence + CHANGES


def _lines(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m packaged_samples.birds", description="Package the birds.")
    parser.add_argument("source", type=Path, help="folder with manifest.csv and the folders of pictures")
    parser.add_argument("target", type=Path, nargs="?", default=packaged("realbirdid") / "sample")
    options = parser.parse_args(arguments)
    package(options.source, options.target)


if __name__ == "__main__":
    main()

"""Print the authors and licences of the packaged images, the part of THIRD_PARTY.md that follows from the manifests.

PYTHONPATH=tools python -m packaged_samples.notices
"""

import csv
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from eyechart.samples.files import packaged

SPDX = {
    "Public Domain": "LicenseRef-Public-Domain",
    "Public Domain (US Government)": "LicenseRef-Public-Domain",
    "CC-BY-SA-2.5 or GFDL": "CC-BY-SA-2.5",
}
TITLE = ("picture", "title", "author", "licence", "source")
Line = Mapping[str, str]


def spdx(licence: str) -> str:
    """Return the SPDX identifier under which an image is shipped; of two licences, the chosen one."""
    return SPDX.get(licence, licence)


def lines(root: Path | None = None) -> Iterator[Line]:
    """Yield the manifest row of every packaged image, with `file` relative to the root."""
    root = root or packaged("imagenet").parent
    for manifest in sorted(root.glob("**/manifest.csv")):
        with manifest.open(encoding="utf-8", newline="") as file:
            for line in csv.DictReader(file):
                yield {**line, "file": (manifest.parent / line["file"]).relative_to(root).as_posix()}


def notices(images: Sequence[Line]) -> str:
    """Return a table of licences with authors, and one of the images whose licence requires attribution."""
    folders = sorted({line["file"].rpartition("/")[0] for line in images})
    named = [line for line in images if line["licence"].startswith("CC-BY")]
    return "\n".join((*_summary(images, folders), "", *_credits(named)))


def _summary(images: Sequence[Line], folders: Iterable[str]) -> Iterator[str]:
    yield "| folder | licence (SPDX) | pictures | authors |"
    yield "|---|---|---|---|"
    for folder in folders:
        for licence in sorted({spdx(line["licence"]) for line in images}):
            authors = Counter(
                line["author"]
                for line in images
                if (line["file"].rpartition("/")[0], spdx(line["licence"])) == (folder, licence)
            )
            if authors:
                names = "; ".join(f"{name} ({count})" if count > 1 else name for name, count in sorted(authors.items()))
                yield f"| {folder} | {licence} | {authors.total()} | {_cell(names)} |"


def _credits(named: Iterable[Line]) -> Iterator[str]:
    yield f"| {' | '.join(TITLE)} |"
    yield "|---|---|---|---|---|"
    for line in sorted(named, key=lambda line: line["file"]):
        origin = line["source_url"] or f"{line['source_package']}, {line['source_path']}"
        cells = (line["file"], line["title"], line["author"], line["licence"], origin)
        yield f"| {' | '.join(map(_cell, cells))} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    print(notices([*lines()]))

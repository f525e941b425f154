"""Thumbnails, many in one file, named by the images in it, so that another page in the same folder only makes new ones.

A file is a script like the other data of the page, with a list of `data:` addresses; see `chunks`.
"""

from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import sha256
from io import BytesIO
from os import cpu_count
from pathlib import Path
from typing import NamedTuple

from eyechart.data.dataset.dataset import Dataset
from eyechart.data.images import decode_image
from eyechart.errors import ImageError
from eyechart.reports.page.chunks import script
from eyechart.reports.page.sample_groups import SampleGroup

FOLDER = "images"
QUALITY = 80
PART = 32  # images in one file
BATCH = 16  # files whose images are held in memory at once
START = "data:image/jpeg;base64,"
_INCOMPLETE = "x"  # ends the name of a file without an unreadable image; it is written again each time


class Pictures(NamedTuple):
    """The files of a group's thumbnails by their number, "" for one without any; how many images are not readable."""

    files: tuple[str, ...]
    broken: int


@dataclass(frozen=True)
class ThumbnailWriter:
    """Writes thumbnails whose longer side has at most `side` pixels."""

    folder: Path
    side: int

    def write_all(self, group: SampleGroup, progress: Callable[[str], None] = lambda _: None) -> Pictures:
        """Write the missing files of a group: each has `PART` images in the order of the data set."""
        dataset = group.dataset
        if dataset is None or not self.side:
            return Pictures((), 0)
        needed = {group.picture_index[key] for key, _ in group.items if key in group.picture_index}
        parts = [range(start, min(start + PART, len(dataset))) for start in range(0, len(dataset), PART)]
        files = {part.start: self.name(dataset, part) if needed.intersection(part) else "" for part in parts}
        missing = [part for part in parts if files[part.start] and not self.path(files[part.start]).exists()]
        broken = 0
        with ThreadPoolExecutor(cpu_count() or 1) as executor:
            for done in range(0, len(missing), BATCH):
                progress(f"{group.title}: {done * PART:,} of {len(missing) * PART:,} images")
                block = [(part, [*dataset.read(part)]) for part in missing[done : done + BATCH]]
                for part, count in executor.map(lambda item: self.write(dataset, files, *item), block):
                    files[part.start] += _INCOMPLETE if count else ""
                    broken += count
        return Pictures(tuple(files.values()), broken)

    def name(self, dataset: Dataset, part: Sequence[int]) -> str:
        """Return the name of a file without its suffix, by the images in it."""
        content = "".join(dataset.index[dataset.selected[row]].sha256 for row in part)
        return f"{FOLDER}/{self.side}/{sha256(content.encode()).hexdigest()[:32]}"

    def path(self, name: str) -> Path:
        """Return the path of a file by its name."""
        return self.folder / f"{name}.js"

    def write(
        self, dataset: Dataset, files: Mapping[int, str], part: range, images: Sequence[tuple[int, bytes]]
    ) -> tuple[range, int]:
        """Write one file and return how many of its images are not readable."""
        addresses = [self.address(dataset, row, data) for row, data in images]
        broken = addresses.count(None)
        name = files[part.start] + (_INCOMPLETE if broken else "")
        self.path(name).parent.mkdir(parents=True, exist_ok=True)
        self.path(name).write_text(script(name, addresses), encoding="ascii", newline="\n")
        return part, broken

    def address(self, dataset: Dataset, row: int, data: bytes) -> str | None:
        """Return a thumbnail as a `data:` address; None if the image cannot be read."""
        try:
            image = decode_image(data, dataset.keys[row], upright=dataset.upright)
        except ImageError:
            return None
        image.thumbnail((self.side, self.side))
        out = BytesIO()
        image.save(out, "JPEG", quality=QUALITY)
        return START + b64encode(out.getvalue()).decode()

"""Thumbnails by the sha256 of their image, so that another page in the same folder only makes new ones."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from os import cpu_count
from pathlib import Path

from eyechart.data.dataset import Dataset
from eyechart.data.images import decode_image
from eyechart.errors import ImageError

from .sample_groups import SampleGroup

FOLDER = "images"
QUALITY = 80
BATCH = 64  # images that are held in memory at once


@dataclass(frozen=True)
class ThumbnailWriter:
    """Writes thumbnails whose longer side has at most `side` pixels."""

    folder: Path
    side: int

    def path(self, sha256: str) -> Path:
        """Return the path of an image's thumbnail; it contains the size."""
        return self.folder / FOLDER / str(self.side) / sha256[:2] / f"{sha256[:16]}.webp"

    def copy_all(self, group: SampleGroup) -> int:
        """Write the missing thumbnails of a group, and return how many images could not be read."""
        dataset = group.dataset
        if dataset is None or not self.side:
            return 0
        missing = {row: sha for row, sha in group.pictures.values() if not self.path(sha).exists()}
        images = read(dataset, sorted(missing))
        broken = 0
        with ThreadPoolExecutor(cpu_count() or 1) as executor:
            while block := [*islice(images, BATCH)]:
                done = executor.map(lambda item: self.copy(dataset, item[0], item[1], missing[item[0]]), block)
                broken += sum(not copied for copied in done)
        return broken

    def copy(self, dataset: Dataset, row: int, data: bytes, sha256: str) -> bool:
        """Write one thumbnail and return whether the image could be read."""
        try:
            image = decode_image(data, dataset.keys[row], upright=dataset.upright)
        except ImageError:
            return False
        image.thumbnail((self.side, self.side))
        path = self.path(sha256)
        path.parent.mkdir(parents=True, exist_ok=True)
        image.save(path, "WEBP", quality=QUALITY)
        return True


def read(dataset: Dataset, rows: list[int]) -> Iterator[tuple[int, bytes]]:
    """Yield the bytes of some rows, in ascending order of position."""
    position = {dataset.selected[row]: row for row in rows}
    for row, data in dataset.source.read([*position]):
        yield position[row], data

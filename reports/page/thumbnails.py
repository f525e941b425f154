"""Small copies of images, each once and by its sha256, so that a page that is made again makes only what is new."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from os import cpu_count
from pathlib import Path

from eyechart.data.dataset import Dataset
from eyechart.data.images import decode
from eyechart.errors import ImageError

from .sample_groups import SampleGroup

FOLDER = "images"
QUALITY = 80
BATCH = 64  # images that are held in memory at once


@dataclass(frozen=True)
class ThumbnailWriter:
    """Writes copies whose longer side has at most `side` pixels."""

    folder: Path
    side: int

    def path(self, sha256: str) -> Path:
        """Where an image's copy lies; the size is in its name, so that another size is another file."""
        return self.folder / FOLDER / str(self.side) / sha256[:2] / f"{sha256[:16]}.webp"

    def copy_all(self, group: SampleGroup) -> int:
        """Copy every image of an album that is not there yet, and return how many could not be."""
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
        """Copy one image; one that cannot be read has no copy."""
        try:
            image = decode(data, dataset.keys[row], upright=dataset.upright)
        except ImageError:
            return False
        image.thumbnail((self.side, self.side))
        path = self.path(sha256)
        path.parent.mkdir(parents=True, exist_ok=True)
        image.save(path, "WEBP", quality=QUALITY)
        return True


def read(dataset: Dataset, rows: list[int]) -> Iterator[tuple[int, bytes]]:
    """The bytes of some rows, ascending."""
    position = {dataset.selected[row]: row for row in rows}
    for row, data in dataset.source.read([*position]):
        yield position[row], data

"""A data set in a format of your own: here one JSON file with base64 images."""

import base64
import json
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path

from eyechart.data.dataset.dataset import Dataset
from eyechart.data.dataset.label_sets import build_original_labels
from eyechart.data.dataset.rows import Row

NAMES = ("red", "green", "blue")


class Images:
    """Decoded bytes of the images, in the order of the index."""

    def __init__(self, images: Sequence[bytes]) -> None:
        self.images = images

    def read(self, rows: Sequence[int]) -> Iterator[tuple[int, bytes]]:
        """Yield the bytes of the images that are asked for."""
        yield from ((row, self.images[row]) for row in rows)


class SwatchSource:
    """One split for each JSON file beside this module: a list of [class index, base64 PNG]."""

    folder = Path(__file__).parent

    @property
    def splits(self) -> tuple[str, ...]:
        """The names of the splits."""
        return tuple(sorted(path.stem for path in self.folder.glob("*.json")))

    def dataset(self, split: str) -> Dataset:
        """Open a split."""
        lines = json.loads((self.folder / f"{split}.json").read_text(encoding="utf-8"))
        images = [base64.b64decode(image) for _, image in lines]
        index = tuple(
            Row(f"{position:03d}", f"{position:03d}.png", sha256(image).hexdigest(), label)
            for position, ((label, _), image) in enumerate(zip(lines, images, strict=True))
        )
        labels = build_original_labels("swatches", index, [[row.label] for row in index], f"{split}.json")
        return Dataset(
            "swatches", split, index, Images(images), len(NAMES), names=NAMES, label_sets={labels.name: labels}
        )


SWATCHES = SwatchSource()

"""Blanks: one image without content instead of every image of a split, to see what is answered without looking."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from io import BytesIO

import numpy as np

from eyechart.data.dataset.columns import repeat
from eyechart.data.dataset.dataset import Dataset
from eyechart.errors import SpecError

BLANK = "blank"  # what a record names the blank that was shown instead of every image
SIDE = 224  # pixels
GREYS = {"black": 0, "grey": 128}
NOISE = re.compile(r"noise([1-9]\d{0,3})")


def parse_blank(text: str) -> str:
    """Return the name of a blank: black, grey, or noise1, noise2, and so on.

    Raises:
        SpecError: If there is no such blank.

    >>> parse_blank("noise20")
    'noise20'
    """
    if text not in GREYS and not NOISE.fullmatch(text):
        raise SpecError(f"'{text}' is no blank. Expected black, grey, or noise1, noise2 and so on, each another noise.")
    return text


def blank_image(name: str) -> bytes:
    """Return a blank as a PNG file of 224 × 224 pixels; noise has independent bytes that its number sets.

    >>> len(blank_image("grey")), blank_image("noise1") == blank_image("noise2")
    (150864, False)
    """
    from PIL import Image

    noise = NOISE.fullmatch(name)
    shape = (SIDE, SIDE, 3)
    if noise:
        pixels = np.random.default_rng(int(noise[1])).integers(0, 256, shape, np.uint8)
    else:
        pixels = np.full(shape, GREYS[name], np.uint8)
    file = BytesIO()
    Image.fromarray(pixels).save(file, "PNG", compress_level=0)  # equal bytes with every version of zlib
    return file.getvalue()


@dataclass(frozen=True)
class _BlankSource:
    name: str
    data: bytes

    def read(self, rows: Sequence[int]) -> Iterator[tuple[int, bytes]]:
        """Yield the blank for every row."""
        return ((row, self.data) for row in rows)

    def part(self, rows: Sequence[int]) -> "_BlankSource":  # noqa: ARG002
        """Return the source, which is the same for all rows."""
        return self

    def location(self, row: int) -> str:  # noqa: ARG002
        """Return the name of the blank."""
        return f"the blank '{self.name}'"


def blank_out(dataset: Dataset, name: str) -> Dataset:
    """Return a data set that has a blank instead of every image, and its own keys, labels and details."""
    data = blank_image(name)
    digest = sha256(data).hexdigest()
    index = dataset.columns.replace(sha256=repeat(digest.encode(), len(dataset.index)))
    return replace(dataset, index=index, source=_BlankSource(name, data), with_images=dataset)

"""What the attributes of images cost beside hashing and decoding: `python -m tests.speed.attributes [PAIRS]`.

Both sides get one photograph of 500 × 375 pixels and about 115 kB, as those of ImageNet, and take turns. Times are
of the processor.
"""

import sys
from collections.abc import Iterator
from hashlib import sha256
from io import BytesIO
from time import process_time

import numpy as np
from PIL import Image

from eyechart.data.attributes.measure import measure_header, measure_image
from eyechart.data.images import decode_image

from .paired import Work, ratio

REPEATS = 200


def photograph() -> bytes:
    """A JPEG of coarse structure with grain."""
    chance = np.random.default_rng(0)
    coarse = Image.fromarray(chance.integers(0, 256, (24, 32, 3), np.uint8)).resize(
        (500, 375), Image.Resampling.BICUBIC
    )
    pixels = np.asarray(coarse) + chance.normal(0, 10, (375, 500, 3))
    file = BytesIO()
    Image.fromarray(pixels.clip(0, 255).astype(np.uint8)).save(file, "JPEG", quality=95)
    return file.getvalue()


def repeated(*works: Work) -> Work:
    """Some pieces of work, many times."""

    def work() -> None:
        for _ in range(REPEATS):
            for part in works:
                part()

    return work


def facts(pairs: int = 15) -> Iterator[str]:
    """The ratios of times, with their range."""
    data = photograph()

    def hashed() -> object:
        return sha256(data).digest()

    text = "{:.2f} ({:.2f}–{:.2f})"
    size = f"{len(data) // 1000} kB"
    both, plain = repeated(hashed, lambda: measure_header(data)), repeated(hashed)
    found = ratio(plain, both, pairs, clock=process_time)
    yield f"hashing {size} with header attributes, beside hashing: {text.format(*found)}"
    measured, decoded = repeated(lambda: measure_image(data)), repeated(lambda: decode_image(data, ""))
    found = ratio(decoded, measured, pairs, clock=process_time)
    yield f"all attributes with decoding, beside decoding: {text.format(*found)}"


if __name__ == "__main__":
    for line in facts(*map(int, sys.argv[1:])):
        print(f"- {line}", flush=True)

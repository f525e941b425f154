"""Images in the formats of files."""

from io import BytesIO

import numpy as np
from PIL import Image

PIXELS = np.random.default_rng(0).integers(0, 256, (9, 12, 3), dtype=np.uint8)


def encoded(kind: str, mode: str = "RGB", turn: int = 1, **how: object) -> bytes:
    file, exif = BytesIO(), Image.Exif()
    exif[0x0112] = turn
    Image.fromarray(PIXELS).convert(mode).save(file, kind, exif=exif, **how)
    return file.getvalue()

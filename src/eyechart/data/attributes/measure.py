"""Measures an image: from the header of its file, and from its pixels."""

from math import nan, sqrt

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from eyechart.data.images import decode_image, read_header
from eyechart.errors import ImageError

Ints = NDArray[np.int32]
# In the order of the values that are measured; the numbers are of pixels from 0 to 1.
ATTRIBUTES = {
    "size": "square root of the number of pixels",
    "aspect": "width divided by height, before a rotation by EXIF",
    "jpeg_quality": "quality from 1 to 100, estimated from the quantisation of a JPEG; no value for other formats",
    "brightness": "mean luma",
    "contrast": "standard deviation of the luma",
    "saturation": "mean of (largest - smallest channel) / largest channel",
    "sharpness": "standard deviation of the Laplacian of the green channel; low for blurred images",
    "noise": "standard deviation of the noise of the green channel, by Immerkær's method",
}
_GRID = 64  # pixels of each side at which brightness, contrast and saturation are read
_ROWS = 32  # at least so many rows are read for sharpness and noise, if there are
_STANDARD = 3692  # the sum of the quantisation table of the JPEG standard for luma, which is quality 50


def measure_image(data: bytes) -> tuple[float, ...]:
    """Return the attributes of an image, in the order of `ATTRIBUTES`; NaN for all if it cannot be decoded."""
    try:
        image = decode_image(data, "")
        return (*measure_header(data), *measure_pixels(image))
    except ImageError:
        return (nan,) * len(ATTRIBUTES)


def measure_header(data: bytes) -> tuple[float, float, float]:
    """Return size, aspect and JPEG quality, without decoding the image.

    The quality is the IJG library's, whose tables are the standard one times a factor: it sets this factor.
    """
    (width, height), quantisation = read_header(data)
    return (width * height) ** 0.5, width / height, _jpeg_quality(quantisation) if quantisation else nan


def _jpeg_quality(quantisation: int) -> float:
    factor = 100 * quantisation / _STANDARD
    return min(100.0, max(1.0, (200 - factor) / 2 if factor <= 100 else 5000 / factor))


def measure_pixels(image: Image.Image) -> tuple[float, float, float, float, float]:
    """Return brightness, contrast, saturation, sharpness and noise of an RGB image.

    Some of the pixels are read: a grid for brightness, contrast and saturation, and the neighbourhoods of some rows for
    the others, so that it costs a quarter of decoding. Sums are of whole numbers, equal on every processor.
    """
    small = image.resize((min(image.width, _GRID), min(image.height, _GRID)), Image.Resampling.NEAREST)
    red, green, blue = (np.frombuffer(channel.tobytes(), np.uint8).astype(np.int32) for channel in small.split())
    luma = 299 * red + 587 * green + 114 * blue
    highest, lowest = (pick(pick(red, green), blue) for pick in (np.maximum, np.minimum))
    saturation = float(((highest - lowest) / np.maximum(highest, 1)).mean())
    sharpness, noise = _measure_detail(np.asarray(image.getchannel("G")))
    return float(luma.mean()) / 255_000, _deviation(luma) / 255_000, saturation, sharpness / 255, noise / 255


def _measure_detail(green: NDArray[np.uint8]) -> tuple[float, float]:
    """Return the standard deviation of the Laplacian, and of the noise: J. Immerkær, CVIU 64 (1996) 300-302."""
    if min(green.shape) < 3:
        return nan, nan
    step = max(1, len(green) // _ROWS)
    above, row, below = (green[start : len(green) - 2 + start : step].astype(np.int16) for start in range(3))
    vertical = above + below - 2 * row
    mask = vertical[:, :-2] + vertical[:, 2:] - 2 * vertical[:, 1:-1]
    laplacian = vertical[:, 1:-1] + row[:, :-2] + row[:, 2:] - 2 * row[:, 1:-1]
    noise = (np.pi / 2) ** 0.5 / 6 * float(np.abs(mask).sum(dtype=np.int64)) / mask.size
    return _deviation(laplacian.astype(np.int32)), noise


def _deviation(values: Ints) -> float:
    total, squares = int(values.sum(dtype=np.int64)), int((values.astype(np.int64) ** 2).sum())
    return sqrt(max(0, squares * values.size - total**2)) / values.size

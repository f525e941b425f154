"""Attributes of images: known values, and images that are darkened, blurred, noisy or stored with a lower quality."""

from io import BytesIO
from math import isnan
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageEnhance, ImageFilter

from eyechart.data.attributes.measure import ATTRIBUTES, measure_header, measure_image, measure_pixels
from eyechart.errors import ImageError

NAMES = [*ATTRIBUTES][3:]


def photograph(width: int = 320, height: int = 240) -> Image.Image:
    """An image with large and small structures and a little noise."""
    chance = np.random.default_rng(4)
    coarse = Image.fromarray(chance.integers(0, 256, (12, 16, 3), np.uint8))
    pixels = np.asarray(coarse.resize((width, height), Image.Resampling.NEAREST)).astype(float)
    return Image.fromarray((pixels + chance.normal(0, 3, pixels.shape)).clip(0, 255).astype(np.uint8))


def stored(image: Image.Image, kind: str = "PNG", **options: Any) -> bytes:
    """The bytes of a file."""
    file = BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def pixels_of(image: Image.Image) -> dict[str, float]:
    """The attributes of pixels by name."""
    return dict(zip(NAMES, measure_pixels(image), strict=True))


@pytest.mark.parametrize("quality", [10, 30, 50, 75, 95])
def test_the_header_has_the_quality_that_the_file_was_stored_with(quality: int) -> None:
    size, aspect, found = measure_header(stored(photograph(), "JPEG", quality=quality))
    assert (size, aspect) == (pytest.approx((320 * 240) ** 0.5), pytest.approx(4 / 3))
    assert found == pytest.approx(quality, abs=1 if quality > 10 else 6)


def test_a_png_has_no_quality_and_what_cannot_be_decoded_has_no_attributes() -> None:
    assert isnan(measure_header(stored(photograph()))[2])
    broken = stored(photograph(), "JPEG")[:400]
    for data in (b"", b"GIF", broken):
        assert len(measure_image(data)) == len(ATTRIBUTES)
        assert all(map(isnan, measure_image(data)))
    with pytest.raises(ImageError, match="not in a format that is read here"):
        measure_header(b"no image at all")


def test_plain_images_have_the_values_of_their_colour() -> None:
    assert pixels_of(Image.new("RGB", (50, 40), "white")) == pytest.approx(
        {"brightness": 1, "contrast": 0, "saturation": 0, "sharpness": 0, "noise": 0}
    )
    red = pixels_of(Image.new("RGB", (50, 40), (255, 0, 0)))
    assert (red["brightness"], red["saturation"]) == (pytest.approx(0.299), 1)
    assert isnan(pixels_of(Image.new("RGB", (2, 200)))["sharpness"])


def test_noise_is_its_standard_deviation() -> None:
    pixels = 128 + np.random.default_rng(1).normal(0, 10, (300, 300, 3))
    noise = pixels_of(Image.fromarray(pixels.clip(0, 255).astype(np.uint8)))["noise"]
    assert noise == pytest.approx(10 / 255, rel=0.03)


def test_each_change_of_an_image_moves_its_attribute() -> None:
    image = photograph()
    plain, dark = pixels_of(image), pixels_of(ImageEnhance.Brightness(image).enhance(0.3))
    assert dark["brightness"] == pytest.approx(0.3 * plain["brightness"], rel=0.05)
    blurred = pixels_of(image.filter(ImageFilter.GaussianBlur(3)))
    assert blurred["sharpness"] < 0.3 * plain["sharpness"]
    assert blurred["brightness"] == pytest.approx(plain["brightness"], rel=0.05)
    assert pixels_of(ImageEnhance.Color(image).enhance(0.2))["saturation"] < 0.4 * plain["saturation"]
    assert pixels_of(ImageEnhance.Contrast(image).enhance(0.3))["contrast"] < 0.4 * plain["contrast"]

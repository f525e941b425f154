"""Tests of `eyechart.models.served.image_parts`."""

import base64
from io import BytesIO

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some
from PIL import Image

from eyechart.data.images import decode_image
from eyechart.models.served.image_parts import data_url
from tests.models.served.encoded_images import PIXELS, encoded


def sent(image: Image.Image, file: bytes = b"") -> tuple[str, bytes]:
    """The kind and the bytes of what a server gets."""
    head, _, data = data_url(image, file).partition(";base64,")
    return head.removeprefix("data:image/"), base64.b64decode(data)


@pytest.mark.parametrize("mode", ["RGB", "L"])
def test_a_jpeg_is_sent_as_it_is(mode: str) -> None:
    file = encoded("JPEG", mode)
    assert sent(decode_image(file, ""), file) == ("jpeg", file)


@pytest.mark.parametrize(
    ("file", "upright"),
    [
        (encoded("JPEG", turn=6), False),
        (encoded("JPEG", turn=6), True),
        (encoded("JPEG", turn=3), False),
        (encoded("JPEG", "CMYK"), False),
        (encoded("PNG"), False),
        (encoded("WEBP", lossless=True), False),
    ],
    ids=["turned", "turned back", "upside down", "CMYK", "PNG", "WebP"],
)
def test_all_else_is_sent_as_the_pixels_that_were_read(file: bytes, upright: bool) -> None:
    image = decode_image(file, "", upright=upright)
    kind, data = sent(image, file)
    assert kind == "png"
    np.testing.assert_array_equal(np.asarray(Image.open(BytesIO(data))), np.asarray(image))


def test_a_jpeg_of_another_size_or_a_broken_one_is_not_trusted() -> None:
    image = Image.fromarray(PIXELS)
    for file in (b"", b"\xff\xd8\xff broken", encoded("JPEG")):
        assert sent(image.resize((5, 5)), file)[0] == "png"


@given(some.binary(max_size=60))
def test_no_bytes_make_it_stumble(data: bytes) -> None:
    assert sent(Image.fromarray(PIXELS), b"\xff\xd8\xff" + data)[0] == "png"

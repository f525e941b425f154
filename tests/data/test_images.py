"""Pictures of every awkward kind, made by Pillow, through `decode`."""

import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from io import BytesIO

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageOps
from PIL.PngImagePlugin import PngInfo

from eyechart.data.images import decode_image
from eyechart.errors import ImageError

RED, WHITE = (255, 0, 0), (255, 255, 255)


def saved(image: Image.Image, kind: str = "PNG", **options: object) -> bytes:
    buffer = BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def refused(data: bytes) -> str:
    with pytest.raises(ImageError) as caught:
        decode_image(data, "shard/s0000007.jpg")
    assert "shard/s0000007.jpg" in str(caught.value)
    return str(caught.value)


def pixels(data: bytes, **options: bool) -> np.ndarray:
    image = decode_image(data, "a", **options)
    assert type(image) is Image.Image
    assert image.mode == "RGB"
    return np.asarray(image)


@cache
def photograph() -> Image.Image:
    noise = np.random.default_rng(0).integers(0, 256, (6, 8, 3), np.uint8)
    return Image.fromarray(noise).resize((64, 48), Image.Resampling.BICUBIC)


@pytest.mark.parametrize("kind", ["PNG", "BMP", "PPM", "TIFF"])
def test_lossless_formats_come_back_as_they_were(kind: str) -> None:
    assert np.array_equal(pixels(saved(photograph(), kind)), np.asarray(photograph()))


@pytest.mark.parametrize("kind", ["JPEG", "WEBP"])
def test_lossy_formats_equal_pillow(kind: str) -> None:
    data = saved(photograph(), kind)
    assert np.array_equal(pixels(data), np.asarray(Image.open(BytesIO(data)).convert("RGB")))


def test_cmyk_jpeg_is_not_inverted() -> None:
    data = saved(Image.new("CMYK", (16, 16), (0, 255, 255, 0)), "JPEG", quality=100)
    assert b"Adobe" in data
    assert np.allclose(pixels(data), RED, atol=3)


def test_palette() -> None:
    assert (pixels(saved(Image.new("RGB", (4, 4), RED).quantize(4))) == RED).all()


@pytest.mark.parametrize("transparency", [0, bytes([0, 255])])
def test_palette_with_transparency_lies_on_white(transparency: int | bytes) -> None:
    image = Image.new("P", (2, 1))
    image.putpalette([0, 0, 255, 255, 0, 0])
    image.putpixel((1, 0), 1)
    assert pixels(saved(image, transparency=transparency)).tolist() == [[list(WHITE), list(RED)]]


@pytest.mark.parametrize(
    ("mode", "colour", "seen"), [("RGBA", (255, 0, 0, 51), (255, 204, 204)), ("LA", (0, 51), (204,) * 3)]
)
def test_alpha_lies_on_white(mode: str, colour: tuple[int, ...], seen: tuple[int, ...]) -> None:
    assert (pixels(saved(Image.new(mode, (3, 3), colour))) == seen).all()


def test_a_transparent_colour_lies_on_white() -> None:
    assert (pixels(saved(Image.new("RGB", (3, 3), RED), transparency=RED)) == WHITE).all()


def test_one_bit() -> None:
    image = Image.fromarray(np.array([[True, False]]))
    assert image.mode == "1"
    assert pixels(saved(image)).tolist() == [[[255] * 3, [0] * 3]]


@pytest.mark.parametrize("kind", ["PNG", "TIFF", "PPM"])
def test_sixteen_bits_are_scaled_not_clipped(kind: str) -> None:
    deep = np.array([[0, 257, 0x8080, 65535]], np.uint16)
    assert pixels(saved(Image.fromarray(deep), kind))[0, :, 0].tolist() == [0, 1, 128, 255]


def test_sixteen_bits_with_a_transparent_grey() -> None:
    deep = Image.fromarray(np.array([[0, 257]], np.uint16))
    assert pixels(saved(deep, transparency=257))[0, :, 0].tolist() == [0, 255]


@pytest.mark.parametrize("values", [[0.0, 0.2, 1.0], [-10.0, -6.0, 10.0], [0.0, 51e6, 255e6]])
def test_floats_are_scaled_from_one_or_by_their_range(values: list[float]) -> None:
    data = saved(Image.fromarray(np.array([values], np.float32)), "TIFF")
    assert pixels(data)[0, :, 0].tolist() == [0, 51, 255]


def test_wide_integers_are_scaled_by_their_range() -> None:
    wide = Image.fromarray(np.array([[-1000, 0, 1000]], np.int32))
    assert pixels(saved(wide, "TIFF"))[0, :, 0].tolist() == [0, 128, 255]


@pytest.mark.parametrize(("value", "grey"), [(255.0, 255), (70000, 255), (0.0, 0), (1.0, 255), (-5.0, 0)])
def test_one_deep_grey_is_not_black_for_being_alone(value: float, grey: int) -> None:
    kind = np.int32 if value > 1000 else np.float32
    assert pixels(saved(Image.fromarray(np.full((2, 2), value, kind)), "TIFF")).flatten().tolist() == [grey] * 12


def test_nan_pixels_are_refused() -> None:
    assert "NaN" in refused(saved(Image.fromarray(np.array([[np.nan]], np.float32)), "TIFF"))


@pytest.mark.parametrize("kind", ["GIF", "WEBP", "PNG", "TIFF"])
def test_an_animation_shows_its_first_frame(kind: str) -> None:
    options = {"lossless": True} if kind == "WEBP" else {}
    frames = {"save_all": True, "append_images": [Image.new("RGB", (4, 4), "blue")]}
    assert (pixels(saved(Image.new("RGB", (4, 4), RED), kind, **frames, **options)) == RED).all()


@pytest.mark.parametrize("turn", range(1, 9))
@pytest.mark.parametrize("kind", ["PNG", "JPEG"])
def test_exif_orientation_only_when_upright(kind: str, turn: int) -> None:
    exif = Image.Exif()
    exif[0x0112] = turn
    data = saved(photograph(), kind, exif=exif)
    stored = Image.open(BytesIO(data))
    assert np.array_equal(pixels(data), np.asarray(stored.convert("RGB")))
    assert np.array_equal(pixels(data, upright=True), np.asarray(ImageOps.exif_transpose(stored)))


@pytest.mark.parametrize("filters", ["error", "ignore"])
def test_broken_exif_changes_nothing(filters: str) -> None:
    exif = Image.Exif()
    exif[0x0112], exif[0x0131] = 6, "the name of a program"
    data = saved(photograph(), "JPEG", exif=exif.tobytes()[:-14])
    warnings.simplefilter(filters)
    assert pixels(data).shape == (48, 64, 3)
    assert pixels(data, upright=True).shape == (64, 48, 3)


def test_empty() -> None:
    assert "0 bytes" in refused(b"")


def test_not_an_image() -> None:
    assert "is a web page" in refused(b"<!DOCTYPE html><p>Not found")


def test_corrupt() -> None:
    data = bytearray(saved(photograph()))
    data[60:90] = bytes(30)
    assert "PNG" in refused(bytes(data))


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "GIF", "BMP", "PPM", "TIFF"])
def test_half_a_file(kind: str) -> None:
    data = saved(photograph(), kind)
    assert "truncated or broken" in refused(data[: len(data) // 2])


@pytest.mark.deep
def test_decompression_bomb_is_refused_without_a_warning() -> None:
    data = saved(Image.new("1", (13_400, 13_400)))
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        assert "13400 x 13400" in refused(data)
    assert not seen


def test_pillow_is_left_as_it_was() -> None:
    before = Image.MAX_IMAGE_PIXELS, list(warnings.filters)
    refused(saved(Image.new("1", (13_400, 13_400))))
    assert (Image.MAX_IMAGE_PIXELS, list(warnings.filters)) == before


@pytest.mark.parametrize("size", [(50_000, 3), (3, 50_000), (101, 1)])
def test_extreme_aspect_is_refused(size: tuple[int, int]) -> None:
    assert "100 to 1" in refused(saved(Image.new("L", size)))


def test_fifty_thousand_pixels_wide_is_read() -> None:
    assert decode_image(saved(Image.new("1", (50_000, 600))), "a").size == (50_000, 600)


def test_threads_agree() -> None:
    files = [saved(Image.new("RGB", (9, 9), (shade, 0, 0))) for shade in range(64)] * 4
    with ThreadPoolExecutor(8) as pool:
        shades = [image.getpixel((0, 0))[0] for image in pool.map(decode_image, files, map(str, range(256)))]
    assert shades == [*range(64)] * 4


@cache
def encoded(kind: str) -> bytes:
    return saved(photograph(), kind)


def survives(data: bytes) -> None:
    try:
        assert decode_image(data, "a").mode == "RGB"
    except ImageError:
        return


@given(st.sampled_from(["JPEG", "PNG", "WEBP", "GIF", "TIFF", "BMP", "PPM"]), st.data())
def test_any_prefix_is_an_image_or_an_image_error(kind: str, data: st.DataObject) -> None:
    whole = encoded(kind)
    survives(whole[: data.draw(st.integers(0, len(whole)))])


@given(st.sampled_from(["JPEG", "PNG", "WEBP"]), st.data())
def test_any_changed_byte_is_an_image_or_an_image_error(kind: str, data: st.DataObject) -> None:
    broken = bytearray(encoded(kind))
    broken[data.draw(st.integers(0, len(broken) - 1))] = data.draw(st.integers(0, 255))
    survives(bytes(broken))


@given(st.binary(max_size=200))
def test_any_bytes_are_an_image_error(data: bytes) -> None:
    survives(data)


@pytest.mark.parametrize(("kind", "compressed"), [("iTXt", False), ("iTXt", True), ("tEXt", False), ("zTXt", True)])
def test_a_png_with_long_texts_is_whole(kind: str, compressed: bool) -> None:
    texts = PngInfo()
    add = texts.add_itxt if kind == "iTXt" else texts.add_text
    for number in range(3):
        add(f"workflow {number}", "x" * 2**22, zip=compressed)
    assert decode_image(saved(Image.new("RGB", (4, 4), RED), pnginfo=texts), "a").getpixel((0, 0)) == RED


def test_a_png_with_a_long_colour_profile_is_whole() -> None:
    data = saved(Image.new("RGB", (4, 4), RED), icc_profile=bytes(2**21))
    assert decode_image(data, "a").getpixel((0, 0)) == RED


def test_a_damaged_png_with_long_texts_is_damaged() -> None:
    texts = PngInfo()
    texts.add_itxt("workflow", "x" * 2**22, zip=True)
    data = saved(Image.effect_noise((64, 64), 50).convert("RGB"), pnginfo=texts)
    assert "truncated or broken" in refused(data[: len(data) * 3 // 4])


def test_a_photograph_of_108_million_pixels() -> None:
    data = saved(Image.new("1", (12_000, 9_000)))
    assert decode_image(data, "a").size == (12_000, 9_000)


@pytest.mark.parametrize("exif", [b"Exif\0\0garbage", b"Exif\0\0II*\0\xff\xff\xff\xff", b"Exif\0\0", b"garbage"])
@pytest.mark.parametrize("upright", [True, False])
def test_a_picture_whose_exif_is_broken_is_whole(exif: bytes, upright: bool) -> None:
    buffer = BytesIO()
    Image.new("RGB", (8, 4), "red").save(buffer, "JPEG", exif=exif)
    assert decode_image(buffer.getvalue(), "a.jpg", upright=upright).size == (8, 4)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"version https://git-lfs.github.com/spec/v1\n", "is a pointer of Git LFS instead of the file: run git lfs"),
        (b"<!DOCTYPE html><html>", "is a web page"),
        (b"\x1f\x8b\x08\0", "is compressed with gzip: unpack it"),
    ],
)
def test_what_is_no_picture_is_called_what_it_is(content: bytes, message: str) -> None:
    with pytest.raises(ImageError, match=f"Image a.jpg {message}"):
        decode_image(content, "a.jpg")

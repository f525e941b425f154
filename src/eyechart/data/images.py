"""Decode image bytes to RGB, in one way for every model.

With `upright=False` pixels are read as stored: the published ImageNet results ignore the EXIF orientation. With
`upright=True`, for a user's own photographs, the EXIF orientation is applied. (TIFF stores its orientation outside
EXIF, and Pillow always applies it.)
"""

from io import BytesIO

import numpy as np
from numpy.typing import NDArray
from PIL import (
    BmpImagePlugin,
    ExifTags,
    GifImagePlugin,
    Image,
    ImageFile,
    JpegImagePlugin,
    PngImagePlugin,
    PpmImagePlugin,
    TiffImagePlugin,
    WebPImagePlugin,
)

from eyechart.errors import ImageError
from eyechart.files.text_files import HEAD, describe_content

MAX_PIXELS = 178_956_970  # from which Pillow refuses a picture; telephones have 108 million
MAX_ASPECT = 100
PNG_HEAD, PNG_FRAME = 8, 12  # bytes of the signature, and of what is around the content of a chunk
PNG_TEXT = 2**20  # bytes of a text that Pillow reads
PNG_TEXTS = (b"tEXt", b"zTXt", b"iTXt", b"iCCP")
FORMATS = tuple(
    plugin.format
    for plugin in (
        JpegImagePlugin.JpegImageFile,
        PngImagePlugin.PngImageFile,
        WebPImagePlugin.WebPImageFile,
        GifImagePlugin.GifImageFile,
        BmpImagePlugin.BmpImageFile,
        PpmImagePlugin.PpmImageFile,
        TiffImagePlugin.TiffImageFile,
    )
)
SUFFIXES = frozenset({".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp", ".ppm", ".pgm", ".tif", ".tiff"})
_TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}


class _Jpeg(JpegImagePlugin.JpegImageFile):
    """A JPEG whose resolution is not looked up in EXIF, which some ImageNet files have broken: no warning then."""

    def _read_dpi_from_exif(self) -> None:
        return


def decode_image(data: bytes, name: str, *, upright: bool = False) -> Image.Image:
    """Return the first frame of an image as RGB; transparent pixels become white, deep greys are scaled to 8 bits.

    Thread-safe: it does not depend on Pillow's global limits or on warning filters. Raises ImageError for bytes that
    are no image, a truncated image, more than MAX_PIXELS pixels, or an aspect ratio above MAX_ASPECT.
    """
    if not data:
        raise ImageError(f"Image {name} is empty (0 bytes): copy it again from where it came from.")
    kind = _kind(data, name)
    try:
        try:
            return _decode(data, kind, name, upright=upright)
        except ValueError:
            if kind != "PNG" or len(plain := without_texts(data)) == len(data):
                raise
        return _decode(plain, kind, name, upright=upright)
    except ImageError:
        raise
    except Exception as error:
        reason = str(error).strip().rstrip(".") or type(error).__name__
        raise ImageError(
            f"Image {name} ({kind}, {len(data):,} bytes) is truncated or broken: {reason}. Copy it again from where it "
            "came from, or save it anew as PNG."
        ) from error


def _decode(data: bytes, kind: str, name: str, *, upright: bool) -> Image.Image:
    with _open(data, kind) as image:
        _check_size(image.size, name)
        image.load()
        rgb = to_rgb(image)
        return rgb.transpose(_TURNS[turn]) if upright and (turn := _readable_orientation(image)) in _TURNS else rgb


def without_texts(data: bytes) -> bytes:
    """Return a PNG without its texts and colour profile, whose size Pillow limits; no pixel depends on them here."""
    kept, offset = [data[:PNG_HEAD]], PNG_HEAD
    while offset + PNG_FRAME <= len(data):
        end = offset + PNG_FRAME + int.from_bytes(data[offset : offset + 4], "big")
        if data[offset + 4 : offset + 8] not in PNG_TEXTS or _is_orientation(data[offset + 8 : end]):
            kept.append(data[offset:end])
        offset = end
    return b"".join([*kept, data[offset:]])


def _is_orientation(text: bytes) -> bool:
    """Return whether a text of a PNG is metadata of Adobe, which may have the orientation, and not a large one."""
    return text.startswith(b"XML:com.adobe.xmp\0\0") and len(text) < PNG_TEXT


def decodes_identically(data: bytes, image: Image.Image) -> bool:
    """Return whether bytes are a JPEG that all readers decode to `image`: RGB or grey, without an EXIF rotation."""
    try:
        if _kind(data, "") != "JPEG":
            return False
        with _open(data, "JPEG") as file:
            return file.mode in ("RGB", "L") and file.size == image.size and _orientation(file) == 1
    except Exception:  # whatever a reader may stumble over
        return False


def read_header(data: bytes) -> tuple[tuple[int, int], int]:
    """Return width and height of an image, and the sum of the first quantisation table of a JPEG, 0 without one.

    Nothing is decoded. Raises ImageError for bytes that are no image.
    """
    try:
        with _open(data, kind := _kind(data, "")) as image:
            tables = image.quantization if kind == "JPEG" else {}  # type: ignore[attr-defined]
            return image.size, sum(next(iter(tables.values()), ()))
    except ImageError:
        raise
    except Exception as error:
        raise ImageError(f"The header of an image of {len(data):,} bytes cannot be read: {error}.") from error


def _kind(data: bytes, name: str) -> str:
    """Return the first format whose signature matches."""
    for kind in FORMATS:
        accept = Image.OPEN[kind][1]
        if accept is None or accept(data[:16]) is True:
            return kind
    if why := describe_content(data[:HEAD]):
        raise ImageError(f"Image {name} {why}.")
    raise ImageError(
        f"Image {name} is not in a format that is read here ({', '.join(FORMATS)}): it begins with {data[:12]!r}. "
        "Save it as one of these, or remove it from the data set."
    )


def _open(data: bytes, kind: str) -> ImageFile.ImageFile:
    # Not Image.open: its check of the size warns, and whether that is an error hangs on the process's warning filters.
    factory = _Jpeg if kind == "JPEG" else Image.OPEN[kind][0]
    image: ImageFile.ImageFile = factory(BytesIO(data), "")
    return image


def _check_size(size: tuple[int, int], name: str) -> None:
    width, height = size
    if width * height > MAX_PIXELS:
        raise ImageError(
            f"Image {name} has {width} x {height} pixels, a decompression bomb to a reader that allows {MAX_PIXELS:,} "
            "pixels: scale it down, or remove it from the data set."
        )
    if max(size) > MAX_ASPECT * min(size):
        raise ImageError(
            f"Image {name} is {width} x {height} pixels, sides further apart than {MAX_ASPECT} to 1: resizing its "
            "short side would fill the memory. Crop it, or remove it from the data set."
        )


def _orientation(image: Image.Image) -> int:
    try:
        exif = image.getexif()
    except (
        Warning
    ):  # a warning made an error by the filters: Pillow keeps the tags before the fault, as it does otherwise
        exif = image.getexif()
    turn = exif.get(ExifTags.Base.Orientation)
    return turn if isinstance(turn, int) else 1


def _readable_orientation(image: Image.Image) -> int:
    """Return the orientation that EXIF has, 1 if it cannot be read, which says nothing about the pixels."""
    try:
        return _orientation(image)
    except Exception:  # whatever may stand where EXIF is expected
        return 1


def to_rgb(image: Image.Image) -> Image.Image:
    """Return an image as RGB: transparent pixels become white, deep greys are scaled to 8 bits."""
    if image.mode == "F" or image.mode.startswith("I"):
        return Image.fromarray(_eight_bits(image)).convert("RGB")
    if image.has_transparency_data:
        clear = image.convert("RGBA")
        return Image.alpha_composite(Image.new("RGBA", clear.size, "white"), clear).convert("RGB")
    return image.convert("RGB")


def _eight_bits(image: Image.Image) -> NDArray[np.uint8]:
    """Scale deep greys to 0..255: integers from 16 bits, floats from 0..1, and by their range what fits in neither."""
    grey = np.asarray(image).astype(np.float64)
    if not np.isfinite(grey).all():
        raise ValueError("it holds NaN or infinite pixels")
    low, high = 0.0, 1.0 if image.mode == "F" else 65535.0
    if grey.min() < low or grey.max() > high:
        low, high = float(grey.min()), float(grey.max())
        low = min(low, 0.0) if low == high else low  # one grey beyond the range is white
    scaled = np.rint((grey - low) * (255 / (high - low or 1)))
    see_through = image.info.get("transparency")
    if isinstance(see_through, int):
        scaled[grey == see_through] = 255
    return scaled.astype(np.uint8)

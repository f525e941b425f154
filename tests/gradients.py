"""Small pictures that differ, in any format."""

from io import BytesIO

from PIL import Image


def gradient(index: int, kind: str) -> bytes:
    """A picture of its own for each index; one of the kind pgm is cut off."""
    file = BytesIO()
    image = Image.linear_gradient("L").rotate(9 * index).resize((48 + index, 36)).convert("RGB")
    image.save(file, {"jpg": "JPEG", "pgm": "PPM"}.get(kind, kind.upper()))
    return file.getvalue()[: 40 if kind == "pgm" else None]

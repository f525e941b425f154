"""Pictures of one colour."""

import io

from PIL import Image


def picture(shade: int) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (4, 4), (shade, 0, 0)).save(buffer, "PNG")
    return buffer.getvalue()

"""Decode text files that users give: UTF-8 with or without a byte order mark, and UTF-16 with one.

Notepad, Excel and PowerShell write such marks. Text of another encoding is refused, with the line and the byte.
"""

import gzip
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from pathlib import Path
from typing import TextIO

from eyechart.errors import DataError, EyechartError

MARK = "\ufeff"  # the byte order mark as a character, which also begins files that were joined to others


def utf8_bytes(data: bytes) -> bytes:
    """Return text as UTF-8 without a byte order mark; what is neither UTF-8 nor UTF-16 is returned as it is.

    >>> utf8_bytes(b"\\xef\\xbb\\xbfred"), utf8_bytes(b"\\xff\\xfer\\0e\\0d\\0")
    (b'red', b'red')
    """
    if data.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        try:
            return data.decode("utf-16").encode()
        except UnicodeDecodeError:
            return data
    return data.removeprefix(BOM_UTF8)


def decode_text(data: bytes, name: object, error_class: type[EyechartError] = DataError) -> str:
    """Return the text of a file, called `name` in errors, without byte order marks.

    Raises an error of `error_class` for another encoding.
    """
    plain = utf8_bytes(data)
    try:
        return plain.decode().replace(f"\n{MARK}", "\n")
    except UnicodeDecodeError as error:
        line, byte = plain.count(b"\n", 0, error.start) + 1, plain[error.start]
        raise error_class(
            f"{name}, line {line} is not UTF-8: it has the byte 0x{byte:02x}. Save it as UTF-8 text."
        ) from error


def open_text(path: Path) -> TextIO:
    """Open a text file, or one that gzip compressed, as `utf8_bytes` decodes it; line ends are those of the file."""
    compressed = path.suffix.lower() == ".gz"
    with gzip.open(path) if compressed else path.open("rb") as file:
        encoding = "utf-16" if file.read(2) in (BOM_UTF16_LE, BOM_UTF16_BE) else "utf-8-sig"
    if compressed:
        return gzip.open(path, "rt", encoding=encoding, newline="")
    return path.open(encoding=encoding, newline="")


def plain_text(path: Path) -> str:
    """Return the text of a file as `utf8_bytes` decodes it, with the line ends of Python.

    Raises OSError and UnicodeDecodeError, as `Path.read_text` does.
    """
    return utf8_bytes(path.read_bytes()).decode().replace("\r\n", "\n").replace("\r", "\n").replace(f"\n{MARK}", "\n")


def read_text(path: Path, error_class: type[EyechartError] = DataError) -> str:
    """Return the text of a file without byte order marks, as `decode_text`; line ends are those of the file.

    Raises an error of `error_class` for a file that cannot be read.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise error_class(f"{path} cannot be read ({error.strerror}): copy it again, or allow it.") from error
    return decode_text(data, path, error_class)

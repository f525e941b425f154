"""Decode text files that users give, UTF-8 with or without a byte order mark and UTF-16 with one; write csv lines.

Notepad, Excel and PowerShell write such marks. Text of another encoding is refused, with the line and the byte.
"""

import gzip
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE, getincrementaldecoder
from contextlib import suppress
from pathlib import Path
from typing import TextIO

from eyechart.errors import DataError, EyechartError

FIRST = 2**16  # bytes of a large table that are looked at before it is read in parts
HEAD = 64  # bytes that say what a file is
COMPRESSED = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ": "xz",
    b"\x28\xb5\x2f\xfd": "Zstandard",
}  # by first bytes
MARK = "\ufeff"  # the byte order mark as a character, which also begins files that were joined to others


def describe_content(head: bytes) -> str:
    """Return what a file is by its first bytes, and the remedy, "" for what is none of the usual mistakes.

    >>> describe_content(b"version https://git-lfs.github.com/spec/v1")
    'is a pointer of Git LFS instead of the file: run git lfs pull'
    """
    if not head:
        return "is empty (0 bytes): copy it again"
    if head.startswith(b"version https://git-lfs"):
        return "is a pointer of Git LFS instead of the file: run git lfs pull"
    if head.startswith(b"PK\x03\x04"):
        return "is a zip archive, or a workbook of Excel: unpack it, or save it as the format that is expected"
    if head.startswith(b"PAR1"):
        return "is a parquet file: give it the ending .parquet"
    for start, name in COMPRESSED.items():
        if head.startswith(start):
            return f"is compressed with {name}: unpack it"
    if head.lstrip().lower().startswith((b"<!doctype html", b"<html")):
        return "is a web page, such as that of an error, instead of the file: download it again"
    return ""


def check_text(data: bytes, name: object, error_class: type[EyechartError] = DataError) -> None:
    """Raise an error of `error_class` for what is no text: a compressed file, a workbook, or UTF-16 without a mark."""
    if data.startswith(b"PAR1") and str(name).endswith(".parquet"):
        raise error_class(f"{name} is a parquet file, which is not read here: save it as csv.")
    if why := describe_content(data[:HEAD]) if data else "":
        raise error_class(f"{name} {why}.")
    if data.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        raise error_class(f"{name} begins as UTF-16, but cannot be read as UTF-16: save it as UTF-8 text.")
    if b"\0" in data:
        line = data.count(b"\n", 0, data.index(b"\0")) + 1
        raise error_class(
            f"{name}, line {line} has a byte of zero, as UTF-16 without a byte order mark has: save it as UTF-8 text."
        )


def utf8_bytes(data: bytes) -> bytes:
    """Return text as UTF-8 without a byte order mark; what is neither UTF-8 nor UTF-16 is returned as it is.

    >>> utf8_bytes(b"\\xef\\xbb\\xbfred"), utf8_bytes(b"\\xff\\xfer\\0e\\0d\\0")
    (b'red', b'red')
    """
    if data.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        try:
            data = data.decode("utf-16").encode()
        except UnicodeDecodeError:
            return data
    while data.startswith(BOM_UTF8):  # also two, where a file with a mark was saved as one without
        data = data.removeprefix(BOM_UTF8)
    return data


def unix_lines(text: str) -> str:
    """Return a text with the line ends of Unix in place of those of Windows and of old Macs.

    >>> unix_lines("a\\r\\nb\\rc")
    'a\\nb\\nc'
    """
    return text.replace("\r\n", "\n").replace("\r", "\n")


def decode_text(data: bytes, name: object, error_class: type[EyechartError] = DataError) -> str:
    """Return the text of a file, called `name` in errors, without byte order marks.

    Raises an error of `error_class` for another encoding.
    """
    plain = utf8_bytes(data)
    check_text(plain, name, error_class)
    try:
        return plain.decode().replace(f"\n{MARK}", "\n")
    except UnicodeDecodeError as error:
        line, byte = plain.count(b"\n", 0, error.start) + 1, plain[error.start]
        raise error_class(
            f"{name}, line {line} is not UTF-8: it has the byte 0x{byte:02x}. Save it as UTF-8 text."
        ) from error


def open_text(path: Path, error_class: type[EyechartError] = DataError) -> TextIO:
    """Open a text file, or one that gzip compressed, as `utf8_bytes` decodes it; line ends are kept.

    Raises an error of `error_class` for what is no text.
    """
    compressed = path.suffix.lower() == ".gz"
    with gzip.open(path) if compressed else path.open("rb") as file:
        data = file.read(FIRST)
    encoding = "utf-16" if data.startswith((BOM_UTF16_LE, BOM_UTF16_BE)) else "utf-8-sig"
    if encoding == "utf-16":
        with suppress(UnicodeDecodeError):  # the last character may be cut off
            data = getincrementaldecoder("utf-16")().decode(data).encode()
    check_text(utf8_bytes(data), path, error_class)
    if compressed:
        return gzip.open(path, "rt", encoding=encoding, newline="")
    return path.open(encoding=encoding, newline="")


def plain_text(path: Path) -> str:
    """Return the text of a file as `utf8_bytes` decodes it, with the line ends of Python.

    Raises OSError and UnicodeDecodeError, as `Path.read_text` does, and DataError for what is no text.
    """
    data = utf8_bytes(path.read_bytes())
    check_text(data, path)
    return unix_lines(data.decode()).replace(f"\n{MARK}", "\n")


def read_text(path: Path, error_class: type[EyechartError] = DataError) -> str:
    """Return the text of a file without byte order marks, as `decode_text`; line ends are kept.

    Raises an error of `error_class` for a file that cannot be read.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise error_class(f"{path} cannot be read ({error.strerror}): copy it again, or allow it.") from error
    return decode_text(data, path, error_class)

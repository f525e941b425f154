"""Read files of JSON as typed structures, with a sentence for what is damaged or missing."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from eyechart.errors import DataError
from eyechart.files.text_files import HEAD, describe_content, utf8_bytes

T = TypeVar("T")


def parse_json(data: bytes, kind: type[T], source: str, remedy: str) -> T:
    """Return JSON as a structure; NaN and Infinity are numbers, as other tools write them.

    `source` names the file, `remedy` is the end of the sentence for one that is damaged. Raises DataError.
    """
    data = utf8_bytes(data)
    if why := describe_content(data[:HEAD]) if data else "":
        raise DataError(f"{source} {why}.")
    try:
        try:
            return msgspec.json.decode(data, type=kind, strict=False)
        except msgspec.ValidationError:
            raise
        except msgspec.DecodeError:
            return msgspec.convert(json.loads(data), kind, strict=False)  # which reads NaN
    except msgspec.ValidationError as error:
        raise DataError(f"{source}: {error}. {remedy}") from error
    except (ValueError, RecursionError) as error:
        raise DataError(f"{source} is no JSON ({error}). {remedy}") from error


def read_file(path: Path, remedy: str) -> bytes:
    """Return the bytes of a file. Raises DataError if it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}). {remedy}") from error


def read_lines(path: Path, remedy: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the objects of a file with one JSON object per line, each with its file and line. Raises DataError."""
    for number, line in enumerate(read_file(path, remedy).splitlines(), 1):
        if line.strip():
            location = f"{path}, line {number}"
            yield location, parse_json(line, dict[str, Any], location, remedy)

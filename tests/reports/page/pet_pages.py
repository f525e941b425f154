"""The files of a page, and runs whose records have other values of some fields."""

import json
import re
from base64 import b64decode
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from eyechart.results.records import Records, encode, read_run

NAMES = ("Abyssinian", "beagle", "pug <b>")
FIRST, SECOND = "20260101-000001-000000", "20260101-000002-000000"  # the folders of two linked runs


def chunk(folder: Path, name: str) -> Any:
    """The data of one of the page's files."""
    text = (folder / "data" / f"{name}.js").read_text(encoding="utf-8")
    match = re.fullmatch(r"\w+\((\".*?\"),\s*(\".*\")\);?\s*", text, re.DOTALL)
    assert match
    return json.loads(json.loads(match[2]))


def unpacked(packed: dict[str, str]) -> list[int]:
    """The numbers, as the page reads them."""
    numbers: list[int] = np.frombuffer(b64decode(packed["d"]), f"<{packed['t']}").tolist()
    return numbers


def thumbnails(folder: Path) -> int:
    """How many images the page has."""
    return sum(path.read_text("ascii").count("data:image/jpeg") for path in (folder / "images").rglob("*.js"))


def changed(folder: Path, **per_record: list[Any]) -> Path:
    """A run whose records have other values of some fields."""
    found = read_run(folder)
    records = [
        msgspec.structs.replace(record, **{name: values[index] for name, values in per_record.items()})
        for index, record in enumerate(found.records)
    ]
    (folder / "records.json").write_bytes(encode(Records(run=found.run, records=tuple(records))))
    return folder

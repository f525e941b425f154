"""What a `.tflite` file says about itself: its entries, LiteRT's metadata, and the files zipped into it.

The schema is `metadata_schema.fbs` of TFLite Support and MediaPipe; their packages are large, so its few fields that
matter here are read by their places in its tables.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

from eyechart.errors import ModelError
from eyechart.models.exported.class_names import CLASSES_KEY
from eyechart.models.exported.preprocessing_sources import LITERT_MEAN, LITERT_STD

SCHEMA_KEY = "TFLITE_METADATA"
ULTRALYTICS = "metadata.json"  # which Ultralytics zips into its files
NORMALISATION, AXIS_LABELS = 1, 2  # of ProcessUnitOptions, and of AssociatedFileType
SUBGRAPHS, INPUTS, OUTPUTS, UNITS, FILES = 3, 2, 3, 4, 6  # numbers of fields in their tables


def read_metadata(path: Path, entries: Mapping[str, bytes]) -> Mapping[str, str]:
    """Return what a file says about itself by name, in the words of other exporters.

    Args:
        path: The file.
        entries: The entries `metadata` of its graph.

    Raises:
        ModelError: It names a file of classes that it does not hold.
    """
    own = {name: text.decode() for name, text in entries.items() if name.startswith("eyechart.")}
    zipped = _zipped(path)
    written = {str(name): str(value) for name, value in json.loads(zipped.get(ULTRALYTICS, b"{}")).items()}
    return {**written, **(_of_schema(path, entries[SCHEMA_KEY], zipped) if SCHEMA_KEY in entries else {}), **own}


def _zipped(path: Path) -> Mapping[str, bytes]:
    """Return the files that are zipped onto the end of a file."""
    try:
        with ZipFile(path) as archive:
            return {name: archive.read(name) for name in archive.namelist()}
    except BadZipFile:
        return {}


def _of_schema(path: Path, data: bytes, zipped: Mapping[str, bytes]) -> Mapping[str, str]:
    """Return normalisation and classes as LiteRT's metadata have them."""
    from flatbuffers import encode, packer, table

    found: dict[str, str] = {}
    graph = next(_tables(table.Table(data, encode.Get(packer.uoffset, data, 0)), SUBGRAPHS), None)
    for unit in (unit for port in _tables(graph, INPUTS) for unit in _tables(port, UNITS)):
        if _byte(unit, 0) == NORMALISATION:
            options = table.Table(data, 0)
            unit.Union(options, unit.Offset(6))
            found |= {LITERT_MEAN: json.dumps(_floats(options, 0)), LITERT_STD: json.dumps(_floats(options, 1))}
    for file in (file for port in _tables(graph, OUTPUTS) for file in _tables(port, FILES)):
        if _byte(file, 2) == AXIS_LABELS and CLASSES_KEY not in found:
            name = file.String(file.Offset(4) + file.Pos).decode()
            if name not in zipped:
                raise ModelError(f"{path} names its classes in {name}, which is not zipped into it. Fetch it again.")
            found[CLASSES_KEY] = json.dumps(zipped[name].decode("utf-8-sig").splitlines())
    return found


def _tables(parent: Any, field: int) -> Iterator[Any]:
    """Yield the tables in a list, none without it."""
    from flatbuffers.table import Table

    offset = parent.Offset(4 + 2 * field) if parent else 0
    for number in range(parent.VectorLen(offset) if offset else 0):
        yield Table(parent.Bytes, parent.Indirect(parent.Vector(offset) + 4 * number))


def _byte(parent: Any, field: int) -> int:
    offset = parent.Offset(4 + 2 * field)
    return int(parent.Bytes[offset + parent.Pos]) if offset else 0


def _floats(parent: Any, field: int) -> list[float]:
    """Return a list of floats; one number counts for every channel."""
    import numpy as np

    offset = parent.Offset(4 + 2 * field)
    count = parent.VectorLen(offset) if offset else 0
    numbers = np.frombuffer(parent.Bytes, "<f4", count, parent.Vector(offset)).tolist() if count else []
    return numbers * 3 if count == 1 else numbers

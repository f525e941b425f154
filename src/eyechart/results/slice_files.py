"""The slices of a split as a file of a run, which all cases on the same samples share."""

from collections.abc import Iterable
from pathlib import Path

import msgspec
import numpy as np

from eyechart.data.dataset.dataset import SliceVariable
from eyechart.errors import ReportError
from eyechart.files.atomic import write_atomic
from eyechart.results.evidence import Evidence, digest, pack_array, unpack_array
from eyechart.results.records import encode

FOLDER = "slices"  # beside the evidence of a run


class _StoredVariable(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A variable of samples: its name, its values, and the packed int32 index of each sample's value, -1 for none.

    `group` is an attribute's.
    """

    name: str
    values: tuple[str, ...]
    codes: str
    group: str = ""


def write_slices(variables: Iterable[SliceVariable], folder: Path) -> str | msgspec.UnsetType:
    """Write variables once for all cases with the same ones and return the name of their file, UNSET without any."""
    stored = [
        _StoredVariable(name=v.name, values=v.values, codes=pack_array(v.codes.astype("<i4").tobytes()), group=v.group)
        for v in variables
    ]
    if not stored:
        return msgspec.UNSET
    content = encode(stored)
    path = folder / FOLDER / f"{digest(content)}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.is_file():
        write_atomic(path, content)
    return path.stem


def read_slices(evidence: Evidence, folder: Path) -> tuple[SliceVariable, ...]:
    """Return the variables of a case's samples, () if it has none. Raises ReportError if the file is damaged."""
    if evidence.slices is msgspec.UNSET:
        return ()
    path = folder / FOLDER / f"{evidence.slices}.json"
    try:
        content = path.read_bytes()
        if digest(content) != evidence.slices:
            raise ValueError("its content has another digest than its name")
        stored = msgspec.json.decode(content, type=tuple[_StoredVariable, ...])
        return tuple(_unpack(variable, evidence.samples) for variable in stored)
    except (OSError, msgspec.DecodeError, ValueError) as error:
        raise ReportError(f"{path} cannot be read ({error}). Run the case again.") from error


def _unpack(variable: _StoredVariable, samples: int) -> SliceVariable:
    codes = np.frombuffer(unpack_array(variable.codes, 4 * samples), "<i4").astype(np.int64)
    return SliceVariable(variable.name, variable.values, codes, variable.group)

"""The logits of a case in the store, by which the gate can prove that a model with other weights answers alike."""

from contextlib import suppress
from hashlib import sha256
from io import BytesIO
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from eyechart.files.atomic import read_checked, write_checked

LOGITS = "logits"  # a folder of a store
MOST = 2**21  # numbers of a case: where there are more images, a margin can be excluded without a proof
Floats = NDArray[np.float32]


def write_logits(store: Path, logits: NDArray[np.floating]) -> str:
    """Write the logits (n, classes) of a case into a store, and return their name, "" if these are none or too many."""
    if logits.ndim != 2 or min(logits.shape) < 1 or logits.size > MOST:
        return ""
    buffer = BytesIO()
    np.save(buffer, np.ascontiguousarray(logits, np.float32))
    name = sha256(buffer.getvalue()).hexdigest()[:32]
    path = _path(store, name)
    if not path.is_file():
        with suppress(OSError):  # a store that is only read
            path.parent.mkdir(parents=True, exist_ok=True)
            write_checked(path, buffer.getvalue())
    return name


def read_logits(store: Path, name: str) -> Floats | None:
    """Return logits by their name, None if the store does not have them or the file is damaged."""
    with suppress(OSError, ValueError):
        return np.asarray(np.load(BytesIO(read_checked(_path(store, name)))), np.float32)
    return None


def _path(store: Path, name: str) -> Path:
    return store / LOGITS / f"{name}.npy"

"""The cached results of resampling of a case, in one file of the store, so that an equal run computes none again."""

import zlib
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from eyechart.files.atomic import read_checked, write_checked

Floats = NDArray[np.float64]
FOLDER = "results"  # of a store


class StoredResults:
    """The results of a case by the hash of their inputs (see `statistics.draws_cache`), read from a file.

    A file that cannot be read, or is damaged, counts as one without results. `save` writes those that were used.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._stored = _read(path)
        self._used: dict[str, Floats] = {}

    def get(self, key: str, /) -> Floats | None:
        """Return a result, None if it is not there."""
        if key not in self._used and key in self._stored:
            self._used[key] = self._stored[key]
        return self._used.get(key)

    def __setitem__(self, key: str, value: Floats, /) -> None:
        """Add a result."""
        self._used[key] = value

    def save(self) -> None:
        """Write the results that were used, if the file has others; a store that is only read is left unchanged."""
        if self._used.keys() == self._stored.keys():
            return
        plain = {key: (value.shape, np.ascontiguousarray(value).tobytes()) for key, value in self._used.items()}
        body = zlib.compress(msgspec.msgpack.encode(plain), 1)
        with suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            write_checked(self.path, body)


def results_path(store: Path, *names: object) -> Path:
    """Return the path of the results of a case that these names and numbers identify.

    >>> results_path(Path("store"), "imagenet/val", 42).parent.as_posix()
    'store/results'
    """
    return store / FOLDER / f"{sha256(msgspec.json.encode(names)).hexdigest()[:32]}.bin"


def _read(path: Path) -> dict[str, Floats]:
    """Return the results of a file, none if it is missing or its checksum does not match."""
    try:
        body = zlib.decompress(read_checked(path))
        plain = msgspec.msgpack.decode(body, type=dict[str, tuple[tuple[int, ...], bytes]])
        return {key: np.frombuffer(data).reshape(shape) for key, (shape, data) in plain.items()}
    except (OSError, ValueError, zlib.error):
        return {}

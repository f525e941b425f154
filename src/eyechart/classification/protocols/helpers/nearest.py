"""The nearest vectors by cosine, in blocks: 1.3 million supports of 768 numbers need some hundred megabytes.

The cosines are sums that float64 holds without rounding (`unit_vectors`). They are therefore equal for equal vectors,
and the same on every processor and device and in blocks of any size, which decide nothing about a tie.
"""

import sys
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from eyechart.inference.requests.class_weights import unit_vectors
from eyechart.models.types import Floats

NUMBERS = 2**23  # of a block of vectors
CELLS = 2**22  # cosines that are held at a time
_DEVICES = ("cpu", "cuda")  # of torch; others may have no float64


class Vectors(Protocol):
    """Vectors of shape (n, d) that are read in blocks, such as an array or a memory map."""

    def __len__(self) -> int: ...

    def __getitem__(self, key: Any, /) -> Any: ...


@dataclass(frozen=True)
class SelectedRows:
    """Some rows of an array, which are copied only as they are read."""

    values: Floats
    rows: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, key: slice | NDArray[np.int64], /) -> Floats:
        return self.values[self.rows[key]]


class _Nearest(NamedTuple):
    """The indices of the nearest supports, ascending, and their cosines; both have shape (n, k)."""

    indices: NDArray[np.int64]
    cosines: NDArray[np.float64]


def find_nearest(queries: Vectors, support: Vectors, k: int, device: str = "cpu") -> _Nearest:
    """Return the k nearest supports of each query; of equally near supports the first ones.

    `queries` has shape (n, d), `support` (m, d), and k is 1 to m. `device` is torch's name of a device; numpy computes
    for "cpu", for devices that may have no float64, and where torch is not loaded.

    >>> support = np.array([[1, 0], [0, 1], [2, 0]], np.float32)
    >>> nearest = find_nearest(np.array([[3, 0]], np.float32), support, 2)
    >>> nearest.indices.tolist(), nearest.cosines.tolist()
    ([[0, 2]], [[1.0, 1.0]])
    """
    indices, cosines = np.zeros((len(queries), k), np.int64), np.zeros((len(queries), k))
    blocks, rows = Blocks.on(device), max(1, NUMBERS // support[:1].shape[1])
    for start in range(0, len(queries), rows):
        some = slice(start, start + rows)
        indices[some], cosines[some] = blocks.nearest(unit_vectors(queries[some]), support, k)
    return _Nearest(indices, cosines)


@dataclass(frozen=True)
class Blocks:
    """Cosines of blocks of vectors by numpy, or by torch on a device."""

    library: Any
    device: Any = None

    @classmethod
    def on(cls, device: str) -> "Blocks":
        """Return torch's on a device with float64 if torch is loaded, else numpy's for the processor."""
        torch = sys.modules.get("torch")
        if torch is None or device == "cpu" or torch.device(device).type not in _DEVICES:
            return cls(np)
        return cls(torch, torch.device(device))

    def nearest(self, queries: NDArray[np.float64], support: Vectors, k: int) -> _Nearest:
        """Return the k nearest supports of unit vectors, of equally near ones the first."""
        n, rows = len(queries), max(1, NUMBERS // queries.shape[1])
        placed = self.to_device(queries)
        cosines, indices = self.to_device(np.zeros((n, 0))), self.to_device(np.zeros((n, 0), np.int64))
        for start in range(0, len(support), rows):
            near, positions = self.search(placed, self.to_device(unit_vectors(support[start : start + rows])), k)
            cosines = self.library.concatenate((cosines, near), 1)
            indices = self.library.concatenate((indices, positions + start), 1)
            chosen = self.largest(cosines, k)
            cosines, indices = cosines[chosen].reshape(n, -1), indices[chosen].reshape(n, -1)
        return _Nearest(self.to_numpy(indices), self.to_numpy(cosines))

    def search(self, queries: Any, support: Any, count: int) -> tuple[Any, Any]:
        """Return the largest cosines of each query with a block of supports, and their indices in it."""
        rows, nearest = max(1, CELLS // len(support)), list[tuple[Any, Any]]()
        for start in range(0, len(queries), rows):
            cosines = queries[start : start + rows] @ support.T
            chosen = self.largest(cosines, count)
            values, indices = cosines[chosen], self.library.where(chosen)[1]
            nearest.append((values.reshape(len(cosines), -1), indices.reshape(len(cosines), -1)))
        cosines, indices = (self.library.concatenate(parts, 0) for parts in zip(*nearest, strict=True))
        return cosines, indices

    def largest(self, values: Any, count: int) -> Any:
        """Return a mask of the `count` largest values of each row, the first ones of equal ones."""
        count = min(count, values.shape[1])
        if self.device is None:
            least = np.partition(values, -count, axis=1)[:, -count, None]
        else:
            least = self.library.topk(values, count).values[:, -1:]
        larger, equal = values > least, values == least
        return larger | (equal & (equal.cumsum(1) <= count - larger.sum(1)[:, None]))

    def to_device(self, values: NDArray[Any]) -> Any:
        """Return an array on the device."""
        return values if self.device is None else self.library.from_numpy(values).to(self.device)

    def to_numpy(self, values: Any) -> NDArray[Any]:
        """Return an array of the device as one of NumPy."""
        return np.asarray(values if self.device is None else values.cpu())

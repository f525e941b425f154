"""The nearest vectors by cosine, in blocks: 1.3 million supports of 768 numbers need some hundred megabytes.

float32 products, on an accelerator if there is one, find a few more candidates than are wanted. Their cosines are then
computed again in float64, one by one, so that neither the device nor the size of blocks decides which are nearest.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from eyechart.inference.class_weights import normalize
from eyechart.models.types import Floats

SPARE = 16  # candidates besides the k nearest: float32 may order nearly equal cosines in another way
NUMBERS = 2**24  # of a block of vectors
CELLS = 2**23  # cosines that are held at a time


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


class Nearest(NamedTuple):
    """The indices of the nearest supports, ascending, and their cosines; both have shape (n, k)."""

    indices: NDArray[np.int64]
    cosines: NDArray[np.float64]


def find_nearest(queries: Vectors, support: Vectors, k: int, device: str = "cpu") -> Nearest:
    """Return the k nearest supports of each query; of equally near supports the first ones.

    `queries` has shape (n, d), `support` (m, d), and k is 1 to m. `device` is torch's name of a device; numpy computes
    for "cpu", and where torch is not loaded.

    >>> support = np.array([[1, 0], [0, 1], [2, 0]], np.float32)
    >>> nearest = find_nearest(np.array([[3, 0]], np.float32), support, 2)
    >>> nearest.indices.tolist(), nearest.cosines.tolist()
    ([[0, 2]], [[1.0, 1.0]])
    """
    indices, cosines = np.zeros((len(queries), k), np.int64), np.zeros((len(queries), k))
    blocks, rows = Blocks.on(device), max(1, NUMBERS // support[:1].shape[1])
    for start in range(0, len(queries), rows):
        block = normalize(queries[start : start + rows])
        candidates = blocks.candidates(block, support, min(k + SPARE, len(support)))
        indices[start : start + rows], cosines[start : start + rows] = exact(block, support, candidates, k)
    return Nearest(indices, cosines)


@dataclass(frozen=True)
class Blocks:
    """Cosines of blocks of vectors by numpy, or by torch on a device."""

    library: Any
    device: Any = None

    @classmethod
    def on(cls, device: str) -> "Blocks":
        """Return torch's on a device if torch is loaded, numpy's for the processor."""
        torch = sys.modules.get("torch")
        return cls(np) if torch is None or device == "cpu" else cls(torch, torch.device(device))

    def candidates(self, queries: Floats, support: Vectors, count: int) -> NDArray[np.int64]:
        """Return the indices of the nearest supports by float32, ascending, of shape (n, count)."""
        n, rows = len(queries), max(1, NUMBERS // queries.shape[1])
        placed = self.place(queries)
        cosines, indices = self.place(np.zeros((n, 0), np.float32)), self.place(np.zeros((n, 0), np.int64))
        with self.full_precision():
            for start in range(0, len(support), rows):
                near, places = self.search(placed, self.place(normalize(support[start : start + rows])), count)
                cosines = self.library.concatenate((cosines, near), 1)
                indices = self.library.concatenate((indices, places + start), 1)
                chosen = self.largest(cosines, count)
                cosines, indices = cosines[chosen].reshape(n, -1), indices[chosen].reshape(n, -1)
        return np.asarray(indices if self.device is None else indices.cpu())

    def search(self, queries: Any, support: Any, count: int) -> tuple[Any, Any]:
        """Return the largest cosines of each query with a block of supports, and their places in it."""
        rows, nearest = max(1, CELLS // len(support)), list[tuple[Any, Any]]()
        for start in range(0, len(queries), rows):
            cosines = queries[start : start + rows] @ support.T
            chosen = self.largest(cosines, count)
            values, places = cosines[chosen], self.library.where(chosen)[1]
            nearest.append((values.reshape(len(cosines), -1), places.reshape(len(cosines), -1)))
        cosines, places = (self.library.concatenate(parts, 0) for parts in zip(*nearest, strict=True))
        return cosines, places

    def largest(self, values: Any, count: int) -> Any:
        """Return a mask of the `count` largest values of each row, the first ones of equal ones."""
        count = min(count, values.shape[1])
        if self.device is None:
            least = np.partition(values, -count, axis=1)[:, -count, None]
        else:
            least = self.library.topk(values, count).values[:, -1:]
        larger, equal = values > least, values == least
        return larger | (equal & (equal.cumsum(1) <= count - larger.sum(1)[:, None]))

    def place(self, values: NDArray[Any]) -> Any:
        """Return an array on the device."""
        return values if self.device is None else self.library.from_numpy(values).to(self.device)

    @contextmanager
    def full_precision(self) -> Iterator[None]:
        """Let torch compute products in float32, also where TF32 is allowed."""
        if self.device is None:
            yield
            return
        before = self.library.get_float32_matmul_precision()
        self.library.set_float32_matmul_precision("highest")
        try:
            yield
        finally:
            self.library.set_float32_matmul_precision(before)


def exact(queries: Floats, support: Vectors, candidates: NDArray[np.int64], k: int) -> Nearest:
    """Return the k nearest of the candidates of each query by cosines in float64."""
    (n, count), width = candidates.shape, queries.shape[1]
    cosines, rows = np.zeros((n, count)), max(1, CELLS // (4 * count * width))
    for start in range(0, n, rows):
        some = candidates[start : start + rows]
        vectors = normalize(support[some.ravel()]).reshape(*some.shape, width)
        products = queries[start : start + rows, None] * vectors.astype(np.float64)
        cosines[start : start + rows] = products.sum(axis=2)
    chosen = Blocks(np).largest(cosines, k)
    return Nearest(candidates[chosen].reshape(n, k), cosines[chosen].reshape(n, k))

"""How often each unit is drawn in each bootstrap resample, and where these numbers are kept to be used again."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from tempfile import TemporaryFile
from typing import TypeVar
from weakref import finalize

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]
Number = TypeVar("Number", np.uint8, np.int64, np.float64)
Seed = int | np.random.Generator
KEPT = 2**26  # bytes of draws that are kept in memory, to be asked for again
SMALL = 2**20  # bytes of draws; many so small ones are kept, since cases of small splits ask for the same few again
BLOCK = 2**16  # units that are drawn at once: as many as stay in a processor's cache
SPILLED = 2**29  # bytes of draws that are kept in a file, which the memory does not hold: 1,000 of 536,870 units


@dataclass(frozen=True, eq=False)
class BootstrapSamples:
    """How often each of n rows is drawn in each of `times` resamples; see `resampling.bootstrap_counts`.

    `strata` (units,) is the stratum of each unit that is drawn, and `unit` (n,) the unit of each row, None if each row
    is a unit. Iterating yields the counts (n,) int64 of each resample.

    >>> [counts.tolist() for counts in BootstrapSamples(2, 0, np.array([0, 0]), np.array([0, 1, 1]))]
    [[0, 2, 2], [1, 1, 1]]
    """

    times: int
    seed: Seed
    strata: Counts
    unit: Counts | None = None

    def __len__(self) -> int:
        """Return the number of resamples."""
        return self.times

    def __iter__(self) -> Iterator[Counts]:
        """Yield how often each row is drawn (n,), resample by resample."""
        return self._rows(np.int64)

    def floats(self) -> Iterator[NDArray[np.float64]]:
        """Yield the same numbers as float64, for products with other floats."""
        return self._rows(np.float64)

    def small(self) -> Iterator[NDArray[np.uint8]]:
        """Yield the same numbers as uint8, which are put into another order in two thirds of the time."""
        return self._rows(np.uint8)

    def _rows(self, kind: type[Number]) -> Iterator[NDArray[Number]]:
        rows, unit = self._units(kind), self.unit
        return rows if unit is None else (counts.take(unit) for counts in rows)

    def table(self) -> NDArray[np.uint8] | None:
        """Return the counts (times, n) of all resamples where these are few, else None."""
        n = len(self.strata if self.unit is None else self.unit)
        if not isinstance(self.seed, int) or n * self.times > SMALL:
            return None
        table = _kept_small(len(self.strata), self.times, self.seed, self.strata.tobytes())
        return table if self.unit is None else table.take(self.unit, axis=1)

    def _units(self, kind: type[Number]) -> Iterator[NDArray[Number]]:
        """Yield how often each unit is drawn (units,), resample by resample."""
        n, strata = len(self.strata), self.strata.tobytes()
        size = n * self.times
        if isinstance(self.seed, int) and size <= SMALL:
            return iter(_kept_small(n, self.times, self.seed, strata).astype(kind))
        if isinstance(self.seed, int) and size <= KEPT:
            return (counts.astype(kind) for counts in _kept(n, self.times, self.seed, strata))
        if isinstance(self.seed, int) and size <= SPILLED and (kept := _spilled(n, self.times, self.seed, strata)):
            return (counts.astype(kind) for counts in kept.rows())
        drawn = _drawn(self.strata, self.times, np.random.default_rng(self.seed))
        return (counts.astype(kind, copy=False) for counts in drawn)


def _draw_table(n: int, times: int, seed: int, strata: bytes) -> NDArray[np.uint8]:
    """Return the counts (times, n) of all resamples."""
    table = np.empty((times, n), np.uint8)  # of 256 units or more, none is drawn 256 times but by a chance of 1e-500
    draw, random = _sampler(np.frombuffer(strata, np.int64)), np.random.default_rng(seed)
    step = max(1, BLOCK // max(n, 1))
    for block in (table[start : start + step] for start in range(0, times, step)):
        units = draw(len(block), random)
        units += n * np.arange(len(block))[:, None]
        block[:] = np.bincount(units.ravel(), minlength=units.size).reshape(units.shape)
    return table


# All intervals of a case use the same resamples; the counts of large splits do not displace those of small ones.
_kept = lru_cache(maxsize=2)(_draw_table)
_kept_small = lru_cache(maxsize=64)(_draw_table)


def _sampler(stratum: Counts) -> Callable[[int, np.random.Generator], Counts]:
    """Return a function that draws several resamples (times, n) of units at once, which `_drawn` yields one by one."""
    n, (_, index, sizes) = len(stratum), np.unique(stratum, return_inverse=True, return_counts=True)
    if len(sizes) < 2:  # one bound for all numbers is ten times as fast
        return lambda times, random: random.integers(max(n, 1), size=(times, n))
    order = np.argsort(index, kind="stable")
    first, bounds = (np.cumsum(sizes) - sizes)[index][order], sizes[index][order]
    return lambda times, random: order[first + random.integers(np.broadcast_to(bounds, (times, n)))]


class _Spilled:
    """Counts of resamples in an unnamed temporary file, so that they are drawn only once."""

    def __init__(self, n: int, times: int, draws: Iterator[Counts]) -> None:
        self.n, self.times = n, times
        self.file = TemporaryFile()  # noqa: SIM115  # it lives as long as the draws may be asked for
        finalize(self, self.file.close)
        for counts in draws:
            self.file.write(counts.astype(np.uint8).tobytes())
        self.file.flush()

    def rows(self) -> Iterator[NDArray[np.uint8]]:
        """Yield the counts of the resamples; several readers may iterate at once."""
        for index in range(self.times):
            data = os.pread(self.file.fileno(), self.n, index * self.n)
            yield np.frombuffer(data, np.uint8)


@lru_cache(maxsize=1)
def _spilled(n: int, times: int, seed: int, strata: bytes) -> _Spilled | None:
    """Return the counts in a file, or None if the file cannot be written; they are then drawn again each time."""
    try:
        return _Spilled(n, times, _drawn(np.frombuffer(strata, np.int64), times, np.random.default_rng(seed)))
    except OSError:
        return None


def _drawn(stratum: Counts, times: int, random: np.random.Generator) -> Iterator[Counts]:
    n, indices = len(stratum), [np.flatnonzero(stratum == value) for value in np.unique(stratum)]
    for _ in range(times):
        rows = [index[random.integers(len(index), size=len(index))] for index in indices]
        yield np.bincount(np.concatenate(rows) if n else [], minlength=n)

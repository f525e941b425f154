"""Columns of sample tables in which equal values are kept once: ten models of 50,000 samples fit into little memory."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from io import StringIO
from typing import Any, Generic, TypeVar, overload

import numpy as np
import pandas as pd
from numpy.typing import DTypeLike, NDArray

from eyechart.protocol.sample_view import Line

V = TypeVar("V")
W = TypeVar("W")


class Column(Sequence[V], Generic[V]):
    """The values of some rows: the different values, and for each row the index of its value."""

    def __init__(self, codes: NDArray[np.integer[Any]], values: Sequence[V]) -> None:
        self.codes = codes.astype(np.min_scalar_type(max(0, len(values) - 1)), copy=False)
        self.values = values

    @classmethod
    def of(cls, values: Iterable[V]) -> "Column[V]":
        """Return a column of hashable values, which become different values in the order of their first rows."""
        if isinstance(values, Column):
            return values
        known: dict[V, int] = {}
        codes = [known.setdefault(value, len(known)) for value in values]
        return cls(np.array(codes, np.int64), [*known])

    @classmethod
    def repeat(cls, value: V, n: int) -> "Column[V]":
        """Return a column of n equal values."""
        return cls(np.zeros(n, np.uint8), [value])

    def map(self, function: Callable[[V], W]) -> "Column[W]":
        """Return the column of a function's results; it is called once for each different value."""
        return Column(self.codes, [*map(function, self.values)])

    def array(self, kind: DTypeLike) -> NDArray[Any]:
        """Return the values as an array, one per row."""
        array: NDArray[Any] = np.asarray(self.values, kind)[self.codes]
        return array

    def select(self, mask: NDArray[np.bool_]) -> "Column[V]":
        """Return some rows."""
        return Column(self.codes[mask], self.values)

    def __len__(self) -> int:
        return len(self.codes)

    @overload
    def __getitem__(self, row: int) -> V: ...

    @overload
    def __getitem__(self, row: slice) -> list[V]: ...

    def __getitem__(self, row: int | slice) -> V | list[V]:
        values = self.values
        return (
            [values[code] for code in self.codes[row].tolist()] if isinstance(row, slice) else values[self.codes[row]]
        )

    def __iter__(self) -> Iterator[V]:
        return iter(self[:])


class SampleTable(Sequence[Line]):
    """The rows of a sample table, kept by column."""

    def __init__(self, columns: Mapping[str, Column[str]]) -> None:
        self.columns = columns

    @classmethod
    def parse(cls, text: str) -> "SampleTable":
        """Return the rows of a csv file with a header. Raises ValueError for a row with too many cells."""
        frame = pd.read_csv(StringIO(text), dtype="str", na_filter=False, index_col=False, skip_blank_lines=False)
        coded = {name: pd.factorize(frame.pop(name)) for name in frame.columns}
        return cls({name: Column(codes, values.tolist()) for name, (codes, values) in coded.items()})

    def select(self, mask: NDArray[np.bool_]) -> "SampleTable":
        """Return some rows."""
        return SampleTable({name: column.select(mask) for name, column in self.columns.items()})

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    @overload
    def __getitem__(self, row: int) -> Line: ...

    @overload
    def __getitem__(self, row: slice) -> list[Line]: ...

    def __getitem__(self, row: int | slice) -> Line | list[Line]:
        if isinstance(row, slice):
            return [*self][row]
        return {name: column[row] for name, column in self.columns.items()}

    def __iter__(self) -> Iterator[Line]:
        names = [*self.columns]
        return (dict(zip(names, cells, strict=True)) for cells in zip(*self.columns.values(), strict=True))


class RowValues(Sequence[V], Generic[V]):
    """A value of the cells of each row, computed when it is read, since all of them together take much memory."""

    def __init__(self, columns: Sequence[Sequence[str]], compute: Callable[..., V]) -> None:
        self.columns, self.compute = columns, compute

    def __len__(self) -> int:
        return len(self.columns[0])

    @overload
    def __getitem__(self, row: int) -> V: ...

    @overload
    def __getitem__(self, row: slice) -> Sequence[V]: ...

    def __getitem__(self, row: int | slice) -> V | Sequence[V]:
        cells = [texts[row] for texts in self.columns]
        return tuple(map(self.compute, *cells)) if isinstance(row, slice) else self.compute(*cells)

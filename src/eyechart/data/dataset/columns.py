"""Structs as columns: a million images take a quarter of the memory of as many objects with their texts."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar, overload

import msgspec
import numpy as np
from msgspec.structs import fields
from numpy.typing import NDArray

CHUNK = 4096  # rows whose values are objects of Python at a time
DIGEST = "sha256"  # the field whose texts are ASCII of one length
TEXT = np.dtypes.StringDType()

T = TypeVar("T", bound=msgspec.Struct)


class Columns(Sequence[T], Generic[T]):
    """A sequence of structs of one class, with an array for each field; a struct is made when it is asked for.

    A field that has one value in all rows takes the memory of one.
    """

    def __init__(self, kind: type[T], arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take one array for each field of `kind`, all of one length; further arrays are left out."""
        self.kind = kind
        self.arrays = {field.name: arrays[field.name] for field in fields(kind)}

    @classmethod
    def of(cls, kind: type[T], rows: "Iterable[T] | Columns[Any]") -> "Columns[T]":
        """Return structs as columns; columns that have the fields of `kind`, and others, share their arrays."""
        if isinstance(rows, Columns):
            return cls(kind, rows.arrays)
        rows = [*rows]
        values = {field.name: [getattr(row, field.name) for row in rows] for field in fields(kind)}
        return cls.of_values(kind, values, len(rows))

    @classmethod
    def of_values(cls, kind: type[T], values: Mapping[str, list[Any]], count: int) -> "Columns[T]":
        """Return `count` structs, given the values of each field, or a single one if it is that of all of them."""
        return cls(kind, {field.name: _pack(values[field.name], field, count) for field in fields(kind)})

    @classmethod
    def join(cls, kind: type[T], parts: "Iterable[Columns[T]]") -> "Columns[T]":
        """Return the rows of several columns, one after the other."""
        arrays: dict[str, list[NDArray[Any]]] = {field.name: [] for field in fields(kind)}
        for part in parts:
            for name, array in part.arrays.items():
                arrays[name].append(array)
        names = [*arrays]
        return cls(kind, {name: _join(arrays.pop(name)) for name in names}) if arrays[names[0]] else cls.of(kind, [])

    def __len__(self) -> int:
        return len(next(iter(self.arrays.values())))

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> "Columns[T]": ...
    def __getitem__(self, index: int | slice) -> "T | Columns[T]":
        if isinstance(index, slice):
            return Columns(self.kind, {name: array[index] for name, array in self.arrays.items()})
        row = range(len(self))[index]
        return self.kind(*(_unpack(array[row : row + 1])[0] for array in self.arrays.values()))

    def __iter__(self) -> Iterator[T]:
        for start in range(0, len(self), CHUNK):
            part = slice(start, start + CHUNK)
            yield from map(self.kind, *(_unpack(array[part]) for array in self.arrays.values()))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and [*self] == [*other]

    def values(self, name: str, rows: Sequence[int] | None = None) -> Iterator[Any]:
        """Yield the values of a field, of some rows or of all, as objects of Python."""
        array = self.arrays[name]
        for start in range(0, len(self) if rows is None else len(rows), CHUNK):
            part = slice(start, start + CHUNK)
            yield from _unpack(array[part] if rows is None else array[np.asarray(rows[part], np.int64)])

    def different_values(self, name: str) -> list[Any]:
        """Return the values of a field as objects of Python, or a single one if it is that of all rows."""
        array = self.arrays[name]
        return _unpack(array[:1] if _is_repeated(array) else array)

    def take(self, rows: Sequence[int] | NDArray[np.int64]) -> "Columns[T]":
        """Return some rows, in the order of `rows`."""
        places = np.asarray(rows, np.int64)
        return Columns(self.kind, {name: _take(array, places) for name, array in self.arrays.items()})

    def replace(self, **arrays: NDArray[Any]) -> "Columns[T]":
        """Return the rows with other arrays for some fields."""
        return Columns(self.kind, {**self.arrays, **arrays})


def repeat(value: object, count: int) -> NDArray[Any]:
    """Return an array that has one value in all rows.

    >>> repeat(-1, 3).tolist()
    [-1, -1, -1]
    """
    return np.broadcast_to(np.array([value]), count)


def text_array(texts: Iterable[str]) -> NDArray[Any]:
    """Return texts as an array, as the fields of texts have it.

    >>> text_array(["a.png", "b.png"])[1]
    'b.png'
    """
    return np.array([*texts], TEXT)


def _pack(values: list[Any], field: msgspec.structs.FieldInfo, count: int) -> NDArray[Any]:
    same = bool(values) and values.count(values[0]) == len(values)
    array = _make_array(values[:1] if same else values, field)
    return np.broadcast_to(array, count) if same else array


def _make_array(values: list[Any], field: msgspec.structs.FieldInfo) -> NDArray[Any]:
    if field.name == DIGEST:
        return np.array(values, np.bytes_)
    if field.type is str:
        return text_array(values)
    try:
        return np.fromiter(values, {int: np.int64, bool: np.bool_}.get(field.type, np.object_), len(values))
    except OverflowError:  # a wrong label, which is refused later
        return np.fromiter(values, np.object_, len(values))


def _unpack(array: NDArray[Any]) -> list[Any]:
    """Return the values of an array as objects of Python."""
    values: list[Any] = array.tolist()
    return [*map(bytes.decode, values)] if array.dtype.kind == "S" else values


def _is_repeated(array: NDArray[Any]) -> bool:
    return array.strides == (0,) and len(array) > 1


def _take(array: NDArray[Any], places: NDArray[np.int64]) -> NDArray[Any]:
    taken: NDArray[Any] = np.broadcast_to(array[:1], len(places)) if _is_repeated(array) else array[places]
    return taken


def _join(parts: list[NDArray[Any]]) -> NDArray[Any]:
    if all(_is_repeated(part) and part[0] == parts[0][0] for part in parts):
        return np.broadcast_to(parts[0][:1], sum(map(len, parts)))
    return np.concatenate(parts) if len(parts) > 1 else parts[0]

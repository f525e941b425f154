"""Tests of `eyechart.data.dataset.columns`."""

import pickle
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.data.dataset.columns import CHUNK, Columns
from eyechart.data.dataset.dataset import Row
from eyechart.data.index.file_index import IndexEntry

DIGESTS = st.text("0123456789abcdef", min_size=64, max_size=64)
ROWS = st.lists(st.builds(Row, st.text(), st.text(), DIGESTS | st.just(""), st.integers(-1, 2**31)), max_size=4)
MANY = [Row(f"{row // 7}/\u00e9{row}.png", f"{row}.png", f"{row:064x}", row % 7) for row in range(2 * CHUNK + 5)]


@given(ROWS, st.slices(4))
def test_columns_are_the_sequence_that_they_are_made_of(rows: list[Row], part: slice) -> None:
    columns = Columns.of(Row, rows)
    assert [*columns] == rows
    assert columns == rows
    assert len(columns) == len(rows)
    assert columns[part] == rows[part]
    assert [columns[row] for row in range(-len(rows), len(rows))] == rows * 2
    assert [row in columns for row in rows] == [True] * len(rows)


@given(ROWS)
def test_values_are_those_of_the_fields(rows: list[Row]) -> None:
    columns = Columns.of(Row, rows)
    for name in Row.__struct_fields__:
        assert [*columns.values(name)] == [getattr(row, name) for row in rows]
        assert [*columns.values(name, [*range(len(rows))][::-1])] == [getattr(row, name) for row in rows][::-1]


@given(st.lists(ROWS))
def test_chunks_are_joined(chunks: list[list[Row]]) -> None:
    columns = Columns.join(Row, (Columns.of(Row, chunk) for chunk in chunks))
    assert columns == [row for chunk in chunks for row in chunk]


def test_many_rows_are_read_chunk_after_chunk() -> None:
    columns = Columns.of(Row, MANY)
    assert columns == MANY
    assert columns[-1] == MANY[-1]
    assert columns.take(range(1, len(MANY), 1000)) == MANY[1::1000]
    assert [*columns.values("key", range(3, len(MANY)))] == [row.key for row in MANY[3:]]


def test_an_index_beyond_the_end_is_an_error() -> None:
    with pytest.raises(IndexError):
        Columns.of(Row, MANY[:2])[2]


def test_columns_with_more_fields_share_their_arrays() -> None:
    entries = Columns.of(IndexEntry, [IndexEntry("a", "a.png", "0" * 64, "a"), IndexEntry("b", "b.png", "1" * 64, "b")])
    rows = Columns.of(Row, entries)
    assert rows == [Row("a", "a.png", "0" * 64), Row("b", "b.png", "1" * 64)]
    assert all(rows.arrays[name] is entries.arrays[name] for name in rows.arrays)


def test_replaced_arrays_leave_the_columns_as_they_were() -> None:
    columns = Columns.of(Row, MANY[:3])
    assert [row.label for row in columns.replace(label=np.array([5, 6, 7]))] == [5, 6, 7]
    assert columns == MANY[:3]


def test_copies_for_other_processes_are_equal() -> None:
    columns = Columns.of(Row, MANY[:100])
    assert pickle.loads(pickle.dumps(columns)) == columns


def test_columns_take_less_than_half_of_the_memory_of_objects() -> None:
    texts = sum(sys.getsizeof(getattr(row, name)) for row in MANY for name in ("key", "file", "sha256"))
    arrays = sum(array.nbytes for array in Columns.of(Row, MANY).arrays.values())
    assert arrays + sum(len(row.key) + len(row.file) for row in MANY) < (texts + sum(map(sys.getsizeof, MANY))) / 2

"""Two runs that write one entry at once, as happens where file locks do not exclude: no answer is lost or replaced."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from eyechart.errors import StoreError
from eyechart.inference.store import responses
from eyechart.inference.store.arrays import Block, append, load, seal
from eyechart.inference.store.entries import Key, Store, StoreEntry, Writer
from eyechart.models.types import Answer, Floats, Identity

IDENTITY = Identity(
    backend="test", name="m", weights_sha256="0", dtype="float32", device="cpu", processor={}, libraries={}
)
COUNT = 8


@pytest.fixture
def entry(tmp_path: Path) -> StoreEntry:
    return Store(tmp_path / "store").entry(Key(kind="image_features", model=IDENTITY, data="d"))


@contextmanager
def two_writers(entry: StoreEntry) -> Iterator[tuple[Writer, Writer]]:
    """Open two writers of one entry: on POSIX, a deleted lock file no longer excludes."""
    with entry.lock_for_writing() as first:
        (entry.folder / "lock").unlink()
        with entry.lock_for_writing() as second:
            yield first, second


def row(number: float) -> Floats:
    return np.full((1, 3), number, np.float32)


def append_rows(writer: Writer, *numbers: int) -> None:
    for number in numbers:
        append(writer, Block((number,), 3), row(number))


def test_each_writer_has_a_part_of_its_own(entry: StoreEntry) -> None:
    with two_writers(entry) as (first, second):
        append_rows(first, 0)
        append_rows(second, 1)
        assert {path.name for path in entry.folder.glob("*.part")} == {"00000.part", "00001.part"}


def test_a_writer_whose_part_was_deleted_is_an_error_and_the_sealed_answers_stay(entry: StoreEntry) -> None:
    with two_writers(entry) as (first, second):
        append_rows(first, *range(COUNT))
        append_rows(second, 0)
        seal(first, COUNT)
        with pytest.raises(StoreError, match=r"at the same time.*00001\.part was deleted.*--eye-store"):
            append_rows(second, 4)
        with pytest.raises(StoreError):
            seal(second, COUNT)
    assert np.array_equal(load(entry).values[:, 0], np.arange(COUNT))


def test_sealing_without_all_rows_is_an_error(entry: StoreEntry) -> None:
    with entry.lock_for_writing() as writer:
        append_rows(writer, 0, 1, 2, 5)
        with pytest.raises(StoreError, match=r"incomplete \(4 of 8 rows are missing, the first 3\).*Run the same"):
            seal(writer, COUNT)
    assert not entry.complete


def test_sealing_nothing_is_an_error(entry: StoreEntry) -> None:
    with entry.lock_for_writing() as writer, pytest.raises(StoreError, match="8 of 8 rows are missing"):
        seal(writer, COUNT)
    assert not entry.complete


def test_a_sealed_entry_is_not_replaced_by_other_answers(entry: StoreEntry) -> None:
    with two_writers(entry) as (first, second):
        append_rows(first, *range(COUNT))
        seal(first, COUNT)
        append_rows(second, *range(COUNT - 1))
        append(second, Block((COUNT - 1,), 3), row(99))
        with pytest.raises(StoreError, match=r"done\.json is there already, with other answers"):
            seal(second, COUNT)
    assert np.array_equal(load(entry).values[:, 0], np.arange(COUNT))


def test_sealing_equal_answers_again_changes_nothing(entry: StoreEntry) -> None:
    with two_writers(entry) as (first, second):
        append_rows(first, *range(COUNT))
        seal(first, COUNT)
        append_rows(second, *range(COUNT))
        seal(second, COUNT)
    assert np.array_equal(load(entry).values[:, 0], np.arange(COUNT))


def test_a_writer_of_responses_whose_part_was_deleted_is_an_error(entry: StoreEntry) -> None:
    with two_writers(entry) as (first, second):
        responses.append(second, "0", Answer("a dog", (), True))
        for index in range(2):
            responses.append(first, str(index), Answer("a cat", (), True))
        responses.compact(first, responses.read_stored(first))
        with pytest.raises(StoreError, match="deleted while this run was writing it"):
            responses.append(second, "1", Answer("a dog", (), True))
    assert [response.text for response, _ in responses.read_stored(entry).values()] == ["a cat", "a cat"]

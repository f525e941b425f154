"""Kept indexes: used while nothing changed, made anew otherwise."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from time import sleep

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.data.index import index_cache
from eyechart.data.index.file_index import IndexEntry
from eyechart.data.index.index_cache import load_or_build, read_facts
from eyechart.errors import DataError

ENTRIES = (IndexEntry("a", "a.png", "00", "a.png", label=3), IndexEntry("b", "b", "11", "0.tar", 512, 9, labels=(1, 2)))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "data.tar"
    path.write_bytes(b"data")
    return path


@pytest.fixture
def built() -> list[int]:
    return []


@pytest.fixture
def index(tmp_path: Path, file: Path, built: list[int]) -> Callable[..., tuple[IndexEntry, ...]]:
    def build() -> tuple[IndexEntry, ...]:
        built.append(1)
        return ENTRIES

    def get(cache: Path | None = tmp_path / "cache", reader: str = "shards") -> tuple[IndexEntry, ...]:
        return tuple(load_or_build(cache, read_facts([file]), build, reader=reader))

    return get


def kept(tmp_path: Path) -> Path:
    (path,) = (tmp_path / "cache").glob("*.json")
    return path


def test_built_once(index, built) -> None:
    assert index() == index() == ENTRIES
    assert len(built) == 1


def test_of_several_that_need_an_index_one_builds_it(tmp_path: Path, file: Path) -> None:
    """A lock of threads here, which is one of processes too."""
    built, both = list[int](), Barrier(2)

    def build() -> tuple[IndexEntry, ...]:
        sleep(0.2)  # the other one has looked for the index before it is there
        built.append(1)
        return ENTRIES

    def get(_: int) -> tuple[IndexEntry, ...]:
        both.wait(30)
        return tuple(load_or_build(tmp_path / "cache", read_facts([file]), build, reader="shards"))

    with ThreadPoolExecutor(2) as threads:
        assert [*threads.map(get, range(2))] == [ENTRIES, ENTRIES]
    assert len(built) == 1


def test_no_cache(index, built, tmp_path: Path) -> None:
    assert index(None) == index(None) == ENTRIES
    assert len(built) == 2
    assert not (tmp_path / "cache").exists()


def test_another_size_time_reader_or_format_is_another_index(index, built, file: Path, monkeypatch) -> None:
    index()
    file.write_bytes(b"more data")
    index()
    os.utime(file, ns=(0, 5))
    index()
    os.utime(file, ns=(0, 5))  # as tools that copy or pack files do: only the time of change is another
    index()
    index(reader="folder")
    monkeypatch.setattr(index_cache, "FORMAT", index_cache.FORMAT + 1)
    index()
    assert len(built) == 6


@pytest.mark.parametrize("damage", [b"", b"nonsense", b"\xff\xfe\n[]", b"0" * 64 + b"\n[]"])
def test_a_damaged_file_is_made_anew(index, built, tmp_path: Path, damage: bytes) -> None:
    index()
    whole = kept(tmp_path).read_bytes()
    kept(tmp_path).write_bytes(damage)
    assert index() == ENTRIES
    assert len(built) == 2
    assert kept(tmp_path).read_bytes() == whole


@pytest.mark.parametrize("position", range(0, 120, 7))
def test_one_changed_byte_is_noticed(index, built, tmp_path: Path, position: int) -> None:
    index()
    data = bytearray(kept(tmp_path).read_bytes())
    data[position] ^= 1
    kept(tmp_path).write_bytes(data)
    assert index() == ENTRIES
    assert len(built) == 2


def test_an_index_of_several_lines_is_read_as_it_was_written(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(index_cache, "ENTRIES", 2)
    entries = [IndexEntry(str(number), "a.png", "00", "") for number in range(5)]
    assert [*load_or_build(tmp_path, [], lambda: entries, reader="a")] == entries
    assert [*load_or_build(tmp_path, [], tuple, reader="a")] == entries


def test_a_cache_that_cannot_be_written_is_done_without(index, built, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where the folder should be")
    assert index() == index() == ENTRIES
    assert len(built) == 2


def test_nothing_else_is_left_in_the_folder(index, tmp_path: Path) -> None:
    index()
    assert kept(tmp_path).suffix == ".json"


def test_a_missing_file_is_named(file: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"gone\.tar cannot be read"):
        read_facts([file, tmp_path / "gone.tar"])


DIGESTS = st.text("0123456789abcdef", min_size=64, max_size=64)


@given(
    st.lists(
        st.builds(
            IndexEntry, st.text(), st.text(), DIGESTS, st.text(), labels=st.none() | st.tuples(st.integers(0, 9))
        ),
        max_size=3,
    )
)
def test_round_trip(tmp_path_factory, entries: list[IndexEntry]) -> None:
    cache = tmp_path_factory.mktemp("cache")
    load_or_build(cache, [], lambda: entries, reader="a")
    assert [*load_or_build(cache, [], tuple, reader="a")] == entries


def test_an_index_that_is_not_current_is_made_anew(tmp_path: Path) -> None:
    made = iter([ENTRIES[:1], ENTRIES])
    load_or_build(tmp_path, [], lambda: next(made), reader="a")
    assert tuple(load_or_build(tmp_path, [], lambda: next(made), reader="a", is_current=lambda _: False)) == ENTRIES

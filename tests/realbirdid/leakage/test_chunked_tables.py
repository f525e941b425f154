"""Tables a part at a time: every format has the same rows, and what cannot be read is a sentence."""

import gzip
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from eyechart.errors import DataError
from eyechart.realbirdid.leakage import chunked_tables
from eyechart.realbirdid.leakage.chunked_tables import LINES, as_text, read_chunks

Write = Callable[..., Path]
CELLS = {"url": ["a", "b,c", 'd "e"', None], "other": ["1", "2", "3", "4"]}


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def written(name: str, text: str) -> Path:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        data = text.encode()
        (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return tmp_path / name

    return written


def url(names: Sequence[str]) -> list[str]:
    return [name for name in names if name == "url"]


def read(path: Path) -> list[str | None]:
    found = [*read_chunks(path, url)]
    firsts = [1 + sum(part.rows for part in found[:index]) for index in range(len(found))]
    assert [part.first for part in found] == firsts
    return [cell for part in found for column in part.columns.values() for cell in column.to_pylist()]


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "b.CSV"])
def test_csv_with_quotes_line_breaks_and_a_mark(write: Write, name: str) -> None:
    path = write(name, '\ufeffurl,other\r\na,1\r\n"b,\nc",2\r\n"d ""e""",3\r\n')
    assert [cell and cell.replace("\r", "") for cell in read(path)] == ["a", "b,\nc", 'd "e"']


@pytest.mark.parametrize("name", ["a.tsv", "a.txt", "a.csv", "a.txt.gz"])
def test_tabs_whose_quotes_mean_nothing(write: Write, name: str) -> None:
    assert read(write(name, 'url\tother\na "b\t1\n"c\t2\n')) == ['a "b', '"c']


def test_parquet_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunked_tables, "ROWS", 3)
    parquet.write_table(pa.table(CELLS), tmp_path / "a.parquet")
    assert read(tmp_path / "a.parquet") == CELLS["url"]
    assert max(part.rows for part in read_chunks(tmp_path / "a.parquet", url)) <= 3


def test_a_list_in_parts(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunked_tables, "ROWS", 2)
    path = write("a.txt", "one\n two \n\nthree, four\n")
    assert read(path) == ["one", "two", "", "three, four"]
    assert [[*part.columns] for part in read_chunks(path, url)] == [[LINES]] * 2


def test_csv_in_parts(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunked_tables, "BLOCK", 64)
    path = write("a.csv", "url\n" + "".join(f"line {number}\n" for number in range(50)))
    assert read(path) == [f"line {number}" for number in range(50)]
    assert max(part.rows for part in read_chunks(path, url)) < 20


def test_a_folder_is_its_tables_one_after_another(write: Write, tmp_path: Path) -> None:
    write("all/1/b.csv", "url\nb\n")
    write("all/a.csv", "url\na\n")
    write("all/readme.md", "no table")
    assert read(tmp_path / "all") == ["b", "a"]


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pa.array([1, None, 3]), ["1", None, "3"]),
        (pa.array([17.0, None, float("nan"), 10.0**12]), ["17", None, None, "1000000000000"]),
        (pa.array(["a", None]).dictionary_encode(), ["a", None]),
        (pa.array(["a"], pa.large_string()), ["a"]),
        (pa.array([["a"], []]), [None, None]),
    ],
)
def test_cells_as_text(column: pa.Array, expected: list[str | None]) -> None:
    assert as_text(column).to_pylist() == expected


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "url,url\n1,2\n", "two columns 'url'"),
        ("a.csv", "url,other\n1\n", "cannot be read .*Expected 2 columns"),
        ("a.parquet", "no", "cannot be read"),
        ("a.json", "{}", "is no table by its name"),
    ],
)
def test_what_cannot_be_read(write: Write, name: str, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(write(name, text))


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="No such file"):
        read(tmp_path / "a.csv")
    with pytest.raises(DataError, match="holds no table"):
        read(tmp_path)


def test_text_that_is_not_utf_8(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"url\n\xff\xfe\n")
    with pytest.raises(DataError, match=r"a.csv cannot be read"):
        read(tmp_path / "a.csv")

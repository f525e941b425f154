"""Tables of text from csv and parquet: what is read, and what is refused with its line."""

import sys
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pyarrow
import pytest
from pyarrow import parquet

from eyechart.data.tables import Table, check_unique, find_table, read_table
from eyechart.errors import DataError

Read = Callable[..., Table]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    def written(content: str | bytes, *required: str) -> Table:
        path = tmp_path / "table.csv"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return read_table(path, required)

    return written


@pytest.fixture
def columns(tmp_path: Path) -> Read:
    def written(**cells: list[object]) -> Table:
        parquet.write_table(pyarrow.table(cells), tmp_path / "table.parquet")
        return read_table(tmp_path / "table.parquet", ())

    return written


def test_cells_are_stripped_and_columns_in_lower_case(read: Read) -> None:
    found = read(" Name ,b\n x , y z\n", "name", "b")
    assert (found["name"], found["b"], len(found)) == (["x"], ["y z"], 1)


@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_byte_order_marks_and_line_ends_are_no_content(read: Read, start: bytes, end: bytes) -> None:
    found = read(start + end.join([b"name", "Größe".encode(), b""]), "name")
    assert (found["name"], [*found.columns]) == (["Größe"], ["name"])


def test_rows_know_their_lines_past_empty_lines_and_line_breaks_in_cells(read: Read) -> None:
    found = read('name\n\n"a\nb"\nc\n', "name")
    assert (found["name"], found.row_numbers) == (["a\nb", "c"], [4, 5])
    assert found.location(1).endswith("table.csv, line 5")


def test_a_cell_may_be_longer_than_the_csv_module_allows(read: Read) -> None:
    assert len(read("name\n" + "x;" * 100_000 + "\n", "name")["name"][0]) == 200_000


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "is empty: expected a header"),
        ("name\n", "has a header and no rows"),
        ("nam\nx\n", r"no column 'name'; its columns are nam; expected name, separated by commas; did you mean nam\?"),
        ("name;b\nx;y\n", r"semicolons between its columns, expected commas: .* It begins with name;b\."),
        ("\ufeffname;b\nx;50,5\n", "has semicolons between its columns"),
        ("name\tb\nx\ty\n", r"tabs between its columns, expected commas: .* It begins with name b\."),
        ("name|b\nx|y\n", "bars between its columns"),
        ("name,Name\nx,y\n", "two columns 'name'"),
        ("name,b\nx,y\nz\n", "line 3 has 1 cells, expected 2"),
        ("name\nx,y\n", "line 2 has 2 cells, expected 1.*quotes"),
        ('name\n"x\n', "line 2 is no csv.*correct the quotes"),
        (b"name\n\nx\n\xe4\n", "line 4 is not UTF-8: it has the byte 0xe4"),
        (b"name\n" + b"x\n" * 20_000 + b"\xe4\n", "line 20002 is not UTF-8"),
        (b"\xef\xbb\xbfname\n\xe4\n", "line 2 is not UTF-8"),
        (b"name\n\xc3", "line 2 is not UTF-8"),
    ],
)
def test_what_is_refused(read: Read, content: str | bytes, said: str) -> None:
    with pytest.raises(DataError, match=rf"table\.csv.*{said}"):
        read(content, "name")


def test_parquet_is_read_as_csv_would_be(columns: Read) -> None:
    found = columns(
        number=[12, None], whole=[45.0, None], part=[-0.25, float("nan")], yes=[True, False], day=[date(2024, 5, 1)] * 2
    )
    assert {name: [*cells] for name, cells in found.columns.items()} == {
        "number": ["12", ""],
        "whole": ["45", ""],
        "part": ["-0.25", ""],
        "yes": ["1", "0"],
        "day": ["2024-05-01"] * 2,
    }


def test_lists_of_parquet_are_joined_and_rows_named(columns: Read) -> None:
    found = columns(Candidates=[["a b", "c d"], []])
    assert found["candidates"] == ["a b;c d", ""]
    assert found.location(1).endswith("table.parquet, row 2")


def test_a_folder_called_as_a_partition_adds_no_column(columns: Read, tmp_path: Path) -> None:
    columns(name=["x"])
    (tmp_path / "name=y").mkdir()
    path = (tmp_path / "table.parquet").rename(tmp_path / "name=y" / "table.parquet")
    assert read_table(path, ("name",))["name"] == ["x"]


def test_no_parquet_file(tmp_path: Path) -> None:
    (tmp_path / "table.parquet").write_text("name\nx\n")
    with pytest.raises(DataError, match=r"table\.parquet is no parquet file that can be read"):
        read_table(tmp_path / "table.parquet", ())


def test_parquet_without_its_library(columns: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(DataError, match=r"needs `pyarrow`.*pip install 'eyechart\[hub\]', or save it as csv"):
        read_table(Path("table.parquet"), ())


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"gone\.csv cannot be read"):
        read_table(tmp_path / "gone.csv", ())


def test_one_table_of_a_name(tmp_path: Path) -> None:
    assert find_table(tmp_path, "birds") is None
    for name in ("birds.csv", "birds.parquet"):
        (tmp_path / name).touch()
    with pytest.raises(DataError, match=r"birds\.csv and birds\.parquet: remove one"):
        find_table(tmp_path, "birds")


def test_equal_names(read: Read) -> None:
    found = read("name\na\nb\nA\n", "name")
    check_unique(found, "name", str)
    with pytest.raises(DataError, match="line 4 has the name 'A', and line 2 has 'a'"):
        check_unique(found, "name")

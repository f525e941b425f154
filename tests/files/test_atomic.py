"""Tests of `eyechart.files.atomic`."""

from hashlib import sha256
from pathlib import Path

import pytest

from eyechart.files.atomic import write_lines


def test_lines_are_written_as_they_come_and_none_are_left_after_an_error(tmp_path: Path) -> None:
    lines = [f"{number}\n" for number in range(10_000)]
    sha = write_lines(tmp_path / "table.csv", iter(lines))
    assert (tmp_path / "table.csv").read_text() == "".join(lines)
    assert sha == sha256("".join(lines).encode()).hexdigest()
    with pytest.raises(ZeroDivisionError):
        write_lines(tmp_path / "other.csv", (f"{1 // (5_000 - number)}\n" for number in range(10_000)))
    assert [path.name for path in tmp_path.iterdir()] == ["table.csv"]

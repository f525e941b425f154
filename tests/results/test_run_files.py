"""Files of a run: read as they were recorded, or refused with a sentence."""

from hashlib import sha256
from pathlib import Path

import pytest

from eyechart.errors import ReportError
from eyechart.results.records import File
from eyechart.results.run_files import read_verified

TEXT = "key,answer\r\na,é\n"


@pytest.fixture
def file(tmp_path: Path) -> File:
    """A file of a run, and what its record says of it."""
    (tmp_path / "run" / "predictions").mkdir(parents=True)
    (tmp_path / "run" / "predictions" / "a.csv").write_bytes(TEXT.encode())
    return File(path="predictions/a.csv", sha256=sha256(TEXT.encode()).hexdigest())


def read(folder: Path, file: File) -> str:
    return read_verified(folder / file.path, folder, file)


def test_the_text_has_the_line_ends_of_the_file(tmp_path: Path, file: File) -> None:
    assert read(tmp_path / "run", file) == TEXT


def test_a_run_may_be_reached_by_a_link(tmp_path: Path, file: File) -> None:
    (tmp_path / "latest").symlink_to("run")
    assert read(tmp_path / "latest", file) == TEXT


def test_a_file_that_is_gone_is_refused(tmp_path: Path, file: File) -> None:
    (path := tmp_path / "run" / file.path).unlink()
    with pytest.raises(ReportError) as error:
        read(tmp_path / "run", file)
    assert str(error.value) == f"{path} cannot be read (No such file or directory). Run the case again."


def test_git_may_convert_line_ends_and_leave_a_pointer(tmp_path: Path, file: File) -> None:
    path = tmp_path / "run" / file.path
    for recorded, here in (("a\r\nb\r\n", "a\nb\n"), ("a\nb\n", "a\r\nb\r\n")):
        path.write_bytes(here.encode())
        known = File(path=file.path, sha256=sha256(recorded.encode()).hexdigest())
        assert read(tmp_path / "run", known) == recorded
    path.write_bytes(b"version https://git-lfs.github.com/spec/v1\n")
    with pytest.raises(
        ReportError, match=r"a\.csv is a pointer of Git LFS .*: run git lfs pull\. Or run the case again"
    ):
        read(tmp_path / "run", file)


def test_a_file_that_was_changed_is_refused(tmp_path: Path, file: File) -> None:
    (path := tmp_path / "run" / file.path).write_bytes(b"key,answer\n")
    new = sha256(b"key,answer\n").hexdigest()
    with pytest.raises(ReportError) as error:
        read(tmp_path / "run", file)
    assert str(error.value) == (
        f"{path} has changed since the run: its sha256 is {new[:12]}…, expected {file.sha256[:12]}…. Restore the file, "
        "or run the case again."
    )


@pytest.mark.parametrize("name", ["../a.csv", "link.csv", "{root}/a.csv"])
def test_a_file_outside_of_the_run_is_not_read(tmp_path: Path, file: File, name: str) -> None:
    (tmp_path / "a.csv").write_bytes(TEXT.encode())
    (tmp_path / "run" / "link.csv").symlink_to("../a.csv")
    named = name.format(root=tmp_path)
    with pytest.raises(ReportError) as error:
        read(tmp_path / "run", File(path=named, sha256=file.sha256))
    assert str(error.value) == (
        f"The run {tmp_path / 'run'} names the file {tmp_path / 'run' / named}, which lies outside of it. Use the "
        "run's own files."
    )

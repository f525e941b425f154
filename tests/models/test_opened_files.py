"""Files that code of the user reads are noticed; what it writes, and files of Python and libraries, are left out."""

import json
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from runpy import run_path

import numpy as np
import pytest

import eyechart
from eyechart.models.opened_files import files_read, is_installed, is_user_file, watch_code


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str], Path]:
    """Write a file."""

    def write(name: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text("1")
        return path

    return write


def test_files_that_are_read_and_not_written_are_collected(write: Callable[[str], Path]) -> None:
    plain, low, thread, both = (write(name) for name in ("plain", "low", "thread", "both"))
    with files_read() as files:
        plain.read_text()
        os.close(os.open(low, os.O_RDONLY))
        os.close(os.open(both, os.O_RDWR))
        both.read_text()
        write("written").read_text()
        with ThreadPoolExecutor() as threads:  # which begin now
            threads.submit(thread.read_text).result()
        assert files == set()
    assert files == {plain, low, thread}
    write("later").read_text()
    assert files == {plain, low, thread}


def test_what_a_thread_reads_that_began_before_is_not_the_models(write: Callable[[str], Path]) -> None:
    other = write("other")
    with ThreadPoolExecutor(1) as threads:
        threads.submit(int).result()
        with files_read() as files:
            threads.submit(other.read_text).result()
    assert files == set()


@pytest.mark.parametrize("name", ["token", ".netrc", "own.pyc", "site-packages/net/weights.bin"])
def test_secrets_compiled_code_and_files_of_libraries_are_left_out(write: Callable[[str], Path], name: str) -> None:
    path = write(name)
    with files_read() as files:
        path.read_text()
        Path(eyechart.__file__).read_text("utf-8")
        Path("/etc/passwd").read_text("utf-8")
    assert files == set()


def test_the_files_of_one_installed_package_may_count(write: Callable[[str], Path]) -> None:
    own, other = write("site-packages/net/weights.bin"), write("site-packages/torch/weights.bin")
    with files_read(own.parent) as files:
        own.read_text()
        other.read_text()
    assert files == {own}


def test_code_is_watched_for_what_it_reads_later(write: Callable[[str], Path], tmp_path: Path) -> None:
    """Also through a library, but not what others read, nor what was known or is in a known folder."""
    late, listed, foreign = write("late.json"), write("listed.json"), write("foreign.json")
    known, below = write("known.json"), write("folder/below.json")
    source = tmp_path / "own.py"
    source.write_text("import json\nload = lambda path: json.loads(path.read_text())\n")
    load = run_path(str(source))["load"]
    listed.read_text()
    seen = watch_code("test_opened_files", [source], [known, below.parent])
    for path in (late, known, below):
        load(path)
    foreign.read_text()
    assert seen == {str(late)}


def test_code_of_the_user_is_told_from_libraries_python_and_eyechart(tmp_path: Path) -> None:
    own = str(tmp_path / "own.py")
    others = ("<string>", np.__file__, json.__file__, eyechart.__file__)
    assert [is_user_file(name) for name in (own, *others)] == [True, False, False, False, False]
    assert [is_installed(Path(name)) for name in (own, np.__file__, json.__file__)] == [False, True, True]

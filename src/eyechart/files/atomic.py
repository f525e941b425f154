"""Write files atomically, so that no reader sees a part of a file, and one after the other where they are merged."""

import csv
import fcntl
import os
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import IO, Any

LINES = 4096  # that are written at a time


def write_atomic(path: Path, content: bytes) -> None:
    """Write a small file under a temporary name and rename it; a file with equal content is left unchanged."""
    if path.is_file() and path.stat().st_size == len(content) and path.read_bytes() == content:
        return
    with replace_file(path) as file:
        file.write(content)


def write_lines(path: Path, lines: Iterator[str]) -> str:
    """Write lines as they come under a temporary name, rename the file, and return its sha256."""
    content = sha256()
    with replace_file(path) as file:
        while part := "".join(islice(lines, LINES)).encode():
            content.update(part)
            file.write(part)
    return content.hexdigest()


@contextmanager
def replace_file(path: Path) -> Iterator[IO[bytes]]:
    """Yield a temporary file that replaces `path` in the end; it is deleted if an exception is raised."""
    draft = draft_path(path)
    try:
        with draft.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


@contextmanager
def lock_file(path: Path) -> Iterator[None]:
    """Hold a file alone among processes and threads, to read it, change it and write it; wait for another holder.

    The lock is a hidden file beside it, which is gone afterwards. Raises OSError.
    """
    lock = path.with_name(f".{path.name}.lock")
    while True:
        with lock.open("ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            if not _is_at(file, lock):  # its last holder deleted it: another process may hold a new one
                continue
            try:
                yield
            finally:
                lock.unlink(missing_ok=True)
            return


def _is_at(file: IO[bytes], path: Path) -> bool:
    """Return whether a path still leads to an open file, which may have been deleted or replaced since."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


def write_checked(path: Path, content: bytes) -> None:
    """Write a file with a line that is the sha256 of its content before it, under a temporary name, and rename it."""
    with replace_file(path) as file:
        file.write(_checksum_line(content))
        file.write(content)


def read_checked(path: Path) -> memoryview:
    """Return the content of a file of `write_checked`. Raises ValueError if it does not have its sha256."""
    data = memoryview(path.read_bytes())  # a copy of the content could be as large as an index
    content = data[len(_checksum_line(b"")) :]
    if data[: len(data) - len(content)] != _checksum_line(content):
        raise ValueError(f"the content of {path} does not have its sha256")
    return content


def read_checked_lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file of `write_checked`. Raises ValueError after the last if it does not have its sha256."""
    content = sha256()
    with path.open("rb") as file:
        expected = file.readline()
        for line in file:
            content.update(line)
            yield line
    if expected != f"{content.hexdigest()}\n".encode():
        raise ValueError(f"the content of {path} does not have its sha256")


def _checksum_line(content: bytes | memoryview) -> bytes:
    """Return the line with the sha256 of a content."""
    return f"{sha256(content).hexdigest()}\n".encode()


def draft_path(path: Path) -> Path:
    """Return the temporary path at which this thread writes a file before it is renamed."""
    return path.with_name(f"{path.name}.{os.getpid()}-{threading.get_ident()}")


def csv_lines(rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """Return the lines of a csv file. The writer's line end is CRLF, so that it quotes a carriage return in a cell.

    >>> list(csv_lines([["a", 1, "b,c"], [2.5, None, "\\r"]]))
    ['a,1,"b,c"\\n', '2.5,,"\\r"\\n']
    """
    return map(csv.writer(_Line(), lineterminator="\r\n").writerow, rows)


class _Line:
    """Returns each line that a csv writer writes, with a line feed at the end."""

    def write(self, line: str) -> str:
        return line[:-2] + "\n"

"""Writing a file so that no reader ever sees a part of it."""

import os
import threading
from pathlib import Path


def write_atomic(path: Path, content: bytes) -> None:
    """Write a small file beside its place and move it there; a file that has the content already is left as it is."""
    if path.is_file() and path.stat().st_size == len(content) and path.read_bytes() == content:
        return
    draft = draft_path(path)
    with draft.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)


def draft_path(path: Path) -> Path:
    """Return the path at which this thread writes a file before it is moved to its place."""
    return path.with_name(f"{path.name}.{os.getpid()}-{threading.get_ident()}")

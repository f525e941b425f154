"""Write files atomically, so that no reader sees a part of a file."""

import os
import threading
from pathlib import Path


def write_atomic(path: Path, content: bytes) -> None:
    """Write a small file under a temporary name and rename it; a file with equal content is left unchanged."""
    if path.is_file() and path.stat().st_size == len(content) and path.read_bytes() == content:
        return
    draft = draft_path(path)
    with draft.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)


def draft_path(path: Path) -> Path:
    """Return the temporary path at which this thread writes a file before it is renamed."""
    return path.with_name(f"{path.name}.{os.getpid()}-{threading.get_ident()}")

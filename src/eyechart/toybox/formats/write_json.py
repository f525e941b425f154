"""Files that are the same bytes every time."""

import json
from pathlib import Path


def write_json(path: Path, content: object) -> None:
    """Write JSON in one line, as the data sets do, with UTF-8 text."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")


def write_bytes(path: Path, data: bytes) -> None:
    """Write bytes into a folder that may not be there yet."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)

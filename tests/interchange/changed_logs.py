"""Copies of JSON logs after a change."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any


def changed(path: Path, folder: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    """A copy of a JSON log after a change."""
    log = json.loads(path.read_bytes())
    change(log)
    copy = folder / "changed.json"
    copy.write_text(json.dumps(log), encoding="utf-8")  # with NaN as inspect writes it
    return copy

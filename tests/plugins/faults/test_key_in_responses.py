"""A server that repeats the request's key in a good response: the key is in no file and on no line."""

from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.deep

KEY = "sk-very-secret-0123456789"


def files_with_key(*folders: Path) -> list[str]:
    """Return the files below folders that hold the key."""
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    assert files
    return [str(path) for path in files if KEY.encode() in path.read_bytes()]


def test_a_key_in_a_good_response_is_written_nowhere(exam: Any) -> None:
    """It is in the answers and in the name of the model."""
    server = exam.server
    server.answer = lambda asked: f"B, and you sent {asked.key}"
    server.name = f"toy Bearer {KEY}"
    result = exam.run()
    assert result.ret == 0, result.stdout.str() + result.stderr.str()
    assert server.asked[-1].key == f"Bearer {KEY}"
    assert KEY not in result.stdout.str() + result.stderr.str()
    assert files_with_key(exam.world.folder) == []
    assert "Bearer [key]" in str(exam.rows()[0])
    assert "Bearer [key]" in exam.record["model"]["name"]

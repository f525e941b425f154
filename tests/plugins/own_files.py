"""Files of a user's own: tests that are no benchmark, a benchmark, and the names of pictures."""

from pathlib import Path

PETS = tuple(f"pets/test/{name}/{number}.png" for name in ("cat", "dog") for number in range(3))
PLAIN = """
import pytest

@pytest.mark.parametrize("path", ["a/b/c", "a[0]/b", "imagenet/val"])
def test_plain(path):
    pass
"""
OWN = """
import pytest

@pytest.mark.eyechart("toybox", protocol="zero_shot")
def test_mine(evaluate):
    evaluate()
"""


def write(folder: Path, **files: str) -> None:
    """Write Python files into a folder."""
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)

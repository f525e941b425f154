"""Tests of `eyechart.data.index.image_files`."""

import os
import subprocess
import sys
from pathlib import Path

from PIL import Image

C_LOCALE = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
REMEDY = "Set PYTHONUTF8=1 or LC_ALL=C.UTF-8, and run the same command again."
INDEX = """
import sys
from pathlib import Path
from eyechart.data.index.image_files import index_images
from eyechart.data.readers.folder import open_folder
from eyechart.errors import DataError
print(len(open_folder(Path("ascii"), "a", "b").index))
named = Path("labels.json")
for read in (
    lambda: open_folder(Path("other"), "a", "b"),
    lambda: index_images(Path("ascii"), ["gr\\xfcn.png"], named_by=named, remedy="copy them."),
):
    try:
        read()
    except DataError as error:
        print(ascii(str(error)).strip("'"))
"""


def run(folder: Path, *command: str) -> str:
    done = subprocess.run(
        [sys.executable, *command], cwd=folder, env={**os.environ, **C_LOCALE}, capture_output=True, check=False
    )
    return (done.stdout + done.stderr).decode("utf-8", "replace")


def test_names_of_pictures_are_checked_and_ascii_ones_are_read(tmp_path: Path) -> None:
    for number, name in enumerate(("ascii/red", "ascii/blue", "other/blue", "other/grün")):
        (tmp_path / name).mkdir(parents=True)
        Image.new("RGB", (4, 4), (number, 0, 0)).save(tmp_path / name / "0.png")
    said = run(tmp_path, "-c", INDEX)
    assert said.startswith("2\nPython reads names of files as ascii here")
    assert said.count(REMEDY) == 2

"""The table of targets in docs/speed.md is that of the data file, and each of its commands is there."""

import importlib
import tomllib
from pathlib import Path

from tests.speed.targets import PATH, table

ROOT = Path(__file__).resolve().parents[2]


def test_the_table_in_the_documentation_is_that_of_the_file() -> None:
    text = (ROOT / "docs/speed.md").read_text(encoding="utf-8").partition("<!-- table: targets -->")[2]
    lines = text.partition("<!-- end of table -->")[0].strip().splitlines()
    assert lines == table()


def test_every_command_is_a_measurement() -> None:
    for row in tomllib.loads(PATH.read_text(encoding="utf-8"))["target"]:
        name, *_ = row["command"].split() or ["__main__"]
        assert (ROOT / "tests" / "speed" / f"{name}.py").is_file(), row["what"]
        if name != "__main__":
            assert importlib.import_module(f"tests.speed.{name}").__doc__


def test_a_miss_has_its_reason() -> None:
    rows = tomllib.loads(PATH.read_text(encoding="utf-8"))["target"]
    assert [row["what"] for row in rows if not row["met"] and "note" not in row] == []


def test_a_row_beside_another_program_names_its_version() -> None:
    rows = tomllib.loads(PATH.read_text(encoding="utf-8"))["target"]
    assert [row["what"] for row in rows if "beside" in row["what"] and "peer" not in row] == []

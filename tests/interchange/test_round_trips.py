"""Every format that is read or written has a test that docs/reach.md names."""

import re
from pathlib import Path

from eyechart.cli.exports import export
from eyechart.cli.interchange import import_results
from eyechart.tracking.targets import TRACKERS

ROOT = Path(__file__).parents[2]
_, _, TABLE = (ROOT / "docs" / "reach.md").read_text(encoding="utf-8").partition("## Round trips")
ROWS = [line.strip("| ").split(" | ") for line in TABLE.splitlines() if line.startswith("| `")]


def test_every_format_has_a_row() -> None:
    formats = [f"import {name}" for name in import_results.commands] + [f"export {name}" for name in export.commands]
    formats += [f"track --to={name}" for name in TRACKERS]
    assert sorted(re.findall("`([^`]+)`", " ".join(row[0] for row in ROWS))) == sorted(formats)


def test_every_test_that_is_named_exists() -> None:
    assert len(ROWS) > 10
    for row in ROWS:
        path, name = row[2].strip("`").split("::")
        assert f"def {name}(" in (ROOT / path).read_text(encoding="utf-8"), row[2]

"""A run whose records hold a number that cannot be is refused by every reader, with one sentence."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eyechart.cli import main
from eyechart.results.records import read_run

pytestmark = pytest.mark.deep

IMPOSSIBLE: dict[str, dict[str, Any]] = {
    "the value 2.5, expected a fraction from 0 to 1, the range of its definition": {"value": 2.5},
    "the value -0.5, expected a fraction from 0 to 1, the range of its definition": {"value": -0.5},
    "n = -3, expected 0 or more": {"n": -3},
    "an interval from 0.9 to 0.1, expected a lower end and a higher one": {"ci": [0.9, 0.1]},
    "the value 0.5 outside of its interval from 0.8 to 0.9": {"value": 0.5, "ci": [0.8, 0.9], "ci_method": "wilson"},
}


def edit_first_accuracy(folder: Path, change: dict[str, Any]) -> dict[str, Any]:
    """Change the first acc1 of a run's records; returns its record."""
    path = folder / "records.json"
    content = json.loads(path.read_text())
    record: dict[str, Any] = content["records"][0]
    next(metric for metric in record["metrics"] if metric["name"] == "acc1").update(change)
    path.write_text(json.dumps(content))
    return record


@pytest.mark.parametrize("command", ["overview", "compare", "page"])
@pytest.mark.parametrize("found", IMPOSSIBLE)
def test_a_record_with_an_impossible_value_is_refused(
    make_run: Callable[..., Path], capsys: pytest.CaptureFixture[str], command: str, found: str
) -> None:
    folder = make_run("run", {"conse[]": ("zero_shot", [356] * 18)})
    record = edit_first_accuracy(folder, IMPOSSIBLE[found])
    assert main([command, folder, *([folder] if command == "compare" else [])]) == 2
    said = capsys.readouterr().err
    assert f"{folder / 'records.json'} was edited or damaged: {record['case']} (zero_shot): acc1 (" in said
    assert f") has {found}. Restore the file, or run the suite again." in said
    assert "Traceback" not in said


@pytest.mark.parametrize(("name", "value"), [("cochran_q", 12.5), ("ig_change", -0.2), ("brier", 1.8)])
def test_numbers_with_other_ranges_are_read(make_run: Callable[..., Path], name: str, value: float) -> None:
    folder = make_run("run", {"conse[]": ("zero_shot", [356] * 18)})
    edit_first_accuracy(folder, {"name": name, "value": value, "ci": None, "ci_method": "none"})
    assert name in {metric.name for metric in read_run(folder).records[0].metrics}

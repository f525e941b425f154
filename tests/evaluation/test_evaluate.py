"""A user's own assertion fails a test that has recorded numbers: the record is kept and marked as failed."""

import json
import subprocess
from typing import Any

import pytest

from eyechart.results.records import FAILED, PASSED

pytestmark = pytest.mark.deep

OWN = """
import pytest

@pytest.mark.eyechart("imagenet", protocol="supervised")
def test_own(eye_case, evaluate):
    {before}
    evaluate()
    {after}
"""
ASSERTION = 'assert eye_case.split != "tiny", "too low"'
HELD = "--eye-baseline=kept"


def run_own(world: Any, *arguments: str, before: str = "pass", after: str = "pass", code: int = 1) -> str:
    """Write the user's test, run its cases on the two small splits, and return what was printed."""
    world.models = ("tinyclass[]",)
    (world.folder / "test_own.py").write_text(OWN.format(before=before, after=after))
    options = ("test_own.py", "-k", "imagenet/tiny", f"--eye-data={world.data}", "--eye-model=tinyclass[]")
    result = world.call(*options, *arguments)
    said: str = result.stdout.str() + result.stderr.str()
    assert result.ret == code, said
    return said


def report(world: Any, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run a command of eyechart in the world's folder."""
    command = [*world.fast, "-m", "eyechart", *arguments]
    return subprocess.run(command, cwd=world.folder, text=True, capture_output=True, timeout=600, check=False)


def test_a_worker_marks_the_record_of_a_failed_assertion(world: Any) -> None:
    run_own(world, "-n1", after=ASSERTION)
    assert [(record["split"], record["status"]) for record in world.records] == [("tiny", FAILED), ("tiny2", PASSED)]


def test_a_failed_assertion_keeps_the_record_which_reports_mark_and_no_baseline_has(world: Any) -> None:
    said = run_own(world, HELD, "--eye-update-baseline", after=ASSERTION)
    assert "1 failed, 1 passed" in said
    assert "too low" in said
    assert [(record["split"], record["status"]) for record in world.records] == [("tiny", FAILED), ("tiny2", PASSED)]
    assert world.records[0]["test"] == "test_own.py::test_own[imagenet/tiny/tinyclass[]]"
    rows = [line for line in said.splitlines() if line.startswith("imagenet/tiny")]
    assert [row.endswith(" failed") for row in rows] == [True, True, False, False]  # two metrics each
    assert "failed, and is not accepted" in said
    (kept,) = (world.folder / "kept").rglob("*.json")
    assert [case["case"].split("/")[1] for case in json.loads(kept.read_text())["cases"]] == ["tiny2"]
    overview = report(world, "overview", "reports/runs/latest").stdout
    assert "supervised (a) (test failed)" in overview or "supervised (test failed)" in overview
    assert "the test failed after it recorded these numbers (test\\_own.py" in overview.replace(
        "test_own", "test\\_own"
    )
    written = report(world, "page", "reports/runs/latest", "--out", "page", "--side", "0", "--no-figures")
    assert written.returncode == 0, written.stderr
    text = "".join(path.read_text() for path in (world.folder / "page").rglob("*") if path.suffix in (".js", ".html"))
    assert "the test failed after it recorded these numbers" in text


def test_a_case_that_the_gate_fails_is_marked(world: Any) -> None:
    world.models = ("tinyclass[]",)
    result = world.run("--eye-floor=imagenet/tiny/supervised:acc1>=1")
    assert result.ret == 10
    assert [record["status"] for record in world.records] == [FAILED, PASSED]


def test_a_session_without_a_record_is_not_the_latest_unless_it_is_the_only_one(world: Any) -> None:
    run_own(world, before='raise ValueError("no")')
    found = report(world, "overview", "reports/runs/latest")
    assert found.returncode == 2
    assert "has no record: no case of that session recorded a metric (exit status 1)" in found.stderr
    run_own(world, code=0)
    first = world.latest.readlink()
    said = run_own(world, before="raise KeyboardInterrupt", code=2)
    assert world.latest.readlink() == first
    assert f"no case of this session recorded a metric; reports/runs/latest is still {first.name}" in said

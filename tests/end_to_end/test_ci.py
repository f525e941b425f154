"""The workflow's commands, run as a CI runs them on the packaged drawings: good, and after a regression."""

import json
import os
import re
import subprocess
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

pytestmark = pytest.mark.deep

ROOT = Path(__file__).parents[2]
JOB = yaml.safe_load((ROOT / ".github" / "workflows" / "eyechart.yml").read_text(encoding="utf-8"))["jobs"]["gate"]
RUNS = {step["name"]: step["run"] for step in JOB["steps"] if "run" in step}
GUIDE = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
(WRITE,) = re.findall(r"^    (pytest .+--eye-update-baseline)$", GUIDE, re.MULTILINE)
(SCRIPT,) = re.findall(r"```bash\n(.+?)```", GUIDE, re.DOTALL)
NOT_KEPT = ("PYTEST", "GITHUB", "CI", "BUILD_NUMBER")
OPTIONS = "--eye-offline -p no:cacheprovider -p no:hypothesispytest -p no:anyio"
CASES = "imagenet/sample-drawing/timm and supervised"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, warm_python: Sequence[str]) -> Callable[..., int]:
    """Run one of the commands in an empty folder, as the workflow's shell does; its exit status."""
    folder, programs = tmp_path_factory.mktemp("job"), tmp_path_factory.mktemp("programs")
    for name, module in {
        "pytest": "-m pytest ",
        "eyechart": "-m eyechart ",
    }.items():  # start-up is not what is tested here
        (programs / name).write_text(f'#!/bin/sh\nexec "{warm_python[0]}" {module}"$@"\n')
        (programs / name).chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(NOT_KEPT)}
    path = f"{programs}{os.pathsep}{kept['PATH']}"
    env = {"CASES": CASES, "GITHUB_STEP_SUMMARY": str(folder / "job.md"), "PATH": path, "PYTEST_ADDOPTS": OPTIONS}
    env |= {"PYTEST_XDIST_AUTO_NUM_WORKERS": "1"}

    def run(command: str) -> int:
        done = subprocess.run(["bash", "-e", "-c", command], cwd=folder, env=kept | env, capture_output=True, text=True,
                              timeout=600, check=False)  # fmt: skip
        (folder / "log").write_text(done.stdout + done.stderr)
        return done.returncode

    run.folder = folder
    return run


@pytest.fixture(scope="module")
def statuses(run: Callable[..., int]) -> dict[str, int]:
    """How every step ended, after a baseline was written."""
    assert run(WRITE) == 0, (run.folder / "log").read_text()
    return {name: run(command) for name, command in RUNS.items() if name != "Install"}


@pytest.fixture(scope="module")
def folder(run: Any, statuses: dict[str, int]) -> Path:
    """Where the job ran."""
    found: Path = run.folder
    return found


def test_every_step_ends_well(statuses: dict[str, int]) -> None:
    assert statuses == {"Gate": 0, "Say how it ended": 0, "Overview": 0, "Page": 0}


def test_the_jobs_page_says_how_it_ended_and_every_number(folder: Path) -> None:
    page = (folder / "job.md").read_text(encoding="utf-8")
    assert page.startswith("# eyechart: 1 passed\n\nThe gate: no regression: the same weights gave the same answers.\n")
    assert "\n\nExit status 0: every case passed.\n" in page
    assert re.search(r"gate: \d+ numbers compared, 0 significantly worse", page)
    assert "imagenet/sample-drawing: every metric" in page


def test_what_is_published_is_there(folder: Path) -> None:
    published = next(step["with"]["path"] for step in JOB["steps"] if step["name"] == "Publish").split()
    assert [each for each in published if not [*folder.glob(each)]] == []
    assert (folder / "page" / "index.html").is_file()


def test_junit_has_the_records_numbers(folder: Path) -> None:
    (case,) = ElementTree.parse(folder / "junit.xml").getroot().iter("testcase")
    told = {each.get("name"): each.get("value") for each in case.iter("property")}
    (record,) = json.loads((folder / "reports/runs/latest/records.json").read_text())["records"]
    (number,) = (m for m in record["metrics"] if (m["name"], m["labels"], m["subset"]) == ("acc1", "ImGT", "all"))
    assert told["eyechart.acc1[ImGT]"] == repr(number["value"])


def test_the_guides_script_ends_as_pytest_does_and_still_publishes(run: Any, folder: Path) -> None:
    floor = f"export CASES='{CASES}' PYTEST_ADDOPTS=\"$PYTEST_ADDOPTS --eye-floor=imagenet/supervised:acc1>=0.99\""
    script = re.sub("CASES='.+?'", "", SCRIPT).replace("pip install '.[models]'", floor)
    assert run(script) == 10, (folder / "log").read_text()
    assert "Exit status 10: a regression" in (folder / "job.md").read_text(encoding="utf-8")
    assert "imagenet/sample-drawing: every metric" in (folder / "job.md").read_text(encoding="utf-8")
    assert (folder / "page" / "index.html").is_file()


def test_the_guides_script_ends_as_pytest_does_where_nothing_ran(run: Any, folder: Path) -> None:
    wrong = f"export CASES='{CASES}' PYTEST_ADDOPTS=--eye-bad"
    assert run(re.sub("CASES='.+?'", "", SCRIPT).replace("pip install '.[models]'", wrong)) == 4
    assert not (folder / "page").exists()

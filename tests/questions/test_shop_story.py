"""The story of docs/questions.md: 40 pictures, 60 questions, two models, and the gate after a change of the prompt."""

import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "questions.md"
pytestmark = pytest.mark.deep


def commands() -> list[list[str]]:
    """The commands of the story, in their order."""
    story = PAGE.read_text(encoding="utf-8").partition("## A shop")[2]
    (code,) = re.findall(r"```bash\n(.*?)```", story, re.DOTALL)
    return [shlex.split(line, comments=True) for line in code.replace("\\\n", " ").splitlines() if line.strip()]


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    for path in (ROOT / "examples" / "shop").iterdir():
        if path.is_file():
            shutil.copy(path, tmp_path)
    return tmp_path


def test_the_story_of_the_shop_runs_as_it_is_told(shop: Path, warm_python: Sequence[str]) -> None:
    draw, first, change, second, page = commands()

    def run(words: Sequence[str]) -> subprocess.CompletedProcess[str]:
        python = [*warm_python, "-m", "eyechart"] if words[0] == "eyechart" else [*warm_python]
        arguments = [*words[1:], "-p", "no:cacheprovider"] if words[1] == "run" else words[1:]
        return subprocess.run(
            [*python, *arguments], cwd=shop, capture_output=True, encoding="utf-8", timeout=300, check=False
        )

    assert run(draw).returncode == 0
    assert len([*(shop / "data/myshop/shelf").glob("*.png")]) == 40
    done = run(first)
    assert done.returncode == 0, done.stdout + done.stderr
    records = json.loads((shop / "reports/runs/latest/records.json").read_bytes())["records"]
    found = {
        (record["model"]["alias"], one["subset"]): one
        for record in records
        for one in record["metrics"]
        if one["name"] == "question_acc"
    }
    assert {name: round(found[name]["value"], 3) for name in found if name[1] in ("all", "shelf=dim")} == {
        ("careful", "all"): 1.0,
        ("careful", "shelf=dim"): 1.0,
        ("hasty", "all"): 0.933,
        ("hasty", "shelf=dim"): 0.6,
    }
    assert (found["careful", "all"]["n"], found["careful", "all"]["n_clusters"]) == (60, 40)
    assert change[0] == "sed"
    subprocess.run(change, cwd=shop, check=True)
    done = run(second)
    assert done.returncode == 10, done.stdout + done.stderr
    for line in (
        "100.00 % in the baseline, 71.67 % now",
        "right before and wrong now: 17",
        "17 of 60 answers could not be parsed",
    ):
        assert line in done.stdout
    assert run(page).returncode == 0
    assert "It could be " in "".join(path.read_text(encoding="utf-8") for path in (shop / "page").rglob("*.js"))

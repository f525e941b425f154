"""The labels that data come with are `original`, and ImageNet's own are ImGT, wherever a run names them."""

import json
import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

pytestmark = pytest.mark.deep

NAMES = {"pets/test": ("cat", "dog"), "imagenet/mine": ("n01440764", "n01443537")}
OWN = ("--pyargs", "eyechart.benchmarks", "--eye-data=data", "--eye-model=tiny[]")
FILE, KEPT = "--eye-labels=Better=better.csv", ("--eye-baseline=kept", "--eye-update-baseline")
LABELS = {"pets": "original", "imagenet": "ImGT"}


@dataclass
class Evaluated:
    """A folder with a run of each split, under a second label set, and the baseline of both."""

    world: Any
    runs: dict[str, Path] = field(default_factory=dict)
    said: dict[str, pytest.LineMatcher] = field(default_factory=dict)

    @property
    def paths(self) -> list[str]:
        """The folders of both runs."""
        return [*map(str, self.runs.values())]

    def report(self, *arguments: str, code: int = 0) -> str:
        """Run a command of eyechart about both runs; what it says."""
        command = [*self.world.fast, "-m", "eyechart", *arguments]
        done = subprocess.run(command, cwd=self.world.folder, capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr


@pytest.fixture(scope="module")
def evaluated(new_world: Callable[[], Any]) -> Evaluated:
    """A model's answers about own data and about ImageNet's classes."""
    found, rows = Evaluated(new_world()), ["file,labels"]
    folder = found.world.folder
    for split, names in NAMES.items():
        for shade, name in enumerate(names):
            (folder / "data" / split / name).mkdir(parents=True)
            for number in range(3):
                Image.new("RGB", (8, 8), (shade * 90, number * 40, 0)).save(
                    folder / f"data/{split}/{name}/{number}.png"
                )
                rows.append(f"{name}/{number}.png,{shade}")
    (folder / "better.csv").write_text("\n".join(rows))
    for split in NAMES:
        result = found.world.call(*OWN, "-v", "-k", split, FILE, *KEPT)
        assert result.ret == 0, result.stdout.str() + result.stderr.str()
        data = split.partition("/")[0]
        found.runs[data], found.said[data] = found.world.latest.resolve(), result.stdout
    return found


@pytest.mark.parametrize(("data", "name"), LABELS.items())
def test_records_and_the_terminal_name_the_labels_of_a_benchmark(evaluated: Evaluated, data: str, name: str) -> None:
    (record,) = json.loads((evaluated.runs[data] / "records.json").read_text())["records"]
    assert {metric["labels"] for metric in record["metrics"]} == {name, "Better", f"{name}∩Better"}
    assert record["data"]["labels"].keys() == {name, "Better"}
    assert record["variant"]["empty"] == f"{name}=exclude, Better=correct"
    evaluated.said[data].fnmatch_lines([f"{data}/*/tiny[[][]] * zero_shot * acc1 * {name} * 6*"])
    (samples,) = (evaluated.runs[data] / "predictions").glob("*.csv")
    assert f"{name}.labels,{name}.category,{name}.correct" in samples.read_text().partition("\n")[0]


@pytest.mark.parametrize(("data", "name"), LABELS.items())
def test_baselines_name_the_labels_of_a_benchmark(evaluated: Evaluated, data: str, name: str) -> None:
    (path,) = (evaluated.world.folder / "kept" / data).glob("*.json")
    (case,) = json.loads(path.read_text())["cases"]
    assert case["label_hashes"].keys() == {name, "Better"}
    assert {metric["labels"] for metric in case["metrics"]} == {name, "Better", f"{name}∩Better"}


def test_tables_compare_with_the_labels_of_a_benchmark(evaluated: Evaluated) -> None:
    said = evaluated.report("table", "label-categories", *evaluated.paths)
    for data, name in LABELS.items():
        (table,) = (part for part in said.split("### ") if f"{data}/" in part.partition("\n")[0])
        assert f"{name} and Better" in table.partition("\n")[0]
        (head,) = (line for line in table.splitlines() if line.startswith("| Model"))
        assert {word for word in LABELS.values() if word in head} == {name}


def test_the_page_lists_the_labels_of_each_split(evaluated: Evaluated) -> None:
    evaluated.report("page", *evaluated.paths, "--out=page")
    text = (evaluated.world.folder / "page/data/index.js").read_text(encoding="utf-8").replace("\\", "")
    assert re.findall(r'"labelSets":(\[.*?\])', text) == ['["ImGT","Better"]', '["original","Better"]']
    assert '"original":"The labels that the data set comes with' in text


def test_an_unknown_label_set_is_answered_with_the_nearest(evaluated: Evaluated) -> None:
    said = evaluated.report("table", "label-categories", *evaluated.paths, "--labels=orignal", code=2)
    assert "No record was scored under the label set 'orignal'; did you mean original? There are: " in said
    said = evaluated.report("leaderboard", *evaluated.paths, "--labels=orignal", code=2)
    assert "No record has a metric for --metric=acc1 --labels=orignal; did you mean original or " in said


def test_a_label_file_needs_a_name_of_its_own(evaluated: Evaluated) -> None:
    result = evaluated.world.call(*OWN, "-k", "pets/", "--eye-labels=original=better.csv")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    reason = "pets/test has a label set 'original' already, its own. Give the file another name."
    result.stdout.fnmatch_lines([f"*--eye-labels=original=FILE: {reason}*"])

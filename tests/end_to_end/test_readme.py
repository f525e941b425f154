"""README's first command, run as a new user runs it, and what README says of it."""

import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from eyechart.gate.baselines.baseline_files import FOLDER, read_baselines
from eyechart.messages.terminal import align_texts
from eyechart.plugins.summary import select_rows
from eyechart.reports.runs import load
from eyechart.results.sample_table import SHARED_COLUMNS

pytestmark = pytest.mark.deep

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^    (pip install .+)$", README, re.MULTILINE)


@pytest.fixture(scope="module")
def main_job(tmp_path_factory: pytest.TempPathFactory, answers: Path, warm_python: Sequence[str]) -> tuple[str, Path]:
    """The main job's terminal, and the folder of its runs and its store, which becomes that of other tests, too.

    How the command starts by itself, without a warm interpreter: test_wheel.
    """
    folder = tmp_path_factory.mktemp("main")
    command = COMMANDS[0].partition("&&")[2].split()
    assert command[0] == "pytest"
    options = [f"--eye-out={folder / 'runs'}", f"--eye-store={folder / 'store'}", "--eye-offline"]
    options.append(f"--eye-baseline={FOLDER}")
    done = subprocess.run(
        [*warm_python, "-m", *command, *options], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    with suppress(OSError):  # another worker has begun to fill it
        shutil.copytree(folder / "store", folder / "copy").rename(answers)
    return done.stdout, folder


@pytest.fixture(scope="module")
def session(main_job: tuple[str, Path]) -> tuple[str, dict[str, Any]]:
    """The main job's terminal and its records."""
    said, folder = main_job
    return said, json.loads((folder / "runs" / "latest" / "records.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def golden_files(main_job: tuple[str, Path], golden: Any) -> dict[str, Any]:
    """What the main job left, as golden files have it."""
    return dict(golden.read_run("main", main_job[1] / "runs" / "latest", main_job[1] / "store"))


def metric(records: dict[str, Any], case: str, **wanted: str) -> dict[str, Any]:
    found = next(record for record in records["records"] if record["case"] == case)
    return next(row for row in found["metrics"] if all(row[name] == value for name, value in wanted.items()))


def test_the_schema_in_docs_describes_every_record(session: tuple[str, dict[str, Any]]) -> None:
    schema = json.loads((ROOT / "docs" / "records.schema.json").read_bytes())
    Draft202012Validator(schema).validate(session[1])
    for record in session[1]["records"]:
        assert record["store_entries"]
        assert record["model"]["device_name"]
        assert record["data"]["class_names"]
        assert all(0 < metric["n_clusters"] <= metric["n"] for metric in record["metrics"])


def test_there_are_two_commands() -> None:
    assert [command.rpartition("&& ")[2] for command in COMMANDS] == ["pytest", "pytest tests -n 2"]


def test_nothing_is_worse_than_the_kept_baselines(session: tuple[str, dict[str, Any]]) -> None:
    assert re.search(r"gate: [\d,]{3,} numbers compared, 0 significantly worse", session[0])


def test_the_kept_baselines_are_of_the_cases_that_the_workflow_gates(session: tuple[str, dict[str, Any]]) -> None:
    job = yaml.safe_load((ROOT / ".github" / "workflows" / "eyechart.yml").read_text(encoding="utf-8"))["jobs"]["gate"]
    ran = {(record["case"], record["protocol"]) for record in session[1]["records"]}
    assert {*read_baselines(ROOT / FOLDER)} == {each for each in ran if job["env"]["CASES"] in each[0]} == ran


def test_the_terminal_says_what_the_first_run_leaves_out_and_what_runs_everything(
    session: tuple[str, dict[str, Any]],
) -> None:
    (line,) = [line for line in session[0].splitlines() if line.startswith("the preset first-run has ")]
    (left_out, total), *_ = re.findall(r"left out (\d+) of (\d+) cases", line)
    assert int(total) - int(left_out) == sum(map(int, re.findall(r"(\d+) (?:passed|skipped)", session[0])))
    assert "set abstention.prompts_per_level=3" in line
    (command,) = re.findall("`pytest (--eye-preset=[^`]+)` runs everything", README)
    assert line.endswith(f": {command} runs everything")
    assert len({record["model"]["spec"] for record in session[1]["records"]}) == 5


def test_the_table_in_the_readme_is_what_the_terminal_says(session: tuple[str, dict[str, Any]]) -> None:
    said, _ = session
    case = re.compile("    (imagenet|toybox|oodbench|realbirdid) ")
    shown = [line.strip() for line in README.splitlines() if case.match(line)]
    assert len(shown) == 6
    assert [line for line in shown if re.sub(r"  +", "  ", line) not in re.sub(r"  +", "  ", said)] == []


def test_the_table_in_the_documentation_is_what_the_records_say(main_job: tuple[str, Path]) -> None:
    records = [case.record for case in load([main_job[1] / "runs" / "latest"]).cases]
    rows = [re.sub(r"  +", "  ", line) for line in align_texts(select_rows(records, verbose=True).rows)]
    page = (ROOT / "docs/results.md").read_text(encoding="utf-8")
    shown = re.findall("^    ((?:imagenet|toybox|oodbench|realbirdid)/sample.*)$", page, re.MULTILINE)
    assert len(shown) > 20
    assert [line for line in shown if not any(row.startswith(re.sub(r"  +", "  ", line)) for row in rows)] == []


@pytest.mark.parametrize(("name", "least"), [("acc1", 0.78), ("acc5", 0.96)], ids=["top-1", "top-5"])
def test_efficientnet_lite0_reaches_its_accuracy(session: tuple[str, dict[str, Any]], name: str, least: float) -> None:
    found = metric(session[1], "imagenet/sample/timm[tf_efficientnet_lite0]", name=name, labels="ImGT", subset="all")
    assert found["n"] == 140
    assert found["value"] >= least
    assert found["ci"][0] < found["value"] < found["ci"][1]


@pytest.mark.parametrize(
    "subset", ["all", "no_label", "single_label", "single_label_original", "multi_label", "multi_label_original"]
)
@pytest.mark.parametrize("model", ["timm[tf_efficientnet_lite0]", "conse[]"])
def test_every_category_of_the_multilabel_truth_has_a_number(
    session: tuple[str, dict[str, Any]], model: str, subset: str
) -> None:
    found = metric(session[1], f"imagenet/sample/{model}", name="acc1", labels="multilabel", subset=subset)
    assert found["n"] > 0
    assert found["ci"][0] <= found["value"] <= found["ci"][1]


def test_toybox_clip_sees_the_toy_world_and_photographs_less(session: tuple[str, dict[str, Any]]) -> None:
    wanted = {"name": "acc1", "labels": "original", "subset": "all"}
    drawn, photographs = (
        metric(session[1], f"toybox/{name}/open_clip[toybox-clip]", **wanted) for name in ("sample", "sample-cutouts")
    )
    assert drawn["value"] >= 0.9
    assert drawn["ci"][0] > photographs["ci"][1]


def test_each_model_was_loaded_once(session: tuple[str, dict[str, Any]]) -> None:
    assert session[1]["run"]["loads"] == 6


@pytest.mark.parametrize("name", ["records.json", "samples.json.gz", "tables.json.gz", "keys.json"])
def test_the_main_job_leaves_what_the_golden_files_have(golden_files: dict[str, Any], golden: Any, name: str) -> None:
    golden.check(f"main/{name}", golden_files[f"main/{name}"])


def test_the_example_of_the_page_of_samples_joins_all_cases(main_job: tuple[str, Path], session: Any) -> None:
    """Every protocol's outcomes are counts of its shared columns; logic in progression needs a right count, too."""
    page = (ROOT / "docs" / "samples.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(.+?)```", page, re.DOTALL)
    values: dict[str, Any] = {}
    exec(example.replace('"reports/runs/latest"', repr(str(main_job[1] / "runs" / "latest"))), values)
    samples = values["samples"]
    assert tuple(samples.columns[:6]) == SHARED_COLUMNS
    assert not samples[[*SHARED_COLUMNS]].drop(columns="correct").isna().any(axis=None)
    for record in session[1]["records"]:
        rows = samples[(samples["case"] == record["case"]) & (samples["protocol"] == record["protocol"])]
        outcomes = record["outcomes"]
        if record["protocol"] != "progression":
            assert (rows["correct"] == 1).sum() == outcomes["correct"]
            assert (rows["correct"] == 0).sum() == sum(outcomes[name] for name in ("wrong", "unparsed", "truncated"))
        first = next((metric for metric in record["metrics"] if metric["name"] == "acc1"), None)
        if first and not record["protocol"].startswith("multiple"):
            assert rows["correct"].mean() == pytest.approx(first["value"])

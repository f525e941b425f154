"""Exports: what other tools read back is what the run has."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from huggingface_hub import parse_eval_result_entries

from eyechart.cli import main
from eyechart.results.records import read_run

FILES = Path(__file__).parent / "files"
Export = Callable[..., list[Path]]


def test_cases_with_several_label_sets_become_logs(run_folder: Path, export: Export) -> None:
    records = {record.model.spec: record for record in read_run(run_folder).records}
    logs = [json.loads(path.read_bytes()) for path in export("inspect", run_folder)]
    assert len(logs) == len(records) == 3
    for log in logs:
        record = records[log["eval"]["model_args"]["spec"]]
        assert [sample["id"] for sample in log["samples"]] == [f"{row:04d}" for row in range(18)]
        names = [score["name"] for score in log["results"]["scores"]]
        assert len(names) == len({*names})
        values = [score["metrics"]["mean"]["value"] for score in log["results"]["scores"]]
        assert values == [metric.value for metric in record.metrics if metric.value is not None]


def test_questions_about_one_image_have_ids_of_their_own(import_files: Any, export: Export, tmp_path: Path) -> None:
    run = import_files("inspect", FILES / "inspect" / "epochs.json")
    (path,) = export("inspect", run)
    log = json.loads(path.read_bytes())
    assert len({(sample["id"], sample["epoch"]) for sample in log["samples"]}) == 36
    assert {sample["epoch"] for sample in log["samples"]} == {1, 2, 3}
    assert [sample["id"] for sample in log["samples"] if "error" in sample] == ["shape-5"] * 3


def test_the_main_metric_of_the_hub_may_be_better_if_lower(import_files: Any, export: Export) -> None:
    run = import_files("inspect", FILES / "inspect" / "before.eval", "--lower-is-better=choice")
    results, _ = export("hub", run, "--dataset=shapes=me/shapes")
    (entry,) = parse_eval_result_entries(yaml.safe_load(results.read_text(encoding="utf-8")))
    assert entry.value == 82.5
    assert entry.notes.startswith("choice (target) in %, lower is better, 95 % interval")


def test_several_models_have_a_folder_each(run_folder: Path, export: Export) -> None:
    paths = export("hub", run_folder, "--dataset=imagenet=org/imagenet")
    assert len(paths) == 6
    assert len({path.relative_to(paths[0].parents[2]).parts[0] for path in paths}) == 3


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--dataset=shapes", "--dataset is 'shapes'. Expected BENCHMARK=ORG/NAME"),
        ("--dataset=other=me/other", "the runs have no benchmark 'other'. They have: imagenet."),
    ],
)
def test_a_wrong_dataset_is_named(
    run_folder: Path, capsys: pytest.CaptureFixture[str], option: str, message: str
) -> None:
    assert main(["export", "hub", run_folder, option]) == 2
    assert message in capsys.readouterr().err

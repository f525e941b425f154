"""Exports: what other tools read back is what the run has."""

import csv
import json
import re
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
import yaml
from huggingface_hub import ModelCard, parse_eval_result_entries

from eyechart.cli import main
from eyechart.errors import ReportError
from eyechart.interchange.inspect_logs import read_inspect_log
from eyechart.reports.exports import model_card
from eyechart.reports.exports.inspect_log import export_inspect_logs
from eyechart.reports.runs import load
from eyechart.results.records import Record, read_run

FILES = Path(__file__).parent / "files"
Export = Callable[..., list[Path]]


@pytest.fixture
def export(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Export:
    """Export a run, and return the paths that were printed."""

    def export(format_name: str, *arguments: object) -> list[Path]:
        assert main(["export", format_name, *arguments, "--out", tmp_path / "out"]) == 0
        return [Path(line) for line in capsys.readouterr().out.splitlines() if line.startswith(str(tmp_path / "out"))]

    return export


def by_case(run: Path) -> dict[tuple[str, str], Record]:
    return {(record.case, record.protocol): record for record in read_run(run).records}


def test_every_eval_ever_has_each_metric_with_interval_and_n(run_folder: Path, export: Export) -> None:
    paths = export("every-eval-ever", run_folder, "--organization=me")
    records = [*by_case(run_folder).values()]
    assert len(paths) == len(records)
    found = {}
    for path in paths:
        content = json.loads(path.read_bytes())
        assert content["schema_version"] == "0.3.0"
        assert path.parts[-5:-3] == ("data", "imagenet")
        for result in content["evaluation_results"]:
            config, details = result["metric_config"], result["score_details"]
            interval = details["uncertainty"].get("confidence_interval", {})
            key = (content["model_info"]["additional_details"]["specification"], config["metric_id"])
            assert key not in found
            found[key] = (
                details["score"], interval.get("lower"), interval.get("upper"), details["uncertainty"]["num_samples"],
                config["lower_is_better"],
            )  # fmt: skip
    expected = {
        (record.model.spec, "/".join(filter(None, ("eyechart", metric.name, metric.labels, metric.subset_text)))): (
            metric.value, *(metric.ci or (None, None)), metric.n, not metric.higher_is_better,
        )
        for record in records
        for metric in record.metrics
        if metric.value is not None and metric.higher_is_better is not None
    }  # fmt: skip
    assert found == expected


def test_a_log_of_inspect_is_imported_again_with_the_same_outcomes(
    import_files: Any, import_record: Any, export: Export
) -> None:
    run = import_files("inspect", FILES / "inspect" / "before.eval")
    (path,) = export("inspect", run)
    record = import_record("inspect", path)
    (before,) = by_case(run).values()
    assert record.metrics[0].name == before.metrics[0].name == "choice"
    assert (record.metrics[0].value, record.metrics[0].n) == (before.metrics[0].value, before.metrics[0].n)
    assert record.outcomes == before.outcomes
    case = read_inspect_log(path)
    assert case.answers[0].kept["metadata.kept.metadata.colour"] == "navy"
    assert re.match(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d", path.name)  # else `inspect view` does not list it
    assert next(iter(json.loads(path.read_bytes()))) == "version"  # which it reads first


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


def test_results_of_the_hub_are_read_back(import_files: Any, export: Export) -> None:
    run = import_files("inspect", FILES / "inspect" / "before.eval")
    results, card = export("hub", run, "--dataset=shapes=me/shapes", "--source-url=https://example.org/run")
    assert results.parts[-2:] == (".eval_results", "shapes.yaml")
    (entry,) = parse_eval_result_entries(yaml.safe_load(results.read_text(encoding="utf-8")))
    assert (entry.dataset_id, entry.task_id, entry.value) == ("me/shapes", "shapes", 82.5)
    assert entry.notes == "choice (target) in %, 95 % interval 74.72 to 88.26, n=120, protocol inspect_ai"
    assert entry.source_url == "https://example.org/run"
    read = ModelCard.load(card)
    (result,) = read.data.eval_results
    assert (read.data.model_name, result.metric_value, result.dataset_type) == ("mockllm/before", 82.5, "me/shapes")
    assert "| shapes/shapes | inspect_ai | choice | target | 0.8250 | 0.7472 to 0.8826 | 120 |" in read.text


def test_the_main_metric_of_the_hub_may_be_better_if_lower(import_files: Any, export: Export) -> None:
    run = import_files("inspect", FILES / "inspect" / "before.eval", "--lower-is-better=choice")
    results, _ = export("hub", run, "--dataset=shapes=me/shapes")
    (entry,) = parse_eval_result_entries(yaml.safe_load(results.read_text(encoding="utf-8")))
    assert entry.value == 82.5
    assert entry.notes.startswith("choice (target) in %, lower is better, 95 % interval")


def test_cases_that_differ_in_options_have_a_log_each(run_folder: Path) -> None:
    runs = load([run_folder])
    case = next(iter(runs.cases))
    records = [msgspec.structs.replace(case.record, case=f"{case.record.case}@k={count}") for count in (1, 5)]
    several: Any = SimpleNamespace(cases=[replace(case, record=record) for record in records], sessions=runs.sessions)
    assert len({name for name, _ in export_inspect_logs(several)}) == 2


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


def test_without_huggingface_hub_the_message_has_the_remedy(run_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_card, "find_spec", lambda name: None)
    with pytest.raises(ReportError, match=r"need huggingface_hub: pip install 'eyechart\[hub\]'"):
        list(model_card.export_hub(load([run_folder]), {}, None))


def test_the_description_of_a_split_names_its_index(export: Export, capsys: pytest.CaptureFixture[str]) -> None:
    index, description = export("croissant", "toybox/sample", "--license=https://spdx.org/licenses/CC0-1.0")
    rows = [*csv.DictReader(index.read_text(encoding="utf-8").splitlines())]
    assert len(rows) == 123
    assert (rows[0]["key"], rows[0]["class"]) == ("google/000", "dog")
    content = json.loads(description.read_bytes())
    assert content["conformsTo"] == "http://mlcommons.org/croissant/1.0"
    (file,) = content["distribution"]
    assert (file["contentUrl"], file["sha256"]) == ("index.csv", sha256(index.read_bytes()).hexdigest())
    (records,) = content["recordSet"]
    assert [field["source"]["extract"]["column"] for field in records["field"]] == [*rows[0]]
    assert all(field["source"]["fileObject"]["@id"] == file["@id"] for field in records["field"])
    assert main(["export", "croissant", "toybox/samples"]) == 2
    assert "There is no split toybox/samples; did you mean toybox/sample" in capsys.readouterr().err

"""Logs of inspect_ai that are written: the outcomes and numbers are those of the run."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec

from eyechart.interchange.inspect_logs import read_inspect_log
from eyechart.reports.exports.inspect_log import export_inspect_logs
from eyechart.reports.runs import load
from eyechart.results.records import Record, read_run

FILES = Path(__file__).parents[2] / "interchange" / "files"
Export = Callable[..., list[Path]]


def by_case(run: Path) -> dict[tuple[str, str], Record]:
    return {(record.case, record.protocol): record for record in read_run(run).records}


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


def test_cases_that_differ_in_options_have_a_log_each(run_folder: Path) -> None:
    runs = load([run_folder])
    case = next(iter(runs.cases))
    records = [msgspec.structs.replace(case.record, case=f"{case.record.case}@k={count}") for count in (1, 5)]
    several: Any = SimpleNamespace(cases=[replace(case, record=record) for record in records], sessions=runs.sessions)
    assert len({name for name, _ in export_inspect_logs(several)}) == 2


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

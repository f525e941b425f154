"""Results of lmms-eval as runs: metrics that are numbers, and objects with a score."""

import json
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

import eyechart
from eyechart.errors import DataError
from eyechart.interchange.harness_results import LMMS_EVAL, read_harness

FILES = Path(__file__).parent / "files" / "lmms_eval"


@pytest.mark.parametrize("model", ["before", "after"])
def test_the_means_are_those_that_the_tool_printed(import_record: Any, model: str) -> None:
    (path,) = (FILES / model).glob("*_results.json")
    record = import_record("lmms-eval", path)
    printed = json.loads(path.read_bytes())["results"]["shapes"]
    assert {metric.name: metric.value for metric in record.metrics if metric.name != "answered"} == {
        name: pytest.approx(printed[f"{name},none"], abs=1e-12) for name in ("exact_match", "by_colour")
    }
    assert record.case == f"shapes/test/{model}"
    assert record.protocol == "lmms_eval"
    assert "doc_to_text" not in record.variant  # a function, whose address changes
    assert record.notes == (record.notes[0],)  # nothing is left out


def test_the_sample_table_has_what_stands_beside_a_score(import_files: Any) -> None:
    (path,) = (FILES / "before").glob("*_samples_*.jsonl")
    first = eyechart.load_run(import_files("lmms-eval", path)).samples.iloc[1]
    assert first[["key", "target", "prediction", "response", "correct"]].tolist() == [
        "1", "square", "square", "square", 1,
    ]  # fmt: skip
    assert first["kept.by_colour.category"] == "gold"


def test_two_runs_are_compared_sample_by_sample_and_by_slice(import_files: Any) -> None:
    options = ("--model=m", "--slice=by_colour.category")
    runs = [import_files("lmms-eval", *(FILES / name).glob("*.json"), *options) for name in ("before", "after")]
    result = eyechart.compare(*runs)
    assert {*result.verdicts["verdict"]} == {"regression"}
    assert {*result.slices["subset"]} == {"by_colour.category=navy", "by_colour.category=gold"}


def test_a_submission_without_a_score_is_refused(tmp_path: Path) -> None:
    folder = copytree(FILES / "after", tmp_path / "after")
    (samples,) = folder.glob("*_samples_*.jsonl")
    lines = [json.loads(line) for line in samples.read_text(encoding="utf-8").splitlines()]
    for line in lines:
        line["by_colour"] = line["exact_match"] = {"prediction": "circle"}
    samples.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    with pytest.raises(DataError, match=r"for each sample\. exact_match is left out: it has no number for each sample"):
        list(read_harness(LMMS_EVAL, [samples]))

"""Results of NeMo Evaluator in their documented form: problems with repeats, and a bundle of the numbers."""

import json
from pathlib import Path
from typing import Any

import pytest

import eyechart
from eyechart.errors import DataError
from eyechart.interchange.nemo_results import bundles, read_nemo


def write(folder: Path, wrong: range, repeats: int = 1, **scores: float) -> Path:
    folder.mkdir(parents=True)
    lines = [
        {
            "problem_idx": number,
            "repeat": repeat,
            "reward": float(number not in wrong or repeat == 2),
            "expected_answer": str(number),
            "model_response": f"The answer is {number}.",
            "extracted_answer": str(number),
            "metadata": {"category": ("algebra", "geometry")[number % 2]},
            "scoring_details": {"method": "exact"},
        }
        for number in range(50)
        for repeat in range(repeats)
    ]
    text = "".join(f"{json.dumps(line)}\n" for line in lines)
    (folder / "results.jsonl").write_text(text, encoding="utf-8")
    mean = sum(float(str(line["reward"])) for line in lines) / len(lines)
    bundle = {
        "run_id": "eval-1",
        "config": {"benchmark": "numbers", "model": "nemotron", "repeats": repeats},
        "benchmark": {
            "name": "numbers",
            "samples": len(lines),
            "scores": {name: {"value": value} for name, value in ({"mean_reward": mean} | scores).items()},
        },
    }
    path = folder / "eval-numbers.json"
    path.write_text(json.dumps(bundle), encoding="utf-8")
    return path


def test_a_bundle_becomes_a_case(import_files: Any, import_record: Any, tmp_path: Path) -> None:
    record = import_record("nemo", write(tmp_path / "a", range(10)))
    assert (record.case, record.protocol) == ("numbers/all/nemotron", "nemo_evaluator")
    metric = record.metrics[0]
    assert (metric.name, metric.value, metric.n, metric.ci_method) == ("reward", 0.8, 50, "wilson")
    samples = eyechart.load_run(import_files("nemo", tmp_path / "a")).samples
    assert samples.iloc[1][["key", "target", "prediction", "kept.metadata.category"]].tolist() == [
        "1", "1", "1", "geometry",
    ]  # fmt: skip
    assert samples.iloc[0]["kept.scoring_details"] == '{"method":"exact"}'


def test_repeats_are_averaged_for_each_problem(import_record: Any, tmp_path: Path) -> None:
    record = import_record("nemo", write(tmp_path / "a", range(10), repeats=3))
    assert record.metrics[0].value == pytest.approx((40 + 10 / 3) / 50)
    assert (record.metrics[0].n, record.metrics[0].ci_method) == (50, "student")


def test_two_bundles_are_compared(import_files: Any, tmp_path: Path) -> None:
    runs = [import_files("nemo", write(tmp_path / str(count), range(count))) for count in (5, 30)]
    (row,) = eyechart.compare(*runs).verdicts.to_dict("records")
    assert (row["verdict"], row["lost"], row["gained"]) == ("regression", 25, 0)


def test_other_metrics_are_named(tmp_path: Path) -> None:
    assert read_nemo(write(tmp_path / "a", range(2), f1=0.5)).notes == (
        "f1 of the tool is not imported, since it is no mean",
    )


def test_missing_lines_and_numbers_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a", range(2))
    (tmp_path / "a" / "results.jsonl").write_text('{"problem_idx": 1}\n', encoding="utf-8")
    with pytest.raises(DataError, match=r"results.jsonl, line 1: there is no problem_idx, or no number as reward"):
        read_nemo(path)
    (tmp_path / "a" / "results.jsonl").unlink()
    with pytest.raises(DataError, match=r"results\.jsonl cannot be read .*Expected a bundle"):
        read_nemo(path)
    path.unlink()
    with pytest.raises(DataError, match=r"has no eval-\*\.json"):
        bundles([tmp_path / "a"])

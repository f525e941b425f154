"""Logs of inspect_ai as runs: the numbers are those that inspect_ai printed, and the gate works on them."""

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import eyechart
from eyechart.errors import DataError
from eyechart.interchange.inspect_format import read_log
from eyechart.interchange.inspect_logs import read_inspect_log, to_number
from eyechart.results.records import Record, read_run
from tests.interchange.changed_logs import changed

FILES = Path(__file__).parent / "files" / "inspect"
Import = Callable[..., Path]


@pytest.fixture
def imported(import_files: Import) -> Import:
    """Import logs of inspect_ai, and return the folder of the run."""
    return partial(import_files, "inspect")


def only_record(folder: Path) -> Record:
    (record,) = read_run(folder).records
    return record


def printed(path: Path) -> dict[str, float | None]:
    """The accuracies and means that inspect_ai wrote into a log, by the name of the metric here."""
    results = read_log(path).results
    assert results is not None
    return {
        "_".join(filter(None, (score.name, (score.reducer or "mean").replace("mean", "")))): next(
            metric.value for name, metric in score.metrics.items() if name in ("accuracy", "mean")
        )
        for score in results.scores
    }


@pytest.mark.parametrize("name", ["before.eval", "after.eval", "epochs.json"])
def test_the_means_are_those_that_the_tool_printed(imported: Import, name: str) -> None:
    record = only_record(imported(FILES / name))
    values = {metric.name: metric.value for metric in record.metrics if metric.name != "answered"}
    assert values == {name: pytest.approx(value, abs=1e-12) for name, value in printed(FILES / name).items()}


def test_a_record_has_what_the_log_has(imported: Import) -> None:
    record = only_record(imported(FILES / "before.eval"))
    assert record.case == "shapes/shapes/mockllm/before"
    assert (record.protocol, record.model.spec, record.limit) == ("inspect_ai", "inspect_ai[mockllm/before]", None)
    assert (record.data.n, record.outcomes.correct, record.outcomes.wrong) == (120, 99, 21)
    assert record.usage is not None
    assert (record.usage.requests, record.usage.prompt_tokens, record.usage.answer_tokens) == (120, 1080, 360)
    assert record.environment["inspect_ai"] == "0.3.285"
    assert "of inspect_ai 0.3.285" in record.notes[0]
    metric = record.metrics[0]
    assert (metric.name, metric.labels, metric.n, metric.n_clusters, metric.ci_method) == (
        "choice", "target", 120, 120, "wilson",
    )  # fmt: skip


def test_the_sample_table_keeps_answers_and_further_fields(imported: Import) -> None:
    samples = eyechart.load_run(imported(FILES / "before.eval")).samples
    first = samples.iloc[0]
    assert (first["key"], first["target"], first["prediction"], first["correct"]) == ("shape-0", "A", "A", 1)
    assert (first["response"], first["kept.metadata.colour"], first["metric.choice"]) == ("ANSWER: A", "navy", "1.0")
    assert samples["key"].tolist() == [f"shape-{number}" for number in range(120)]


def test_epochs_are_repetitions_of_a_sample(imported: Import) -> None:
    folder = imported(FILES / "epochs.json")
    record, samples = only_record(folder), eyechart.load_run(folder).samples
    assert len(samples) == 36
    assert {metric.n for metric in record.metrics} == {11, 12}  # a sample ended in an error, and `answered` counts it
    assert {metric.name: metric.ci_method for metric in record.metrics} == {
        "length": "student", "correct": "wilson", "length_at_least_2": "wilson", "correct_at_least_2": "wilson",
        "grade": "student", "grade_at_least_2": "wilson", "answered": "wilson",
    }  # fmt: skip
    assert record.outcomes.error == 1
    failed = samples[samples["key"] == "shape-5"]
    assert failed["error"].tolist() == ["ValueError('the picture is damaged')"] * 3
    assert failed["correct"].isna().all()


def test_two_logs_are_compared_sample_by_sample(imported: Import) -> None:
    runs = [
        imported(FILES / f"{name}.eval", "--model=shapes", "--slice=metadata.colour") for name in ("before", "after")
    ]
    result = eyechart.compare(*runs)
    (row,) = result.verdicts.to_dict("records")
    assert (row["metric"], row["verdict"], row["test"], row["n"]) == ("choice", "regression", "exact McNemar", 120)
    assert (row["lost"], row["gained"]) == (28, 0)
    assert {*result.slices["subset"]} == {"metadata.colour=navy", "metadata.colour=gold"}
    assert result.notes == []


def test_values_count_as_inspect_counts_them() -> None:
    assert [to_number(value) for value in ("C", "I", "P", "N", True, "No", 2, "0.5")] == [1, 0, 0.5, 0, 1, 0, 2, 0.5]
    assert to_number("c") is None  # only the letters themselves


def drop_reductions(log: dict[str, Any]) -> None:
    log["results"]["scores"] = [score for score in log["results"]["scores"] if score["reducer"] == "mean"]
    del log["reductions"]


def test_without_reductions_the_epochs_of_a_sample_are_averaged(tmp_path: Path) -> None:
    case = read_inspect_log(changed(FILES / "epochs.json", tmp_path, drop_reductions))
    assert [metric.name for metric in case.metrics] == ["length", "correct", "grade"]
    assert case.notes == ()


def test_a_target_may_be_a_number_or_a_list(tmp_path: Path) -> None:
    def retarget(log: dict[str, Any]) -> None:
        log["samples"][0]["target"], log["samples"][1]["target"] = 7, ["a", "b"]

    answers = read_inspect_log(changed(FILES / "epochs.json", tmp_path, retarget)).answers
    assert {"7", "a; b"} < {answer.target for answer in answers}


def test_a_value_that_is_not_a_number_does_not_count(tmp_path: Path) -> None:
    def spoil(log: dict[str, Any]) -> None:
        samples = log["reductions"][2]["samples"]
        samples[0]["value"] = float("nan")
        values = [to_number(sample["value"]) or 0.0 for sample in samples[1:]]
        metrics = log["results"]["scores"][4]["metrics"]
        next(metrics[name] for name in ("accuracy", "mean") if name in metrics)["value"] = sum(values) / len(values)

    case = read_inspect_log(changed(FILES / "epochs.json", tmp_path, spoil))
    grade = next(metric for metric in case.metrics if metric.name == "grade")
    assert len(grade.values) == 10


def test_a_metric_whose_mean_is_not_the_printed_number_is_left_out(tmp_path: Path) -> None:
    def spoil(log: dict[str, Any]) -> None:
        log["results"]["scores"][0]["metrics"]["mean"]["value"] = 3.0

    case = read_inspect_log(changed(FILES / "epochs.json", tmp_path, spoil))
    assert "length" not in [metric.name for metric in case.metrics]
    assert case.notes == ("length is left out: the tool printed 3, the mean of its samples is 9.90909",)


def test_a_metric_that_the_tool_printed_no_mean_of_is_left_out(tmp_path: Path) -> None:
    def spoil(log: dict[str, Any]) -> None:
        metrics = log["results"]["scores"][0]["metrics"]
        metrics["macro_f1"] = metrics.pop("mean") | {"name": "macro_f1"}

    case = read_inspect_log(changed(FILES / "epochs.json", tmp_path, spoil))
    assert "length" not in [metric.name for metric in case.metrics]
    assert case.notes[-1] == "length is left out: the tool printed neither its accuracy nor its mean"


def test_keys_and_logins_are_no_settings(imported: Import, tmp_path: Path) -> None:
    def tell(log: dict[str, Any]) -> None:
        log["eval"]["model_args"] = {
            "base_url": "https://u:pw@host/v1",
            "default_headers": {"Authorization": "Bearer sk-1", "x-api-key": "sk-2", "n": 1},
            "aws_access_key_id": "AKIA",
            "max_tokens": 5,
        }
        log["eval"]["task_args"] = {"cfg": "secret_key=s1,credentials=s2,shots=3"}

    (record,) = read_run(imported(changed(FILES / "epochs.json", tmp_path, tell))).records
    settings = " ".join(record.variant.values())
    assert not re.search("pw@|sk-|AKIA|s1|s2", settings)
    assert {"https://…@host/v1", "5"} < {*record.variant.values()}
    assert "shots=3" in settings


def test_a_field_whose_name_has_a_comma_is_read_back(imported: Import, tmp_path: Path) -> None:
    def name(log: dict[str, Any]) -> None:
        for sample in log["samples"]:
            sample["metadata"] = {"size, cm": "3"}

    samples = eyechart.load_run(imported(changed(FILES / "epochs.json", tmp_path, name))).samples
    assert {*samples["kept.metadata.size, cm"]} == {"3"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda log: log.pop("samples"), "has no samples; its status is 'success'. Expected a finished evaluation"),
        (lambda log: log.pop("results"), "has no results; its status is 'success'"),
        (lambda log: log.update(version=3), "has version 3 of the log format. Expected version 2"),
        (lambda log: log["samples"].append(log["samples"][0]), "two answers to the sample 'shape-0' in epoch 0"),
        (lambda log: log["samples"][0].pop("id"), "missing required field `id`"),
        (
            lambda log: log["reductions"].clear() or [s.pop("scores") for s in log["samples"]],
            "has no metric with a number",
        ),
    ],
)
def test_a_log_that_cannot_be_used_is_refused_with_a_sentence(tmp_path: Path, change: Any, message: str) -> None:
    path = changed(FILES / "epochs.json", tmp_path, change)
    with pytest.raises(DataError, match=message) as error:
        read_inspect_log(path)
    assert str(path) in str(error.value)

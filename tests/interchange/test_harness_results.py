"""Results of lm-evaluation-harness as runs: the numbers are those that it printed, filter by filter."""

import json
from collections.abc import Callable
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

import eyechart
from eyechart.errors import DataError
from eyechart.interchange.harness_results import LM_EVAL, read_harness
from eyechart.results.records import read_run

FILES = Path(__file__).parent / "files" / "lm_eval"
Change = Callable[[list[dict[str, Any]], dict[str, Any]], object]


def results_file(folder: Path) -> Path:
    (path,) = folder.glob("results_*.json")
    return path


def samples_file(folder: Path, name: str = "shapes") -> Path:
    (path,) = folder.glob(f"samples_{name}_2*.jsonl")
    return path


@pytest.fixture
def changed(tmp_path: Path) -> Callable[[Change], Path]:
    """Copy the files of a model, change lines and results, and return the file of samples."""

    def changed(change: Change) -> Path:
        folder = copytree(FILES / "after", tmp_path / "after")
        samples, beside = samples_file(folder), results_file(folder)
        lines = [json.loads(line) for line in samples.read_text(encoding="utf-8").splitlines()]
        results = json.loads(beside.read_bytes())
        change(lines, results)
        samples.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
        beside.write_text(json.dumps(results), encoding="utf-8")
        return samples

    return changed


@pytest.mark.parametrize("model", ["before", "after"])
def test_the_means_are_those_that_the_tool_printed(import_files: Any, model: str) -> None:
    path = results_file(FILES / model)
    found = {
        (record.benchmark, metric.name): metric.value
        for record in read_run(import_files("lm-eval", path)).records
        for metric in record.metrics
        if metric.name != "answered"
    }
    printed = {
        (task, key.removesuffix(",none").replace(",", "_")): pytest.approx(value, abs=1e-12)
        for task, numbers in json.loads(path.read_bytes())["results"].items()
        for key, value in numbers.items()
        if "," in key and "stderr" not in key
    }
    assert found == printed
    assert len(found) == {"before": 4, "after": 2}[model]


def test_a_record_has_what_the_files_have(import_record: Any) -> None:
    record = import_record("lm-eval", samples_file(FILES / "before", "shapes_words"))
    assert record.case == "shapes_words/test/before"
    assert (record.protocol, record.environment["lm_eval"]) == ("lm_eval", "0.4.13")
    assert (record.data.n, record.outcomes.correct, record.limit) == (120, 71, None)
    assert record.variant["output_type"] == "generate_until"
    assert record.variant["version"] == "2.0"


def test_the_sample_table_has_choices_texts_and_documents(import_files: Any) -> None:
    samples = eyechart.load_run(import_files("lm-eval", results_file(FILES / "before"))).samples
    choice, words = (samples[samples["benchmark"] == name].iloc[0] for name in ("shapes", "shapes_words"))
    assert (choice["target"], choice["prediction"], choice["response"], choice["correct"]) == ("0", "0", "triangle", 1)
    assert (words["target"], words["prediction"], words["correct"]) == ("triangle", "It is a circle.", 0)
    assert (words["kept.filter.last"], words["kept.doc.sides"]) == ("circle", "3")


def test_two_runs_are_compared_sample_by_sample(import_files: Any) -> None:
    runs = [import_files("lm-eval", samples_file(FILES / name), "--model=m") for name in ("before", "after")]
    result = eyechart.compare(*runs)
    assert {*result.verdicts["metric"]} == {"acc", "acc_norm"}
    assert {*result.verdicts["verdict"]} == {"regression"}
    assert {*result.verdicts["lost"]} == {23}
    assert result.notes == []


def test_a_part_of_the_documents_is_compared_with_all(import_files: Any, changed: Any) -> None:
    def limit(lines: list[dict[str, Any]], results: dict[str, Any]) -> None:
        del lines[60:]
        results["n-samples"]["shapes"]["effective"] = 60
        for name in ("acc", "acc_norm"):
            results["results"]["shapes"][f"{name},none"] = sum(line[name] for line in lines) / 60

    whole = import_files("lm-eval", samples_file(FILES / "before"), "--model=m")
    part = import_files("lm-eval", changed(limit), "--model=m")
    assert read_run(part).records[0].limit == 60
    assert {*eyechart.compare(whole, part).verdicts["n"]} == {60}


def test_a_run_with_partial_credit_is_compared_with_one_without(import_files: Any, changed: Any) -> None:
    def credit(lines: list[dict[str, Any]], results: dict[str, Any]) -> None:
        lines[0]["acc"] = 0.5
        results["results"]["shapes"]["acc,none"] = sum(line["acc"] for line in lines) / len(lines)

    whole = import_files("lm-eval", samples_file(FILES / "before"), "--model=m")
    verdicts = eyechart.compare(whole, import_files("lm-eval", changed(credit), "--model=m")).verdicts
    assert dict(zip(verdicts["metric"], verdicts["test"], strict=True)) == {
        "acc": "paired bootstrap", "acc_norm": "exact McNemar",
    }  # fmt: skip
    assert {*verdicts["verdict"]} == {"regression"}


def test_questions_about_one_image_are_one_cluster(import_record: Any, changed: Any) -> None:
    def give_images(lines: list[dict[str, Any]], results: dict[str, Any]) -> None:
        for line in lines:
            line["doc"]["image_id"] = line["doc_id"] // 3

    metric = import_record("lm-eval", changed(give_images)).metrics[0]
    assert (metric.n, metric.n_clusters, metric.ci_method) == (120, 40, "clustered wilson")


def test_other_metrics_than_means_are_left_out_with_a_note(changed: Any) -> None:
    def add_f1(lines: list[dict[str, Any]], results: dict[str, Any]) -> None:
        results["results"]["shapes"] |= {"f1,none": 0.5, "perplexity,none": 2.0}
        for line in lines:
            line |= {"f1": [0, 1], "perplexity": -1.0, "length": 7}

    (case,) = read_harness(LM_EVAL, [changed(add_f1)])
    assert [metric.name for metric in case.metrics] == ["acc", "acc_norm"]
    assert case.notes == (
        "f1 is left out: it has no number for each sample",
        "perplexity is left out: the tool printed 2, the mean of its samples is -1",
    )
    assert case.answers[0].kept["length"] == "7"  # no metric of the results


def test_the_direction_is_that_of_the_tool(import_record: Any, changed: Any) -> None:
    path = changed(lambda lines, results: results["higher_is_better"]["shapes"].update(acc_norm=False))
    metrics = {metric.name: metric.higher_is_better for metric in import_record("lm-eval", path).metrics}
    assert metrics == {"acc": True, "acc_norm": False, "answered": True}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda lines, results: lines[3].pop("doc_id"), r"line 4: there is no field doc_id\. Expected the files"),
        (lambda lines, results: results["results"].clear(), r"has results of no task\. Expected 'shapes'"),
        (lambda lines, results: lines.clear(), "has no samples"),
        (lambda lines, results: [line.pop("acc") or line.pop("acc_norm") for line in lines], "has no metric with a"),
    ],
)
def test_files_that_cannot_be_used_are_refused_with_a_sentence(changed: Any, change: Change, message: str) -> None:
    with pytest.raises(DataError, match=message):
        list(read_harness(LM_EVAL, [changed(change)]))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    folder = copytree(FILES / "after", tmp_path / "after")
    samples_file(folder).rename(kept := tmp_path / samples_file(folder).name)
    with pytest.raises(DataError, match=r"has no samples_\*_.* beside it.* with --log_samples"):
        list(read_harness(LM_EVAL, [results_file(folder)]))
    with pytest.raises(DataError, match=r"results_.*json cannot be read \(No such file"):
        list(read_harness(LM_EVAL, [kept]))
    with pytest.raises(DataError, match=r"other\.jsonl is no name of a file of lm_eval"):
        list(read_harness(LM_EVAL, [tmp_path / "other.jsonl"]))


def test_keys_of_servers_are_not_recorded(changed: Any) -> None:
    path = changed(lambda lines, results: results["config"].update(model_args={"model": "m", "api_key": "sk-1"}))
    (case,) = read_harness(LM_EVAL, [path])
    assert {name: text for name, text in case.settings.items() if name.startswith("model_args")} == {
        "model_args.model": "m"
    }


def test_the_address_of_an_image_in_memory_is_not_its_content(import_files: Any, changed: Any, tmp_path: Path) -> None:
    """lm-eval writes an image as the text of a Python object, whose address is another one in each process."""

    def give_images(address: int) -> Change:
        def change(lines: list[dict[str, Any]], results: dict[str, Any]) -> None:
            for line in lines:
                line["doc"]["image"] = f"<PIL.PngImagePlugin.PngImageFile image mode=RGB size=8x8 at {address:#x}>"

        return change

    first = import_files("lm-eval", changed(give_images(0x7F0000)), "--model=m")
    (tmp_path / "after").rename(tmp_path / "first")
    verdicts = eyechart.compare(first, import_files("lm-eval", changed(give_images(0x7F1230)), "--model=m")).verdicts
    assert {*verdicts["n"]} == {120}
    record = read_run(first).records[0]
    assert record.metrics[0].n_clusters == record.metrics[0].n == 120


def test_a_printed_text_is_no_number(changed: Any) -> None:
    path = changed(lambda lines, results: results["results"]["shapes"].update({"acc_norm,none": None}))
    (case,) = read_harness(LM_EVAL, [path])
    assert [metric.name for metric in case.metrics] == ["acc"]
    assert case.notes == ("acc_norm is left out: the tool printed no number for it",)


def test_a_file_of_samples_that_was_cut_is_refused(changed: Callable[[Change], Path]) -> None:
    def cut(lines: list[dict[str, Any]], results: dict[str, Any]) -> None:
        del lines[60:]

    with pytest.raises(DataError, match=r"^60 of 120 samples are in the file \S+ Expected all that the tool asked"):
        list(read_harness(LM_EVAL, [changed(cut)]))

"""Birds put to one model through vLLM are answered and scored as through transformers; the paper's tables follow."""

import csv
from io import StringIO
from itertools import zip_longest
from typing import Any

import pytest

pytestmark = pytest.mark.deep

HF, VLLM = "hf[toybox-mllm]", "vllm[toybox-mllm]"
IN_WORDS, BY_NUMBER = ("abstention", "free_form"), ("flat_list", "species")
IMAGES = 6
TABLES = ("T2", "T3", "T4", "T5")
FIGURES = tuple(f"F{number}" for number in (*range(3, 12), *range(16, 20)))
OVER_MODELS = ("T5", "F3", "F6")  # no model stands in these
Rows = list[dict[str, str]]


def number(text: str) -> float | str:
    """A cell as a number if it is one."""
    try:
        return float(text)
    except ValueError:
        return text


def assert_alike(found: Rows, expected: Rows, within: float) -> None:
    """The same rows, and the same numbers but for rounding."""
    cells = [[(name, number(text)) for row in rows for name, text in row.items()] for rows in (found, expected)]
    for (name, one), (_, other) in zip_longest(*cells, fillvalue=("", "")):
        assert one == (pytest.approx(other, abs=within, nan_ok=True) if isinstance(other, float) else other), name


def named(record: dict[str, Any]) -> list[tuple[Any, ...]]:
    return [
        tuple(each[fact] for fact in ("name", "labels", "subset", "level", "prompt", "n", "ci_method"))
        for each in record["metrics"]
    ]


def numbers(record: dict[str, Any]) -> list[float | None]:
    return [number for each in record["metrics"] for number in (each["value"], *(each["ci"] or ()))]


def test_each_engine_is_asked_in_every_way(engine_runs: Any) -> None:
    met = {each for each, record in engine_runs.records.items() if record["split"] == "sample-drawn"}
    assert met == {(model, protocol) for model in (HF, VLLM) for protocol in (*IN_WORDS, *BY_NUMBER)}


@pytest.mark.parametrize("protocol", IN_WORDS)
def test_they_say_the_same_words_and_are_understood_alike(engine_runs: Any, protocol: str) -> None:
    said = engine_runs.rows(HF, protocol)
    assert engine_runs.rows(VLLM, protocol) == said
    assert len({row["response"] for row in said}) > 3
    assert len({row["stated_reason" if protocol == "abstention" else "prediction"] for row in said}) > 1


@pytest.mark.parametrize("protocol", BY_NUMBER)
def test_they_are_as_sure_of_the_same_names(engine_runs: Any, protocol: str) -> None:
    rows = engine_runs.rows(HF, protocol)
    assert_alike(engine_runs.rows(VLLM, protocol), rows, within=1e-4)  # as log-probabilities are
    assert len(rows) == IMAGES


def test_they_draw_the_same_curves(engine_runs: Any) -> None:
    curves = {(row["labels"], row["curve"]) for row in engine_runs.rows(HF, "species", "curves")}
    assert {labels for labels, _ in curves} == {"all species", "eligible", "range"}
    assert_alike(engine_runs.rows(VLLM, "species", "curves"), engine_runs.rows(HF, "species", "curves"), within=1e-4)


@pytest.mark.parametrize("protocol", [*IN_WORDS, *BY_NUMBER])
def test_the_records_have_the_same_numbers(engine_runs: Any, protocol: str) -> None:
    hf, vllm = (engine_runs.records[model, protocol] for model in (HF, VLLM))
    for same in ("outcomes", "data", "variant"):
        assert vllm[same] == hf[same]
    assert vllm["outcomes"]["error"] == 0
    assert named(vllm) == named(hf)
    assert numbers(vllm) == pytest.approx(numbers(hf), abs=1e-4)
    assert vllm["model"]["weights_sha256"] == hf["model"]["weights_sha256"]


@pytest.mark.parametrize("protocol", IN_WORDS)
def test_they_read_and_said_as_many_tokens(engine_runs: Any, protocol: str) -> None:
    hf, vllm = (engine_runs.records[model, protocol]["usage"] for model in (HF, VLLM))
    for same in ("requests", "prompt_tokens", "answer_tokens"):
        assert vllm[same] == hf[same] > 0
    assert vllm["cached_tokens"] > hf["cached_tokens"] == 0


def test_every_wording_was_put_to_every_unanswerable_bird(engine_runs: Any) -> None:
    birds = [row["key"] for row in engine_runs.rows(HF, "species") if row["subset"] == "unanswerable"]
    asked = [(row["prompt"], row["key"]) for row in engine_runs.rows(HF, "abstention")]
    prompts = [f"{level}/{index:02}" for level in ("naive", "unanswerable", "refuse") for index in (1, 2)]
    assert sorted(asked) == sorted((prompt, bird) for prompt in prompts for bird in birds)


@pytest.mark.parametrize("name", [f"realbirdid-{name}" for name in (*TABLES, *FIGURES)])
def test_every_table_has_the_same_numbers_for_both(engine_runs: Any, name: str) -> None:
    rows = list(csv.DictReader(StringIO(engine_runs.report("table", name, "--format", "csv"))))
    hf, vllm = ([{**row, "Model": ""} for row in rows if row.get("Model") == model] for model in (HF, VLLM))
    assert_alike(vllm, hf, within=0.011)  # what was rounded may be off by one at its end
    assert bool(hf) != (name.partition("-")[2] in OVER_MODELS)
    assert rows

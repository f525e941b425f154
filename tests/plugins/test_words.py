"""Language models through the whole command: nothing is asked twice, and records are the same however a run went."""

import csv
import json
from collections.abc import Callable
from importlib.resources import files
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer

from eyechart.data.dataset.dataset import original_name
from eyechart.data.labels.class_names import load_class_names
from eyechart.inference.store.entries import scan_blocks
from eyechart.reports.runs import load
from eyechart.reports.tables.registry import tables

pytestmark = pytest.mark.deep

MODELS = ("hf[toybox-mllm]", "hf[toybox-mllm,batch_size=5]")
CUTOUTS = ("-k", "toybox/sample-cutouts/ and (mcq or closed_world) and not plus", "--eye-limit=12")
EVERYTHING = "(imagenet/ or toybox/sample-cutouts/) and (mcq or closed_world or open_world or multiple_choice)"


def put(world: Any, *arguments: str, models: tuple[str, ...] = MODELS) -> pytest.RunResult:
    """Put the packaged pictures to a packaged model, or to one that is the same but for its batches."""
    chosen = [f"--eye-model={model}" for model in models]
    result: pytest.RunResult = world.call("--pyargs", "eyechart.benchmarks", "--eye-offline", *chosen, *arguments)
    return result


def passes(world: Any, *arguments: str, **how: Any) -> pytest.RunResult:
    result = put(world, *arguments, **how)
    assert result.ret == 0, result.stdout.str() + result.stderr.str()
    return result


def replies(world: Any) -> dict[str, bytes | list[bytes]]:
    """Every kept reply; how many tokens a cache held is no part of it."""
    kept = {path: content for path, content in world.store.items() if not path.endswith("usage.jsonl")}
    return {path: said(content) if path.endswith(".part") else content for path, content in kept.items()}


def said(part: bytes) -> list[bytes]:
    return [reply for _, reply in scan_blocks(BytesIO(part))]


@pytest.fixture(scope="module")
def spoken(new_world: Callable[[], Any]) -> Any:
    """A world after one serial run."""
    world = new_world()
    passes(world, *CUTOUTS)
    return world


def test_a_second_run_reads_no_weights(spoken: Any, new_world: Callable[[], Any]) -> None:
    records, kept = spoken.records, spoken.store
    assert spoken.session["run"]["loads"] == 1  # the size of batches is no part of a question
    passes(spoken, *CUTOUTS)
    assert spoken.session["run"]["loads"] == 0
    assert (spoken.records, spoken.store) == (records, kept)


def test_two_workers_give_the_records_of_one(spoken: Any, world: Any) -> None:
    passes(world, *CUTOUTS, "-n2")
    assert world.records == spoken.records
    assert replies(world) == replies(spoken)


def test_every_line_of_a_case_adds_up_to_its_record(spoken: Any) -> None:
    for record in spoken.records:
        with (spoken.latest / record["predictions"]["path"]).open(newline="") as file:
            rows = list(csv.DictReader(file))
        assert len(rows) == 12
        right = [int(row["original.correct"]) for row in rows if row["original.correct"]]
        assert numbers(record)["acc1", "original", "all"] == (sum(right) / len(right), len(right))
        assert {row["request"] for row in rows} == {str(number) for number in range(12)}


def numbers(record: dict[str, Any]) -> dict[tuple[str, str, str], tuple[float, int]]:
    return {(each["name"], each["labels"], each["subset"]): (each["value"], each["n"]) for each in record["metrics"]}


@pytest.fixture(scope="module")
def everything(new_world: Callable[[], Any]) -> Any:
    """A world after a run of all protocols that answer in words, on packaged splits of both benchmarks."""
    world = new_world()
    passes(world, "-k", EVERYTHING, "--eye-limit=1", "--eye-set=multiple_choice.epochs=2", models=MODELS[:1])
    return world


def test_every_protocol_runs_on_both_benchmarks(everything: Any) -> None:
    met = {(record["benchmark"], record["protocol"]) for record in everything.records}
    assert len(met) == 2 * 5
    assert not any(record["outcomes"]["error"] for record in everything.records)


def test_settings_of_multiple_choice_are_published_names_of_imagenet_alone(everything: Any) -> None:
    made = tables("multiple-choice", load([everything.latest]))
    names = made[0].columns.index("Distractors")
    shown = {(table.title.partition("/")[0], row[names]) for table in made for row in table.rows}
    assert shown == {
        ("imagenet", "ImGT + random"), ("imagenet", "ImGT + 999 (CW)"), ("toybox", "original+random"),
        ("toybox", "all classes (CW)"),
    }  # fmt: skip


def test_every_record_says_what_was_asked_and_how_sure_it_is(everything: Any) -> None:
    for record in everything.records:
        assert {"prompt", "parser_version", "names", "parser"} <= {*record["variant"]}
        assert all(record["variant"].values())
        headline = "mc_acc" if record["protocol"] == "multiple_choice" else "acc1"
        (first, *_) = (metric for metric in record["metrics"] if metric["labels"] == "multilabel")
        assert (first["name"], first["subset"], first["n"]) == (headline, "all", 1)
        assert first["ci"][0] <= first["value"] <= first["ci"][1]
        assert record["usage"]["prompt_tokens"] > record["usage"]["answer_tokens"] > 0


def test_all_names_of_imagenet_stand_in_its_prompt(everything: Any) -> None:
    served = {(each["benchmark"], each["protocol"]): each["usage"]["prompt_tokens"] for each in everything.records}
    tokenizer = Tokenizer.from_file(str(files("eyechart.samples") / "toybox-mllm" / "tokenizer.json"))
    tokens = len(tokenizer.encode("\n".join(load_class_names("mill").names)).ids)
    assert tokens > 2000
    assert served["imagenet", "closed_world"] > tokens > 8 * served["imagenet", "open_world"]


def test_records_are_plain_json(everything: Any) -> None:
    folder: Path = everything.latest
    lines = [json.loads(line) for line in (folder / "records.jsonl").read_text().splitlines()]
    assert len(lines) == len(everything.session["records"])
    assert not any("NaN" in line for line in (folder / "records.jsonl").read_text().splitlines())


def test_the_same_answers_make_cw_plus(everything: Any) -> None:
    found = {(record["split"], record["benchmark"], record["protocol"]): record for record in everything.records}
    for split in {key[:2] for key in found}:
        plain, plus = (found[*split, name] for name in ("closed_world", "closed_world_plus"))
        assert plain["usage"] == plus["usage"]
        labels = original_name(split[1])
        share, n = numbers(plain)["oop", labels, "all"]
        _, outside = numbers(plus).get(("oop_mapped", labels, "all"), (None, 0))  # a number of no answers is left out
        assert (n, outside) == (1, round(share * n))

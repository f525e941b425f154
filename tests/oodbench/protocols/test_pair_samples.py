"""The sample tables of protocols about pairs: the shared columns, and what is right in them."""

from dataclasses import replace
from typing import Any

from eyechart.models.types import Answer
from eyechart.protocol.registry import get_protocol

REFUSED = Answer("", (), False, error="refused")
HARD = {(0, 0), (1, 1), (2, 3), (3, 0), (3, 2), (5, 0)}


def say(kind: str, row: int, *_: Any) -> Any:
    return {0: "Hm.", 1: REFUSED, 2: "No."}.get(row)


def test_questions_have_the_shared_columns(pair_world: Any, sample_table: Any) -> None:
    table = sample_table("existence", get_protocol("existence").predict(pair_world.sit(pair_world.talker(say))))
    assert {row["target"] for row in table} == {"yes", "no"}
    assert {row["prediction"] for row in table} == {"yes", "no", ""}
    assert {row["subset"] for row in table} == {"ID", "OOD-S", "OOD-H"}
    assert all(row["correct"] == str(int(row["prediction"] == row["target"])) for row in table if not row["error"])


def test_the_questions_of_a_sample_have_them(pair_world: Any, sample_table: Any) -> None:
    pair_world.failed = {"first[]": {(5, 0), (5, 4)}}
    predictions = get_protocol("progression").predict(pair_world.sit(pair_world.talker(say), "progression"))
    table = sample_table("progression", predictions)
    assert len(table) == 3 * len(predictions.first)
    measures = predictions.correct[~predictions.missing].sum(axis=0).tolist()
    for question, right in zip(("existence", "counting", "logic"), measures, strict=True):
        assert sum(row["correct"] == "1" for row in table if row["question"] == question) == right
    assert {row["target"] for row in table if row["question"] == "counting"} <= {*map(str, range(10))}


def test_pairs_of_a_detector_have_them(pair_world: Any, sample_table: Any) -> None:
    dataset = replace(pair_world.dataset(broken=frozenset({0})))
    context = pair_world.sit(pair_world.get_model("first[]"), "detection", dataset=dataset)
    table = sample_table("detection", get_protocol("detection").predict(context))
    assert {(row["target"], row["prediction"], row["correct"], bool(row["error"])) for row in table} == {
        ("detected", "detected", "1", False),
        ("detected", "missed", "0", False),
        ("detected", "", "", True),
    }


def test_compared_pairs_have_them_and_no_answer(pair_world: Any, detectors: Any, sample_table: Any) -> None:
    pair_world.failed = {"first[]": HARD, "second[]": HARD}
    model = detectors["encoder"]("eye", pair_world.logits("second[]"), pair_world.names)
    here, there = (replace(pair_world.dataset(), rows=rows) for rows in ((0, 2, 3, 5), (3, 1, 0)))
    context = pair_world.sit(model, "distribution", dataset=here, reference="oodbench/there", seed=3)
    predictions = get_protocol("distribution").predict(replace(context, open_split=lambda *_: there))
    table = sample_table("distribution", predictions)
    assert {row["side"] for row in table} == {"split", "reference"}
    assert {(row["target"], row["prediction"], row["correct"], row["error"]) for row in table} == {("", "", "", "")}
    assert {row["subset"] for row in table} <= {"OOD-S", "OOD-H"}

"""The sample tables of birds in words: the shared columns, and what is right in them."""

from collections.abc import Callable
from typing import Any

import pytest

from eyechart.models.types import Answer
from eyechart.protocol.registry import get_protocol

FAILED = Answer("", (), False, error="content filter")
NAMES = ["Corvus corax", "A Corvus?", FAILED, "Unknown", "Turdus merula", "hm", "Corvus", ""]


@pytest.fixture
def predict(asked_birds: Any, talker: Any) -> Callable[..., Any]:
    """The predictions of a model that says the same of a bird under every prompt."""

    def predict(protocol: str, **more: Any) -> Any:
        context = asked_birds(talker(lambda shown, _: NAMES[shown[0]]), protocol, extraction="inclusion", **more)
        return get_protocol(protocol).predict(context)

    return predict


def test_free_form_has_the_shared_columns(predict: Any, sample_table: Any) -> None:
    predictions = predict("free_form")
    table = sample_table("free_form", predictions)
    assert [row["target"] for row in table] == [row["species"] or row["genus"] for row in table]
    assert [row["subset"] for row in table] == ["answerable" if row["species"] else "unanswerable" for row in table]
    assert [row["error"] for row in table if row["error"]] == ["content filter"]
    assert {row["prediction"] for row in table} == {"Corvus corax", "Corvus", "Turdus merula", "cannot tell", ""}


def test_abstention_has_them_and_counts_what_a_model_should_do(predict: Any, sample_table: Any) -> None:
    table = sample_table("abstention", predict("abstention", abstention_images="all"))
    assert {(row["subset"], row["target"]) for row in table} == {("answerable", "answer"), ("unanswerable", "abstain")}
    assert {row["prediction"] for row in table} == {"answer", "abstain", ""}
    for row in table:
        assert row["correct"] == ("" if row["error"] else str(int(row["prediction"] == row["target"])))
        assert row["prompt"].startswith(f"{row['prompt_level']}/")

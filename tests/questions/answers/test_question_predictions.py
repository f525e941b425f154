"""What a record and its samples hold of answers in several orders, of errors, of truncated ones and of odd options."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eyechart.errors import ToleranceError
from eyechart.models.types import Answer
from tests.questions.asked import PLAIN, ROW, record_of, say_blue, values

Shop = Callable[..., Path]


def test_a_choice_is_right_in_every_rotation_or_wrong(shop: Shop, ask: Any, talker: Any) -> None:
    folder = shop([ROW, {**PLAIN, "id": "b"}])
    always = talker(lambda numbers, text: "B" if ")" in text else "tea")
    run = ask(always, folder, options={"circular": "true"}, name="m")
    assert len(always.asked) == 4
    assert values(run)["question_acc", "all"] == 0.5
    assert values(run)["first_order_acc", "all"] == 1.0
    assert run.samples.order.tolist() == ["0", "1", "2", "0"]
    assert run.samples.options.tolist() == ["red;blue;grey", "blue;grey;red", "grey;red;blue", ""]
    assert run.samples.correct.tolist() == [1, 0, 0, 1]
    assert "@circular=true" in record_of(run)["case"]
    clever = ask(
        talker(lambda *said: say_blue(*said) if ")" in said[1] else "tea"), folder, options={"circular": "true"}
    )
    assert values(clever)["question_acc", "all"] == 1.0


def test_an_error_and_a_truncated_answer_are_counted_apart(shop: Shop, ask: Any, talker: Any) -> None:
    said = {
        1: Answer("", (), True, "refused"),
        2: Answer("B, because the thing in the", (1,), False),
        3: Answer("B\nSo", (1,), False),
    }
    rows = [{**ROW, "id": str(number), "image": f"{number}.png"} for number in said]
    run = ask(talker(lambda numbers, text: said[numbers[0]]), shop(rows), max_errors=1)
    counts = record_of(run)["outcomes"]
    assert (counts["error"], counts["truncated"], counts["correct"]) == (1, 1, 1)
    assert values(run)["question_acc", "all"] == 0.5
    with pytest.raises(ToleranceError, match="1: refused"):
        ask(talker(lambda numbers, text: said[numbers[0]]), shop(rows))


def test_an_option_is_asked_as_it_is_written(shop: Shop, ask: Any, talker: Any) -> None:
    model = talker(lambda numbers, text: "B")
    run = ask(model, shop([{**ROW, "A": "red; or pink"}]))
    assert "A) red; or pink\nB) blue" in model.asked[0][1]
    assert run.samples.options.tolist() == ["red, or pink;blue;grey"]

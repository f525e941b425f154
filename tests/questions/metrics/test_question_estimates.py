"""The accuracy of answers to questions, and their mean credit where they may be right in part."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.questions.asked import PLAIN, values

Shop = Callable[..., Path]


def test_answers_that_are_right_in_part_have_a_mean_credit(shop: Shop, ask: Any, talker: Any) -> None:
    rows = [{**PLAIN, "answer": "milk;tea", "kind": "list"}, {**PLAIN, "id": "b", "image": "2.png", "answer": "tea"}]
    run = ask(talker(lambda numbers, text: "tea"), shop(rows), options={"kind": "exact"})
    assert run.metrics.metric.tolist()[0] == "credit"
    assert values(run)["credit", "all"] == pytest.approx((2 / 3 + 1) / 2)
    assert values(run)["question_acc", "all"] == 0.5
    assert run.samples.credit.astype(float).tolist() == pytest.approx([2 / 3, 1])

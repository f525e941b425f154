"""A budget stops a case in its middle, with a sentence; more of it pays for the rest and for nothing else."""

from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.deep

PICTURES = 18
PRICES = {"price_in": 2, "price_cached": 1, "price_out": 8}
MOST, MORE = 0.0058, 0.02  # USD: about as much as nine pictures take, and more than eighteen


@pytest.fixture(scope="module")
def spent(new_exam: Callable[..., Any]) -> Any:
    """After a run that spent its budget, and the same command again."""
    exam = new_exam(**PRICES, budget=MOST)
    exam.said = exam.run().stdout.str()
    exam.first, exam.tokens = exam.fresh, exam.server.tokens
    exam.again = exam.run().stdout.str()
    return exam


def cost(tokens: tuple[int, int, int]) -> float:
    read, cached, said = tokens
    return (PRICES["price_in"] * (read - cached) + PRICES["price_cached"] * cached + PRICES["price_out"] * said) / 1e6


def test_a_budget_ends_a_case_in_its_middle_and_is_not_overdrawn(spent: Any) -> None:
    assert 6 <= len(spent.first) <= 10
    assert 0.7 * MOST < cost(spent.tokens) <= MOST


def test_a_spent_budget_is_told_in_a_sentence(spent: Any) -> None:
    for said in (spent.said, spent.again):
        (told,) = (line for line in said.splitlines() if line.startswith("The budget is used up"))
        assert "of 0.0058 USD" in told
        assert told.endswith("raise the budget, and run again: only what is missing is asked.")


def test_the_same_command_spends_no_more(spent: Any) -> None:
    assert spent.fresh == {}


def test_a_larger_budget_pays_for_the_rest_alone(spent: Any) -> None:
    spent.options["budget"] = MORE
    spent.passes()
    assert [*spent.paid.values()] == [1] * PICTURES
    assert len(spent.fresh) == PICTURES - len(spent.first)


def test_in_the_end_the_record_has_all_that_was_paid(spent: Any) -> None:
    served = spent.record["usage"]
    assert (served["prompt_tokens"], served["cached_tokens"], served["answer_tokens"]) == spent.server.tokens
    assert served["cost"] == pytest.approx(cost(spent.server.tokens))

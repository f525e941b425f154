"""The digest of a set of questions, and the orders of the options of one."""

from collections.abc import Callable
from pathlib import Path

from eyechart.questions.data.question_set import find_questions, option_orders, reorder
from tests.questions.colour_question import OPTIONS, question
from tests.questions.shelf import ROW, opened

Shop = Callable[..., Path]


def test_the_same_answers_have_the_same_hash_in_another_folder(shop: Shop, tmp_path: Path) -> None:
    here, there = shop([ROW]), shop([ROW], "jsonl", tmp_path / "more/myshop/shelf")
    first, second = (find_questions(opened(folder)) for folder in (here, there))
    assert first.sha256 == second.sha256
    assert opened(here).fingerprint == opened(there).fingerprint
    assert find_questions(opened(shop([{**ROW, "answer": "A"}]))).sha256 != first.sha256


def test_rotations_show_each_option_once_at_each_letter() -> None:
    asked = question(right=(1,))
    shown = [reorder(asked, order) for order in option_orders(asked, "none", circular=True)]
    assert [one.options[0] for one in shown] == [*OPTIONS]
    assert all(one.options[one.right[0]] == "blue" for one in shown)
    assert option_orders(question("red"), "none", circular=True) == [()]


def test_a_seed_shuffles_each_question_alike_every_time() -> None:
    asked = question(right=(1,))
    first, again, other = (option_orders(asked, seed, circular=False) for seed in ("1", "1", "2"))
    assert first == again
    assert {tuple(sorted(*first)), tuple(sorted(*other))} == {(0, 1, 2, 3)}
    assert len({option_orders(asked, str(seed), circular=False)[0] for seed in range(50)}) > 10

"""Answers that say that there is no image are told from all others of the corpus, however they are written."""

from typing import Any

import pytest

from eyechart.parsers.no_image import says_no_image
from tests.parsers.hard_answers import ROWS

ABSENT = ("there is no image", "the answer says that there is no image")


def is_judged_absent(row: dict[str, Any]) -> bool:
    """Return whether a person read in an answer that there is no image."""
    return row["why"].startswith(ABSENT) and row["lenient"] is None


def test_of_the_corpus_those_say_so_that_a_person_judged_so() -> None:
    rows = [row for row in ROWS if "times" not in row and row["why"] != "a refusal"]  # of these, some say so
    wrong = [row["answer"] for row in rows if says_no_image(row["answer"]) != is_judged_absent(row)]
    assert wrong == []
    assert sum(map(is_judged_absent, rows)) > 100


@pytest.mark.parametrize(
    ("answer", "absent"),
    [
        ("**NO IMAGE WAS PROVIDED.**", True),
        ("<think>Is there an image? Yes.</think> I don’t see any image attached.", True),
        ("<think>I don't see any image attached. Ah, there it is.</think> No dog.", False),
        ("", False),
    ],
)
def test_markup_capitals_and_thinking_do_not_count(answer: str, absent: bool) -> None:
    assert says_no_image(answer) is absent

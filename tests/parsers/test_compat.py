"""The published scorers, with their defects: Mill's letters below were given by Mill's own code."""

import pytest

from eyechart.parsers import letter, yes_no
from eyechart.parsers.compat import parse_authors_name, parse_authors_yes_no, parse_first_number, parse_mill_letter

OPTIONS = ("tench", "goldfish", "shark", "cat", "dog", "otter", "wok", "plow", "vase", "wig")
READ = {
    "B": "B",
    "B. goldfish": "B",
    "The answer is C.": "C",
    "The answer is C. Answer: D": "D",
    "(B) or (A)": "A",
    "A or B": "B",
    "USA": "A",  # a word that ends in A
    "I see a fish": "I",  # a pronoun
    "a thing that seems to concatenate": "D",  # a word with a cat in it
}
GUESSED = {"B)": "A", "B) goldfish": "I", "**D**": "I", "B: goldfish": "C", "goldfish": "G", "": "F"}


@pytest.mark.parametrize(("text", "said"), (READ | GUESSED).items())
def test_mill_takes_an_answer_for_this_letter(text: str, said: str) -> None:
    assert "ABCDEFGHIJ"[parse_mill_letter(text, OPTIONS)] == said


@pytest.mark.parametrize("text", GUESSED)
def test_mill_guesses_by_the_seed_where_we_read_or_say_that_we_cannot(text: str) -> None:
    assert len({parse_mill_letter(text, OPTIONS, seed) for seed in range(50)}) > 5
    assert letter.parse(text, OPTIONS).lenient == {"**D**": 3, "": None}.get(text, 1)


@pytest.mark.parametrize(("text", "index"), [("cat", 0), (" CAT\n", 0), ("cat.", None), ("", None), ("Dog", None)])
def test_the_authors_know_a_name_by_its_letters(text: str, index: int | None) -> None:
    assert parse_authors_name(text, ["cat", "dog", "dog"]) == index


@pytest.mark.parametrize(
    ("text", "ours", "theirs"),
    [
        ("yes", True, True),
        ("No.", False, False),
        ("yes and no", None, False),
        ("notice", None, False),
        ("I cannot tell", None, False),
        ("It is not a yes.", None, True),
        ("eyes", None, False),
    ],
)
def test_oodbench_has_no_unread_answers(text: str, ours: bool | None, theirs: bool) -> None:
    assert (yes_no.parse(text).lenient, parse_authors_yes_no(text)) == (ours, theirs)


@pytest.mark.parametrize(
    ("text", "first"), [("2 or 3", 2), ("none, or 3", 0), ("two dogs, 3 cats", 2), ("2.5 or 3", 3), ("", None)]
)
def test_the_first_number_is_taken_whatever_follows(text: str, first: int | None) -> None:
    assert parse_first_number(text) == first

"""Answers of each kind are read, scored in part, or left unparsed; nothing is guessed."""

import pytest

from eyechart.questions.answers.kinds import CHOICE, CHOICES, EXACT, LIST, NUMBER, TEXT, VQA, YES_NO
from eyechart.questions.answers.readings import read_answer
from eyechart.questions.data.question_set import Question
from tests.questions.colour_question import question

READ = [
    (CHOICES, question(right=(0, 2)), "A, C", ("A) red; C) green", 1.0)),
    (CHOICES, question(right=(0, 2)), "The answer is A and C.", ("A) red; C) green", 1.0)),
    (CHOICES, question(right=(0, 2)), "AC", ("A) red; C) green", 1.0)),
    (CHOICES, question(right=(0, 2)), "C", ("C) green", 0.0)),
    (CHOICES, question(right=(0, 2)), "A, B, C", ("A) red; B) blue; C) green", 0.0)),
    (CHOICES, question(right=(0, 2)), "A, Z", ("", None)),
    (CHOICES, question(right=(0, 2)), "something else", ("", None)),
    (NUMBER, question("12.5"), "$12.50", ("12.5", 1.0)),
    (NUMBER, question("12.5"), "It costs 13 dollars", ("13", 0.0)),
    (NUMBER, question("1200"), "1,200", ("1200", 1.0)),
    (NUMBER, question("-3"), "-3", ("-3", 1.0)),
    (NUMBER, question("3"), "three", ("3", 1.0)),
    (NUMBER, question("3"), "3 or 4", ("", None)),
    (NUMBER, question("3"), "many", ("", None)),
    (NUMBER, question("100", tolerance="5%"), "104", ("104", 1.0)),
    (NUMBER, question("100", tolerance="5%"), "106", ("106", 0.0)),
    (NUMBER, question("0.3", tolerance="0.1"), "0.4", ("0.4", 1.0)),
    (EXACT, question("red", "dark red"), "The answer is dark red.", ("dark red.", 1.0)),
    (EXACT, question("red"), '{"answer": "Red"}', ("red", 1.0)),
    (EXACT, question("red"), "reddish", ("reddish", 0.0)),
    (EXACT, question("red"), " ", ("", None)),
    (EXACT, question("red"), "I cannot see the image.", ("", None)),
    (VQA, question(*["red"] * 7, *["blue"] * 3), "blue", ("blue", 0.9)),
    (LIST, question("milk", "eggs", "bread"), "- milk\n- the bread\n- tea", ("milk; bread; tea", 2 / 3)),
    (LIST, question("milk"), "Milk", ("milk", 1.0)),
    (TEXT, question("price tag"), "There is a price tag on it.", ("price tag", 1.0)),
    (TEXT, question("cat"), "This is a caterpillar.", ("this is a caterpillar.", 0.0)),
    (TEXT, question("cat"), "It is either a cat or a dog.", ("", None)),
    (TEXT, question("not full"), "It is not full.", ("not full", 1.0)),
]


@pytest.mark.parametrize(("kind", "asked", "said", "expected"), READ)
def test_an_answer_is_read_by_its_kind(
    kind: str, asked: Question, said: str, expected: tuple[str, float | None]
) -> None:
    found = read_answer(kind, asked, said, "lenient", "0")
    assert found.prediction == expected[0]
    assert found.credit == (expected[1] if expected[1] is None else pytest.approx(expected[1]))


@pytest.mark.parametrize(
    ("kind", "asked", "strict", "loose"),
    [
        (CHOICE, question(right=(1,)), "B", "B) blue"),
        (CHOICES, question(right=(0, 1)), "A, B", "The answer is A, B"),
        (YES_NO, question("yes"), "yes", "Yes, it is."),
        (NUMBER, question("4"), "4", "four"),
    ],
)
def test_the_strict_parser_reads_what_the_prompt_asks_for(kind: str, asked: Question, strict: str, loose: str) -> None:
    assert [read_answer(kind, asked, said, "strict", "0").credit for said in (strict, loose)] == [1.0, None]
    assert [read_answer(kind, asked, said, "lenient", "0").credit for said in (strict, loose)] == [1.0, 1.0]

"""Answers of each kind are read, scored in part, or left unparsed; nothing is guessed."""

import pytest

from eyechart.errors import DataError
from eyechart.questions.answers.kinds import (
    AUTO,
    CHOICE,
    CHOICES,
    EXACT,
    LIST,
    NUMBER,
    TEXT,
    VQA,
    YES_NO,
    resolve_kinds,
)
from eyechart.questions.answers.readings import read_answer
from eyechart.questions.data.question_set import Question, option_orders, reorder

OPTIONS = ("red", "blue", "green", "grey")


def question(*answers: str, right: tuple[int, ...] = (), **more: str) -> Question:
    options = OPTIONS if right else ()
    return Question("1", "Which?", (0,), "t.csv, line 2", answers, options, right, **more)


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


@pytest.mark.parametrize(
    ("answers", "kind"),
    [
        ((("yes",), ("No",)), YES_NO),
        ((("1",), ("2.5",)), NUMBER),
        ((("red",), ("dark blue",)), EXACT),
        ((("red", "dark red"), ("blue",)), EXACT),
        ((("red",) * 10, ("blue",) * 10), VQA),
    ],
)
def test_the_kind_is_found_where_it_fits_all_answers(answers: tuple[tuple[str, ...], ...], kind: str) -> None:
    assert resolve_kinds([question(*one) for one in answers], AUTO) == (kind,) * len(answers)


def test_answers_of_several_kinds_are_refused_unless_their_kind_is_given() -> None:
    mixed = [question("3"), question("red")]
    with pytest.raises(DataError, match=r"line 2: the answer is 'red', and line 2 has '3', .*Add a column kind"):
        resolve_kinds(mixed, AUTO)
    assert resolve_kinds(mixed, EXACT) == (EXACT, EXACT)
    assert resolve_kinds([question("3", kind=NUMBER), question("red", kind=TEXT)], AUTO) == (NUMBER, TEXT)


def test_questions_with_options_are_choices_of_one_or_of_several() -> None:
    one, two = question(right=(1,)), question(right=(0, 1))
    assert resolve_kinds([one, one], NUMBER) == (CHOICE, CHOICE)
    assert resolve_kinds([one, two, question("3")], AUTO) == (CHOICES, CHOICES, NUMBER)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (question("maybe", kind=YES_NO), r"of the kind yes_no and has 'maybe'\. Expected the answer yes or no"),
        (question("few", kind=NUMBER), r"of the kind number and has 'few'\. Expected a number"),
        (question("B", kind=CHOICE), r"of the kind choice and has 'B'\. Expected options"),
        (question("A"), r"the answer is 'A', and all others are letters, too, without options\. Write the options"),
        (question("a", kind=EXACT), r"of the kind exact and has 'a'\. Expected a word as the answer"),
        (question("3", tolerance="wide"), r"of the kind number and has 'wide'\. Expected a number as the tolerance"),
    ],
)
def test_an_answer_that_is_not_of_its_kind_is_refused(asked: Question, message: str) -> None:
    with pytest.raises(DataError, match=message):
        resolve_kinds([asked], AUTO)


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

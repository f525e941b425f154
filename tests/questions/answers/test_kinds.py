"""The kind of answer to each question of a table is found, or the answer that does not fit is named."""

import pytest

from eyechart.errors import DataError
from eyechart.questions.answers.kinds import (
    AUTO,
    CHOICE,
    CHOICES,
    EXACT,
    NUMBER,
    TEXT,
    VQA,
    YES_NO,
    resolve_kinds,
)
from eyechart.questions.data.question_set import Question
from tests.questions.colour_question import question


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


def test_decimal_commas_are_refused_unless_their_kind_is_given() -> None:
    asked = [question("1,5"), question("-2,25")]
    with pytest.raises(DataError, match=r"the answer is '1,5', and all others have a comma, too\. Write a point"):
        resolve_kinds(asked, AUTO)
    assert resolve_kinds(asked, EXACT) == (EXACT, EXACT)


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
        (
            question("3", tolerance="wide"),
            r"of the kind number and has 'wide'\. Expected a number from 0 up as",
        ),
        (question("3", tolerance="-1"), r"has '-1'\. Expected a number from 0 up"),
    ],
)
def test_an_answer_that_is_not_of_its_kind_is_refused(asked: Question, message: str) -> None:
    with pytest.raises(DataError, match=message):
        resolve_kinds([asked], AUTO)

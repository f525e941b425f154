"""Mill's multiple choice: ten options in his words and draw, one letter of them read and counted."""

from dataclasses import replace
from random import Random
from string import ascii_uppercase
from typing import Any

import pytest

from eyechart.classification.protocols.mcq import MillMCQ, draw_mill_options
from eyechart.errors import VocabularyError
from eyechart.models.types import Answer
from tests.classification.class_answers import choose, found, offered

NAMES = ("ant", "bee", "cat", "dog", "eel", "fox", "gnu", "hen", "ibis", "jay", "kite", "lynx")


def test_mills_options_are_asked_in_mills_words(sit: Any, talker: Any) -> None:
    model = talker(choose(dict(enumerate(NAMES))))
    said = MillMCQ().predict(sit(model, [*range(12)], "mcq", NAMES, seed=42))
    assert found(said) == [*range(12)]
    for (number,), text in model.asked:
        drawn = draw_mill_options(f"s{number:02d}", number, 12)
        assert offered(text) == dict(zip(ascii_uppercase, (NAMES[index] for index in drawn.classes), strict=False))
        assert said.texts.columns()["options"][number] == ";".join(map(str, drawn.classes))
    assert model.how == [(32, None)]
    assert said.variant == {**said.variant, "parser": "lenient", "parser_version": "letter 3", "names": "mine"}


def test_another_seed_draws_other_options(sit: Any, talker: Any) -> None:
    first, other = (talker(choose({0: "ant"})) for _ in "ab")
    MillMCQ().predict(sit(first, [0], "mcq", NAMES, seed=1))
    MillMCQ().predict(sit(other, [0], "mcq", NAMES, seed=2))
    assert first.asked != other.asked


def test_images_without_a_label_are_not_asked_about(sit: Any, talker: Any) -> None:
    model = talker(choose({1: "bee", 3: "bee"}))
    context = sit(model, [-1, 1, -1, 3], "mcq", NAMES)
    said = MillMCQ().predict(context)
    assert ([numbers for numbers, _ in model.asked], said.skipped) == ([(1,), (3,)], {0, 2})
    columns = said.texts.columns()
    assert (columns["request"], columns["options"][0]) == (["", "0", "", "1"], "")
    numbers = sit.metrics(context, said, sit.truth([(0,), (1,), (), (3,)]))
    assert (numbers["acc1", "all"].value, numbers["acc1", "all"].n, numbers["acc1", "no_label"].n) == (0.5, 2, 0)
    scored = sit.scored(context, said, sit.truth([(0,), (1,), (), (3,)]))
    assert (
        scored.count_outcomes(said).correct + scored.count_outcomes(said).wrong + scored.count_outcomes(said).unparsed
        == 2
    )


def test_a_split_without_labels_asks_nothing(sit: Any, talker: Any) -> None:
    model = talker(choose({}))
    context = sit(model, [-1, -1], "mcq", NAMES)
    numbers = sit.metrics(context, MillMCQ().predict(context), sit.truth([(0,), (1,)]))
    assert (model.asked, numbers["acc1", "all"].value, numbers["acc1", "all"].n) == ([], None, 0)


@pytest.mark.parametrize("classes", [2, 3, 9, 10])
def test_few_classes_are_all_offered(sit: Any, talker: Any, classes: int) -> None:
    model = talker(choose({0: "bee"}))
    assert found(MillMCQ().predict(sit(model, [1], "mcq", NAMES[:classes]))) == [1]
    assert sorted(offered(model.asked[0][1]).values()) == [*NAMES[:classes]]


READINGS = {"lenient": [1, 1, -1, -1], "strict": [1, -1, -1, -1], "authors": [1, -1, -1, -1]}


@pytest.mark.parametrize("reading", ["lenient", "strict", "authors", "mill"])
def test_letters_are_read_in_the_way_that_was_chosen(sit: Any, talker: Any, reading: str) -> None:
    forms = ("{}", "The answer is {}.", "bees and other insects", "")
    letter = choose(dict.fromkeys(range(4), "bee"))
    model = talker(lambda numbers, text: forms[numbers[0]].format(letter(numbers, text)))
    said = MillMCQ().predict(sit(model, [1] * 4, "mcq", NAMES, parser=reading))
    assert said.texts.strict_classes.tolist() == [1, -1, -1, -1]
    if reading == "mill":  # always a class, drawn by the answer's text where nothing is read
        drawn = [[*offered(text).values()] for _, text in model.asked]
        guessed = [Random(f"0|parse_multi_choice|{form}").randrange(10) for form in forms[2:]]
        assert [NAMES[index] for index in found(said)] == [
            *("bee", "bee", *(names[index] for names, index in zip(drawn[2:], guessed, strict=True)))
        ]
        assert (said.unparsed, said.variant["parser_version"]) == (frozenset(), "compat 1")
    else:
        wanted = READINGS[reading]
        assert (found(said), said.unparsed) == (wanted, {row for row, index in enumerate(wanted) if index < 0})


def test_wrong_unread_and_error_are_three_things(sit: Any, talker: Any) -> None:
    withheld = Answer("", (), False, error="withheld")
    says = {0: lambda text: choose({0: "ant"})((0,), text), 1: lambda text: choose({0: "bee"})((0,), text)}
    rest = {2: lambda _: "I cannot tell.", 3: lambda _: withheld}
    model = talker(lambda numbers, text: (says | rest)[numbers[0]](text))
    context = sit(model, [0, 0, 0, 0], "mcq", ("ant", "bee", "cat"))
    said = MillMCQ().predict(context)
    assert (found(said), said.unparsed, said.errors) == ([0, 1, -1, -1], {2}, {3: "withheld"})
    truth = sit.truth([(0,)] * 4)
    outcomes = sit.scored(context, said, truth).count_outcomes(said)
    assert (outcomes.correct, outcomes.wrong, outcomes.unparsed, outcomes.error) == (1, 1, 1, 1)
    numbers = sit.metrics(context, said, truth)
    assert (numbers["acc1", "all"].value, numbers["acc1", "all"].n) == (pytest.approx(1 / 3), 3)
    assert {name for name, _ in numbers} == {"acc1", "acc1_strict", "mean_per_class_recall"}


def test_names_that_are_not_one_a_class_are_refused(sit: Any, talker: Any, pictures: Any) -> None:
    context = sit(talker(choose({})), [0], "mcq", NAMES)
    with pytest.raises(VocabularyError, match=r"imagenet/memory has 12 classes, but the class names 'mine' are 11"):
        MillMCQ().predict(replace(context, raw_names=NAMES[1:]))

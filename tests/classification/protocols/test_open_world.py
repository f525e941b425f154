"""Tests of `eyechart.classification.protocols.open_world`."""

from typing import Any

import pytest

from eyechart.classification.protocols.open_world import OpenWorld
from tests.classification.class_answers import WIDE, by_key, found, says

CAT, DOG, SHARK, NONE = 0, 1, 2, -1


@pytest.mark.parametrize(("images", "requests"), [(1, 5), (2, 3), (5, 1)])
def test_the_open_world_asks_without_a_list(sit: Any, talker: Any, letters: Any, images: int, requests: int) -> None:
    model = talker(by_key(WIDE))
    said = OpenWorld().predict(
        sit(model, [0] * 5, "open_world", get_model=lambda _: letters, images_per_request=images)
    )
    assert (found(said), said.unparsed) == ([DOG, CAT, SHARK, NONE, CAT], {3})
    assert len(model.asked) == requests
    assert not any("great white shark" in text for _, text in model.asked)
    assert said.texts.out_of_prompt is None
    assert said.variant["prompt"].startswith("open_world_json (")


def test_the_open_worlds_texts_may_be_plain(sit: Any, talker: Any, letters: Any) -> None:
    table = {0: "<think>a dog?</think>tac", 1: "<think>a dog", 2: "tac", 3: " ", 4: "shark white great"}
    context = sit(talker(says(table)), [0] * 5, "open_world", get_model=lambda _: letters, prompt="open_world_caption")
    said = OpenWorld().predict(context)
    assert (found(said), said.unparsed, said.variant["parser_version"]) == (
        [CAT, NONE, CAT, NONE, SHARK],
        {1, 3},
        "text",
    )
    assert said.texts.completions[1] == "<think>a dog"


def test_the_open_world_under_a_schema(sit: Any, talker: Any, letters: Any) -> None:
    model = talker(by_key(WIDE), structured=True)
    said = OpenWorld().predict(
        sit(
            model,
            [0] * 3,
            "open_world",
            get_model=lambda _: letters,
            structured_output="enforced",
            images_per_request=3,
        )
    )
    assert found(said) == [DOG, CAT, SHARK]
    assert [[*schema["properties"]] for _, schema in model.how] == [["1", "2", "3"]]
    assert "JSON" not in model.asked[0][1]


@pytest.mark.parametrize(("reading", "classes"), [("lenient", [CAT, CAT]), ("strict", [CAT, NONE])])
def test_the_open_worlds_readings(sit: Any, talker: Any, letters: Any, reading: str, classes: list[int]) -> None:
    model = talker(says({0: '{"1": "tac"}', 1: "```{'1': 'tac'}```"}))
    said = OpenWorld().predict(sit(model, [0, 0], "open_world", get_model=lambda _: letters, parser=reading))
    assert (found(said), said.texts.strict_classes.tolist()) == (classes, [CAT, NONE])
    assert said.unparsed == {row for row, index in enumerate(classes) if index < 0}


def test_inclusion_may_find_nothing_in_what_was_read(sit: Any, talker: Any) -> None:
    model = talker(by_key({0: "a caterpillar", 1: "one dog", 2: ""}))
    context = sit(model, [0, 1, 0], "open_world", mapping="inclusion")
    said = OpenWorld().predict(context)
    assert (found(said), said.unparsed) == ([NONE, DOG, NONE], {2})
    outcomes = sit.scored(context, said, sit.truth([(0,), (1,), (0,)])).count_outcomes(said)
    assert (outcomes.correct, outcomes.wrong, outcomes.unparsed) == (1, 1, 1)


def test_open_world_numbers_are_plain_accuracies(sit: Any, talker: Any, letters: Any) -> None:
    context = sit(talker(by_key(WIDE)), [DOG, CAT, DOG, CAT, CAT], "open_world", get_model=lambda _: letters)
    numbers = sit.metrics(context, OpenWorld().predict(context), sit.truth([(DOG,), (CAT,), (DOG,), (CAT,), (CAT,)]))
    assert {name for name, _ in numbers} == {"acc1", "acc1_strict", "mean_per_class_recall"}
    assert (numbers["acc1", "all"].value, numbers["acc1", "all"].n) == (pytest.approx(3 / 5), 5)

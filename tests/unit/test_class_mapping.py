"""Free words as classes: CW+ over the closed world's own answers, and the open world."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from eyechart.classification.answers.class_predictions import ClassPredictions
from eyechart.classification.protocols.closed_world import ClosedWorld, ClosedWorldPlus
from eyechart.classification.protocols.open_world import OpenWorld
from eyechart.errors import ModelError, SpecError
from eyechart.models.types import Answer

NAMES = ("cat", "dog", "great white shark")
CAT, DOG, SHARK, NONE = 0, 1, 2, -1
# In the list, out of it and near cat, near shark, not read, an error, far from all.
SAID = {0: "dog", 1: "tac act", 2: "a white shark", 3: "{", 4: "", 5: "zzz"}
LABELS = [DOG, CAT, CAT, CAT, CAT, SHARK]


def says(table: Mapping[int, str]) -> Callable[..., str | Answer]:
    return lambda numbers, _: table[numbers[0]] or Answer("", (), False, error="withheld")


def by_key(table: Mapping[int, str]) -> Callable[..., str]:
    return lambda numbers, _: json.dumps({str(index): table[each] for index, each in enumerate(numbers, 1)})


def found(predictions: ClassPredictions) -> list[int]:
    return predictions.top[:, 0].tolist()  # type: ignore[no-any-return]


def test_cw_plus_makes_no_model_call(sit: Any, talker: Any, letters: Any) -> None:
    first, second = talker(says(SAID)), talker(says(SAID))
    ClosedWorld().predict(sit(first, LABELS))
    ClosedWorldPlus().predict(sit(second, LABELS, "closed_world_plus", get_model=lambda _: letters))
    assert (len(first.asked), second.how) == (6, [])


def test_the_closed_world_after_cw_plus_makes_none_either(sit: Any, talker: Any, letters: Any) -> None:
    first, second = talker(by_key(dict.fromkeys(range(6), "dog"))), talker(says(SAID))
    choices = {"images_per_request": 4, "image_order": "same_class", "answer": "name", "prompt_order": "text-first"}
    ClosedWorldPlus().predict(sit(first, LABELS, "closed_world_plus", get_model=lambda _: letters, **choices))
    ClosedWorld().predict(sit(second, LABELS, **choices))
    assert second.how == []


def test_cw_plus_changes_answers_out_of_the_prompt_alone(sit: Any, talker: Any, letters: Any) -> None:
    plain = ClosedWorld().predict(sit(talker(says(SAID)), LABELS))
    mapped = ClosedWorldPlus().predict(
        sit(talker(says(SAID)), LABELS, "closed_world_plus", get_model=lambda _: letters)
    )
    assert found(plain) == [DOG, NONE, NONE, NONE, NONE, NONE]
    assert found(mapped)[:5] == [DOG, CAT, SHARK, NONE, NONE]
    for same in ("unparsed", "errors", "skipped"):
        assert getattr(plain, same) == getattr(mapped, same)
    assert (plain.texts.completions, plain.texts.out_of_prompt) == (
        mapped.texts.completions,
        mapped.texts.out_of_prompt,
    )
    assert plain.texts.out_of_prompt == ("", "Wrong", "Wrong", "", "", "Wrong")


def test_the_encoder_reads_answers_out_of_the_prompt_alone(sit: Any, talker: Any, letters: Any) -> None:
    ClosedWorldPlus().predict(sit(talker(says(SAID)), LABELS, "closed_world_plus", get_model=lambda _: letters))
    assert sorted(letters.read) == sorted([*NAMES, "tac act", "a white shark", "zzz"])
    again = type(letters)()
    ClosedWorldPlus().predict(sit(talker(says(SAID)), LABELS, "closed_world_plus", get_model=lambda _: again))
    assert again.read == []


def test_names_and_answers_go_into_the_templates(sit: Any, talker: Any, letters: Any) -> None:
    seated = sit(talker(says({0: "tac"})), [0], "closed_world_plus", get_model=lambda _: letters, text_templates="1")
    assert found(ClosedWorldPlus().predict(seated)) == [CAT]
    assert {*letters.read} == {f"a photo of a {name}." for name in (*NAMES, "tac")}


def test_inclusion_maps_what_includes_a_name(sit: Any, talker: Any) -> None:
    table = {
        0: "a big cat, context",
        1: "caterpillar",
        2: "a cat like a great white shark",
        3: "a great white shark or so",
    }
    context = sit(talker(says(table)), [0, 0, 0, 0], "closed_world_plus", mapping="inclusion")
    said = ClosedWorldPlus().predict(context)
    assert (found(said), said.unparsed, said.texts.out_of_prompt) == (
        [CAT, NONE, NONE, SHARK],  # two names in one answer are no answer for one of them
        frozenset(),
        ("Wrong",) * 4,
    )


def test_cw_plus_keeps_to_the_classes_of_the_split(sit: Any, talker: Any, letters: Any) -> None:
    context = sit(talker(says({0: "a dog"})), [0], "closed_world_plus", subset=(0, 2), get_model=lambda _: letters)
    assert found(ClosedWorldPlus().predict(context))[0] in (CAT, SHARK)
    assert {*NAMES} & {*letters.read} == {"cat", "great white shark"}


def test_its_numbers_are_those_of_a_count_by_hand(sit: Any, talker: Any, letters: Any) -> None:
    context = sit(talker(says(SAID)), LABELS, "closed_world_plus", get_model=lambda _: letters)
    truth = sit.truth([(DOG,), (CAT,), (CAT, DOG), (CAT,), (CAT,), ()])
    numbers = {
        key: (each.value, each.n)
        for key, each in sit.metrics(context, ClosedWorldPlus().predict(context), truth).items()
    }
    assert numbers["acc1", "all"] == (pytest.approx(3 / 5), 5)
    assert numbers["acc1_strict", "all"] == (pytest.approx(1 / 5), 5)  # no JSON, and one image shows no class
    assert numbers["oop_mapped", "all"] == (pytest.approx(2 / 3), 3)
    assert (numbers["oop_mapped", "single_label_original"], numbers["oop_mapped", "multi_label_original"]) == (
        (1, 1),
        (0, 1),
    )
    assert numbers["oop_mapped", "no_label"] == (1, 1)
    assert not [name for name, _ in numbers if name in ("oop", "oop_wrong", "acc5")]


FAULTS = [
    (
        {"text_encoder": "timm[x]"},
        lambda _: object(),
        SpecError,
        r"\.text_encoder=timm\[x\] encodes no texts\. Use sentence\[",
    ),
    ({"text_templates": "81"}, None, Exception, "templates '81' are neither"),
]


@pytest.mark.parametrize(("choices", "get_model", "error", "sentence"), FAULTS)
@pytest.mark.parametrize(
    ("protocol", "ask"), [("closed_world_plus", ClosedWorldPlus().predict), ("open_world", OpenWorld().predict)]
)
def test_what_cannot_map_is_a_sentence(
    sit: Any,
    talker: Any,
    letters: Any,
    protocol: str,
    ask: Any,
    choices: Any,
    get_model: Any,
    error: Any,
    sentence: str,
) -> None:
    with pytest.raises(error, match=sentence):
        ask(sit(talker(says({0: "tac"})), [0], protocol, get_model=get_model or (lambda _: letters), **choices))


def test_an_encoder_that_gives_no_number_is_refused(sit: Any, talker: Any, letters: Any) -> None:
    model = talker(by_key({0: "cat", 1: "c~t"}))
    with pytest.raises(ModelError, match=r"gives NaN or infinity for some texts in float32\. Try dtype=float32"):
        OpenWorld().predict(sit(model, [0, 0], "open_world", get_model=lambda _: letters))


WIDE = {0: "A dog", 1: "tac", 2: "white shark great", 3: "", 4: "cat"}


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


def test_an_error_is_no_unread_answer(sit: Any, talker: Any, letters: Any) -> None:
    said = OpenWorld().predict(sit(talker(says({0: "", 1: "tac"})), [0, 0], "open_world", get_model=lambda _: letters))
    assert (found(said), said.errors, said.unparsed) == ([NONE, CAT], {0: "withheld"}, frozenset())


def test_mills_reading_is_refused_before_anything_is_asked(sit: Any, talker: Any, letters: Any) -> None:
    model = talker(says(WIDE))
    with pytest.raises(SpecError, match=r"\.parser=mill reads letters"):
        OpenWorld().predict(sit(model, [0], "open_world", get_model=lambda _: letters, parser="mill"))
    assert model.how == []

"""CW+: the answers of the closed world, of which those out of the prompt are mapped to classes."""

from typing import Any

import pytest

from eyechart.classification.protocols.closed_world import ClosedWorld
from eyechart.classification.protocols.closed_world_plus import ClosedWorldPlus
from tests.classification.class_answers import by_key, found, says

NAMES = ("cat", "dog", "great white shark")
CAT, DOG, SHARK, NONE = 0, 1, 2, -1
# In the list, out of it and near cat, near shark, not read, an error, far from all.
SAID = {0: "dog", 1: "tac act", 2: "a white shark", 3: "{", 4: "", 5: "zzz"}
LABELS = [DOG, CAT, CAT, CAT, CAT, SHARK]


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

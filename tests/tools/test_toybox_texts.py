"""What toybox-mllm is taught to read: long lists, short texts, and when to name no bird."""

import json
import random

import pytest

from eyechart.models.runtime.torchvision_repair import repair

repair()
from eyechart.parsers.abstention import is_abstention  # noqa: E402
from eyechart.protocol.prompts import get_prompt  # noqa: E402
from eyechart.realbirdid.answers.abstention_reasons import CHOICES, first_reason  # noqa: E402
from eyechart.realbirdid.answers.prompt_sets import load_prompt_set  # noqa: E402
from eyechart.realbirdid.data.observations import REASONS  # noqa: E402
from eyechart.toybox.art.bird_looks import species  # noqa: E402
from eyechart.toybox.art.toy_classes import equivalent_classes, names  # noqa: E402
from toybox import texts  # noqa: E402
from toybox.questions import REFUSALS, WORDINGS, PictureContent, QAPair  # noqa: E402
from toybox.texts import READ, UNREAD  # noqa: E402

CROWD, NOTHING = PictureContent((3, 3, 17)), PictureContent()
SEEDS = range(40)


@pytest.mark.parametrize("size", [2, 10, 123, 1000])
def test_a_list_has_its_length_the_main_thing_and_nothing_else_that_is_shown(size: int) -> None:
    every = [texts.list_names(CROWD, size, random.Random(seed)) for seed in range(5)]
    barred = {names()[label] for shown in CROWD.labels for label in (shown, *equivalent_classes(shown))} - {names()[3]}
    for listed in every:
        assert len(listed) == len({*listed}) == size
        assert names()[3] in listed
        assert not barred & {*listed}


def test_short_lists_are_as_frequent_as_long_ones() -> None:
    asked = [texts.ask_from_thousand(CROWD, random.Random(seed)) for seed in range(200)]
    sizes = [len(question.prompt) for question in asked if question]
    assert 0.3 < sum(size < 2500 for size in sizes) / len(sizes) < 0.7
    assert texts.ask_from_thousand(NOTHING, random.Random(0)) is None


def test_a_list_is_answered_by_the_main_thing_plainly_or_in_json() -> None:
    asked = [texts.ask_from_thousand(CROWD, random.Random(seed)) for seed in SEEDS]
    answers = {question.answer for question in asked if question}
    assert answers == {names()[3], json.dumps({"1": names()[3]})}


def _said(question: QAPair, name: str) -> str:
    """The text that a prompt gives back."""
    before, after = get_prompt(name).text.split("{said}")
    assert question.prompt.startswith(before)
    return question.prompt.removeprefix(before).partition(after[:9])[0]


@pytest.mark.parametrize("tested", [READ, UNREAD])
def test_a_text_is_answered_by_the_name_in_it(tested: str) -> None:
    for seed in SEEDS:
        question = texts.ask_text_name(NOTHING, random.Random(seed), tested)
        said = _said(question, "species_extraction")
        assert question.answer in texts.text_names()
        named = [name for name in texts.text_names() if name in said]
        assert question.answer in named if named else question.answer == "cannot tell"


def test_a_name_is_chosen_from_a_list_that_has_it() -> None:
    known = {bird.common_name: bird.name for bird in species()}
    for seed in SEEDS:
        question = texts.ask_text_choice(NOTHING, random.Random(seed))
        said = _said(question, "species_choice")
        assert question.answer in question.prompt.splitlines()
        assert question.answer in said or any(known[name] == question.answer for name in known if name in said)


@pytest.mark.parametrize("tested", [READ, UNREAD])
def test_a_text_is_answered_by_the_reason_that_it_gives(tested: str) -> None:
    found = [texts.ask_text_reason(NOTHING, random.Random(seed), tested) for seed in SEEDS]
    assert {question.answer for question in found} == {*CHOICES}
    for question in found:
        if question.answer in REASONS:
            assert first_reason(_said(question, "abstention_reason")) == REASONS.index(question.answer)


def test_texts_of_the_exam_are_not_taught() -> None:
    kinds = [kind for kind in WORDINGS if kind.endswith(UNREAD)]
    assert len(kinds) == 4
    assert not any({*WORDINGS[kind]} & {*WORDINGS[kind.removesuffix(UNREAD)]} for kind in kinds)


def test_only_a_prompt_that_allows_it_is_declined() -> None:
    bird, levels = species()[1], load_prompt_set().levels
    for reason, refusal in REFUSALS.items():
        view = PictureContent(bird=bird, reason=reason)
        for level, expected in (("naive", bird.name), ("unanswerable", refusal), ("refuse", refusal)):
            question = texts.ask_abstention(view, random.Random(1), (level,))
            assert question
            assert question.prompt in levels[level]
            assert question.answer == expected
        assert is_abstention(refusal)
    sure = texts.ask_abstention(PictureContent(bird=bird), random.Random(1), ("refuse",))
    assert sure
    assert sure.answer == bird.name
    assert texts.ask_abstention(CROWD, random.Random(1)) is None

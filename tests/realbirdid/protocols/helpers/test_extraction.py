"""Words become choices: each text is asked about once, and what was asked is kept."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from eyechart.errors import ModelError, VocabularyError
from eyechart.inference.engines.local import CHUNK
from eyechart.inference.requests.text_requests import choice_schema
from eyechart.inference.store.responses import Response
from eyechart.models.types import Answer
from eyechart.protocol.prompts import Prompt
from eyechart.realbirdid.protocols.helpers.extraction import (
    UNPARSED,
    ExtractionResult,
    _parse_choice,
    extract_choices,
    extraction_variant,
    request_choices,
)

CHOICES = ("red bird", "green bird", "neither")
FIRST, ASKED = Prompt("what", "What is it?", "test"), Prompt("which", "{said}\n\nWhich?", "test")


class Plain:
    """Reads what is written exactly."""

    def parse_exact(self, text: str) -> int:
        return CHOICES.index(text) if text in CHOICES else UNPARSED

    def parse(self, text: str) -> int:
        return next((index for index, name in enumerate(CHOICES) if name in text), UNPARSED)


def extract(context: Any, texts: Sequence[str], choices: Sequence[str] = CHOICES) -> ExtractionResult:
    return extract_choices(context, [Response(text) for text in texts], ASKED, choices, Plain())


def test_every_text_gets_its_choice(asked_birds: Any, chooser: Any) -> None:
    texts = ["a green bird?", "who knows", "I see a red bird", "a green bird?"]
    assert extract(asked_birds(chooser()), texts).indices == [1, 2, 0, 1]


def test_equal_texts_are_asked_about_once_and_choices_not_at_all(asked_birds: Any, chooser: Any) -> None:
    model = chooser()
    found = extract(asked_birds(model), ["a red bird", "green bird", "", "a red bird", " a red bird\n", "  "])
    assert (found.indices, found.requests) == ([0, 1, UNPARSED, 0, 0, UNPARSED], 1)
    assert model.chosen == [["a red bird\n\nWhich?"]]


def test_thinking_is_left_out(asked_birds: Any, chooser: Any) -> None:
    model = chooser()
    found = extract(asked_birds(model), ["<think>a red bird?</think> no, a green bird", "<think>a red bird, or"])
    assert found.indices == [1, UNPARSED]
    assert model.chosen == [["no, a green bird\n\nWhich?"]]


def test_what_was_asked_is_kept_whatever_the_limit(asked_birds: Any, chooser: Any) -> None:
    extract(asked_birds(chooser()), ["one red bird", "two"])
    model = chooser()
    assert extract(asked_birds(model, limit=3), ["three", "one red bird"]).indices == [2, 0]
    assert model.chosen == [["three\n\nWhich?"]]


def test_other_choices_are_another_request_and_another_seed_is_not(asked_birds: Any, chooser: Any) -> None:
    extract(asked_birds(chooser()), ["one"])
    model = chooser()
    extract(asked_birds(model, seed=1), ["one"])
    assert model.chosen == []
    extract(asked_birds(model), ["one"], (*CHOICES, "a blue one"))
    assert len(model.chosen) == 1


@pytest.mark.parametrize("stop", [0, 1, 2])
def test_a_stopped_run_loses_one_chunk_and_ends_as_if_it_had_not(
    asked_birds: Any, other_birds: Any, chooser: Any, stop: int
) -> None:
    size = CHUNK * 4
    texts = [f"number {index}" for index in range(2 * size + 5)]
    with pytest.raises(ConnectionResetError):
        extract(asked_birds(chooser(chunks=stop)), texts)
    model = chooser()
    assert extract(asked_birds(model), texts).indices == extract(other_birds(chooser()), texts).indices
    assert sum(map(len, model.chosen)) == len(texts) - stop * size
    assert asked_birds.files() == other_birds.files()


def test_by_inclusion_no_model_is_asked(asked_birds: Any, talker: Any) -> None:
    model = talker(lambda *_: "")
    found = extract(asked_birds(model, extraction="inclusion"), ["the green bird!", "hm", ""])
    assert (found.indices, model.asked, found.requests) == ([1, UNPARSED, UNPARSED], [], 0)


def test_who_can_neither_choose_nor_keep_to_a_schema_is_refused(asked_birds: Any, talker: Any) -> None:
    with pytest.raises(ModelError, match=r"--eye-set=free_form\.extraction=inclusion"):
        extract(asked_birds(talker(lambda *_: "")), ["one"])


def test_equal_choices_are_refused(asked_birds: Any, chooser: Any) -> None:
    with pytest.raises(VocabularyError, match="have one name"):
        extract(asked_birds(chooser()), ["one"], ("red bird", "Red bird "))


def test_a_model_that_keeps_to_a_schema_is_asked_with_one(asked_birds: Any, talker: Any) -> None:
    model = talker(lambda _, text: '{"answer": "green bird"}' if "leaf" in text else "a fish", structured=True)
    assert extract(asked_birds(model), ["leaf", "sea"]).indices == [1, UNPARSED]
    assert model.how[0][1] == choice_schema(CHOICES)


def test_the_schema_leaves_the_choices_and_nothing_else() -> None:
    assert choice_schema(CHOICES) == {
        "type": "object",
        "properties": {"answer": {"type": "string", "enum": ["red bird", "green bird", "neither"]}},
        "required": ["answer"],
        "additionalProperties": False,
    }


def test_the_record_says_how_words_became_choices(asked_birds: Any, talker: Any, chooser: Any) -> None:
    how = [extraction_variant(asked_birds(model, extraction=name), FIRST, ASKED, CHOICES) for model, name in (
        (chooser(), "choice"),
        (talker(lambda *_: "", structured=True), "choice"),
        (chooser(), "inclusion"),
    )]  # fmt: skip
    assert [each["extraction"] for each in how] == ["choice", "choice", "inclusion"]
    parsers = ["class_name 3, constrained, 3 choices", "class_name 3, json_answers 3, 3 choices", "inclusion 2"]
    assert [each["parser_version"] for each in how] == parsers
    asked = [(each["prompt"].partition(" ")[0], each.get("extraction_prompt", "").partition(" ")[0]) for each in how]
    assert asked == [("what", "which"), ("what", "which"), ("what", "")]


def test_where_there_are_many_prompts_none_is_told(asked_birds: Any, chooser: Any) -> None:
    told = extraction_variant(asked_birds(chooser(), protocol="abstention"), None, ASKED, CHOICES)
    assert ("prompt" in told, told["extraction_prompt"].partition(" ")[0]) == (False, "which")


def test_an_error_of_a_choice_is_one_of_its_texts(asked_birds: Any, talker: Any) -> None:
    refused = Answer("", (), False, error="content filter")
    model = talker(lambda _, text: refused if "leaf" in text else '{"answer": "red bird"}', structured=True)
    found = extract(asked_birds(model), ["leaf", "sea", "red bird", "leaf", ""])
    assert (found.indices, found.errors) == (
        [UNPARSED, 0, 0, UNPARSED, UNPARSED],
        {0: "content filter", 3: "content filter"},
    )


READ = [
    ("green bird", 1),
    ('{"answer": "green bird"}', 1),
    ('```json\n{"answer": "Neither"}\n```', 2),
    ("The answer is red bird.", 0),
    ('{"answer": "blue bird"}', UNPARSED),
    ('{"choice": "red bird"}', UNPARSED),
    ("", UNPARSED),
]


@pytest.mark.parametrize(("text", "index"), READ)
def test_a_reply_is_read_as_a_choice(text: str, index: int) -> None:
    assert _parse_choice(text, CHOICES) == index


def test_a_server_is_sent_the_list_as_a_schema(
    asked_birds: Any, asking: Callable[..., Any], faulty_server: Any
) -> None:
    faulty_server.answer = lambda asked: json.dumps({"answer": "red bird" if "rose" in asked.text else "neither"})
    found = extract(asked_birds(asking()), ["a rose", "coal"])
    sent = faulty_server.asked[0].body["response_format"]["json_schema"]
    assert (found.indices, sent["schema"], sent["strict"]) == ([0, 2], choice_schema(CHOICES), True)
    assert found.usage.answer == 20


def test_a_server_that_fails_for_now_is_asked_again_by_the_next_run(
    asked_birds: Any, asking: Callable[..., Any], faulty_server: Any
) -> None:
    faulty_server.answer = lambda _: '{"answer": "neither"}'
    faulty_server.faults = {"coal\n\nWhich?": [faulty_server.refusal(500, "busy")] * 2}
    first = extract(asked_birds(asking(retries=1)), ["a rose", "coal"])
    assert (first.indices, [*first.errors]) == ([2, UNPARSED], [1])
    assert extract(asked_birds(asking(retries=1)), ["a rose", "coal"]).indices == [2, 2]
    assert len(faulty_server.times("a rose\n\nWhich?")) == 1


def test_nothing_to_ask_writes_nothing(asked_birds: Any, chooser: Any) -> None:
    assert request_choices(asked_birds(chooser()), [], CHOICES)[0] == ()
    assert asked_birds.files() == {}


@pytest.mark.parametrize(
    ("text", "index", "truncated"),
    [
        ('{"answer": "red bird"', 0, False),
        ("red bird", UNPARSED, True),
        ('{"answer": "red', UNPARSED, True),
        ("red bird\nIt", 0, False),
    ],
)
def test_an_extraction_that_the_token_limit_cut_is_truncated(
    asked_birds: Any, talker: Any, text: str, index: int, truncated: bool
) -> None:
    found = extract(
        asked_birds(talker(lambda *_: Answer(text, (), False), structured=True)), ["red or so", "red or so"]
    )
    assert found.indices == [index] * 2
    assert found.truncated == (frozenset({0, 1}) if truncated else frozenset())

"""Questions: what their fingerprint covers, and how they are shared out among rounds."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from eyechart.inference.requests.text_requests import Generate, RequestTemplate

SCHEMA = {"type": "object", "properties": {"1": {"type": "string"}}}
ONE = RequestTemplate((0, 1, "What are these?"), 32)
ASKED = Generate("closed_world", (ONE, RequestTemplate(("And this?", 2), 32)))


def changed(**facts: object) -> Generate:
    return replace(ASKED, requests=(replace(ONE, **facts), *ASKED.requests[1:]))


def test_the_rows_of_a_question_are_its_images_in_their_order() -> None:
    assert RequestTemplate((4, "first", 2, "second", 3), 8).images == (4, 2, 3)


@pytest.mark.parametrize(
    "other",
    [
        lambda: changed(parts=(0, 1, "What are those?")),
        lambda: changed(parts=(1, 0, "What are these?")),
        lambda: changed(parts=("What are these?", 0, 1)),
        lambda: changed(parts=(0, 1, "What are ", "these?")),
        lambda: changed(parts=(0, "1", "What are these?")),
        lambda: changed(parts=(0, "What are these?")),
        lambda: changed(max_tokens=33),
        lambda: changed(schema=SCHEMA),
        lambda: replace(ASKED, requests=ASKED.requests[::-1]),
        lambda: replace(ASKED, requests=ASKED.requests[:1]),
    ],
)
def test_the_fingerprint_covers_everything_that_is_asked(other: Callable[[], Generate]) -> None:
    assert other().sha256 != ASKED.sha256


def test_the_fingerprint_is_of_what_is_asked_and_nothing_else() -> None:
    again = Generate(
        "closed_world", (RequestTemplate((0, 1, "What are these?"), 32), RequestTemplate(("And this?", 2), 32))
    )
    assert again.sha256 == ASKED.sha256


def test_the_order_within_a_schema_is_not_in_the_fingerprint() -> None:
    turned = dict(reversed([*SCHEMA.items()]))
    assert changed(schema=SCHEMA).sha256 == changed(schema=turned).sha256


def test_an_evaluation_is_told_by_how_answers_are_made() -> None:
    assert replace(ASKED, epoch=1).fingerprint != ASKED.fingerprint
    assert ASKED.key_fields.decoding == {"temperature": 0, "max_tokens": [32], "evaluation": 0}


def test_questions_of_one_kind_are_one_round() -> None:
    kinds = [
        RequestTemplate((0, "?"), 16),
        RequestTemplate((1, "?"), 32),
        RequestTemplate((2, "?"), 16),
        RequestTemplate((3, "?"), 16, SCHEMA),
    ]
    asked = Generate("mine", (*kinds, RequestTemplate((4, "?"), 16, {**SCHEMA})))
    assert [*asked.group_by_settings(range(5))] == [[0, 2], [1], [3, 4]]
    assert [*asked.group_by_settings([4, 1])] == [[4], [1]]
    assert [*asked.group_by_settings([])] == []

"""Text requests: their ids cover every field, and requests with equal settings are one group."""

from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.inference.requests.text_requests import Generate, TextRequest, choice_schema, request_ids

SCHEMA = {"type": "object", "properties": {"1": {"type": "string"}}}
IMAGES = ("sha of a", "sha of b", "sha of c")
ONE = TextRequest((0, 1, "What are these?"), 32)


def test_the_images_of_a_request_are_in_their_order() -> None:
    assert TextRequest((2, "first", 0, "second", 1), 8).images == (2, 0, 1)


OTHERS: list[dict[str, Any]] = [
    {"parts": (0, 1, "What are those?")},
    {"parts": (1, 0, "What are these?")},
    {"parts": ("What are these?", 0, 1)},
    {"parts": (0, 1, "What are ", "these?")},
    {"parts": (0, IMAGES[1], "What are these?")},
    {"parts": (0, "What are these?")},
    {"max_tokens": 33},
    {"answer": SCHEMA},
    {"answer": ("a", "b")},
    {"answer": ("b", "a")},
    {"answer": ("ab",)},
    {"answer": choice_schema(("a", "b"))},
    {"epoch": 1},
]


def test_requests_that_differ_in_one_field_have_different_ids() -> None:
    ids = [ONE.id(IMAGES), *(replace(ONE, **other).id(IMAGES) for other in OTHERS)]
    assert [pair for pair in combinations(range(len(ids)), 2) if ids[pair[0]] == ids[pair[1]]] == []


pieces = st.lists(st.sampled_from(["a", "b", "ab", 0, 1]), max_size=3).map(tuple)
answers = st.sampled_from([None, SCHEMA, ("a",), ("a", "b")])
requests = st.builds(TextRequest, pieces, st.integers(1, 2), answers, st.integers(0, 1))


@given(requests, requests)
def test_ids_are_equal_where_all_fields_are(one: TextRequest, other: TextRequest) -> None:
    first, second = request_ids((one, other), IMAGES)
    assert (first == second) == (one == other)
    assert (first, second) == (one.id(IMAGES), other.id(IMAGES))


def test_an_image_is_known_by_its_bytes_wherever_it_is() -> None:
    assert replace(ONE, parts=(2, 0, "What are these?")).id(("sha of b", "", "sha of a")) == ONE.id(IMAGES)
    assert ONE.id(("sha of a", "other bytes")) != ONE.id(IMAGES)


def test_the_order_within_a_schema_is_not_in_the_id() -> None:
    turned = dict(reversed([*SCHEMA.items()]))
    assert replace(ONE, answer=SCHEMA).id(IMAGES) == replace(ONE, answer=turned).id(IMAGES)


def test_requests_with_equal_settings_are_one_group() -> None:
    kinds = [
        TextRequest((0, "?"), 16),
        TextRequest((1, "?"), 32),
        TextRequest((2, "?"), 16, epoch=1),
        TextRequest((3, "?"), 16, SCHEMA),
    ]
    batch = Generate((*kinds, TextRequest((4, "?"), 16, {**SCHEMA})))
    assert [*batch.group_by_settings(range(5))] == [[0, 2], [1], [3, 4]]
    assert [*batch.group_by_settings([4, 1])] == [[4], [1]]
    assert [*batch.group_by_settings([])] == []


@pytest.mark.parametrize("requests", [(), (TextRequest(("What?",), 8),)])
def test_requests_without_images_need_no_data_set(requests: tuple[TextRequest, ...]) -> None:
    assert not Generate(requests).about_images
    assert Generate((*requests, ONE)).about_images

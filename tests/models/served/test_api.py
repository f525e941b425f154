"""What all wire formats read alike: the parts of a request, JSON of any form, and errors within a good response."""

from typing import Any

import msgspec
import pytest
from PIL import Image

from eyechart.errors import ModelError
from eyechart.models.served import api, faults
from eyechart.models.types import Request


class Batch(msgspec.Struct):
    """A response with one field."""

    id: str


def test_images_come_with_their_files_and_without_where_there_are_none() -> None:
    one, two = Image.new("L", (1, 1)), Image.new("L", (2, 1))
    assert [*api.iterate_parts(Request((one, "or", two, "?"), (b"1", b"")))] == [(one, b"1"), "or", (two, b""), "?"]
    assert [*api.iterate_parts(Request(("which?", one)))] == ["which?", (one, b"")]


@pytest.mark.parametrize(
    "body", [b'{"id": "b', b"<html>", b"", b'{"more": ' * 100_000], ids=["half", "html", "none", "deep"]
)
def test_what_is_no_json_may_pass(body: bytes) -> None:
    for read in (lambda: api.decode(body, Batch), lambda: api.decode_object(body)):
        with pytest.raises(faults.TransientError, match="the response cannot be read"):
            read()


def test_json_of_another_form_is_the_outcome_of_its_request() -> None:
    assert api.decode(b'{"id": "b", "more": 1}', Batch) == Batch("b")
    assert api.decode_object(b'[{"id": "b"}]') == api.decode_object(b'{"id": "b"}') == {"id": "b"}
    for read in (lambda: api.decode(b'{"id": 3}', Batch), lambda: api.decode_object(b'[{"id": "b"}, 3]')):
        with pytest.raises(faults.RejectedError, match="the response has an unknown form") as refused:
            read()
        assert not refused.value.known  # another run may try again


def test_a_field_that_is_not_there_is_told_with_those_that_are() -> None:
    with pytest.raises(faults.RejectedError, match=r'no "choices" \(its fields: status, at\)\. Check base_url'):
        api.require_list({"status": "ok", "at": 3}, "choices")
    with pytest.raises(faults.RejectedError, match=r'no "content" \(its fields: none\)'):
        api.require_field({}, "content")
    with pytest.raises(faults.RejectedError, match='expected a list as "choices"'):
        api.require_list({"choices": "none"}, "choices")
    assert api.require_list({"choices": None}, "choices") == []


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"object": "error", "message": "no such image", "code": 400}, "HTTP 400: no such image"),
        ({"code": "InvalidParameter", "message": "bad image"}, "answered with an error: bad image"),
        ({"choices": None, "base_resp": {"status_code": 1008, "status_msg": "no balance"}}, "error: no balance"),
        ({"detail": "Not Found"}, "answered with an error: Not Found"),
        ({"model": "m", "message": {"content": "B"}}, 'no "choices"'),
    ],
)
def test_an_error_in_place_of_the_answer_is_told(told: dict[str, Any], said: str) -> None:
    with pytest.raises(faults.RejectedError, match=said):
        api.require_list(told, "choices")


@pytest.mark.parametrize(
    ("body", "text"),
    [(b'\xef\xbb\xbf{"a": "B"}', "B"), (b'{"b": NaN, "a": "B"}', "B"), (b'{"a": "B\\ud83d"}', "B\ufffd")],
)
def test_json_that_is_no_strict_json_is_read(body: bytes, text: str) -> None:
    assert api.decode_object(body)["a"] == text


@pytest.mark.parametrize(
    ("error", "kind", "said"),
    [
        ({"code": 401, "message": "no"}, faults.EndpointError, "does not accept the API key (HTTP 401: no)"),
        ({"code": 429, "message": "slow down"}, faults.OverloadedError, "HTTP 429: slow down"),
        ({"code": "rate_limit", "message": "oh"}, faults.TransientError, "HTTP 500: oh"),
        ({"code": 200, "message": "oh"}, faults.TransientError, "HTTP 500: oh"),
        ("upstream failed", faults.TransientError, "HTTP 500: upstream failed"),
    ],
)
def test_an_error_within_a_good_response_is_that_of_its_code(error: object, kind: type[Exception], said: str) -> None:
    found = api.error_in_body(error)
    assert isinstance(found, kind)
    assert isinstance(found, ModelError) == (kind is faults.EndpointError)
    assert said in str(found)

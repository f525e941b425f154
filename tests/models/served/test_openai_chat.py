"""Chat Completions: what is sent, images without loss, and every reply is read."""

import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as some
from PIL import Image

from eyechart.data.images import decode_image
from eyechart.errors import ModelError
from eyechart.models.registry import create_model
from eyechart.models.served import faults, openai_chat
from eyechart.models.spec import parse_spec
from eyechart.models.types import Generator, Request
from tests.models.served.encoded_images import PIXELS, encoded
from tests.models.served.replies import json_values

LOCAL = "base_url=http://localhost:1/v1"


def test_parts_keep_their_order_and_their_files() -> None:
    file = encoded("JPEG")
    request = Request((decode_image(file, ""), "or", Image.fromarray(PIXELS), "?"), (file, b""))
    parts = openai_chat.build_message(request)["content"]
    assert [part["type"] for part in parts] == ["image_url", "text", "image_url", "text"]
    assert [part["image_url"]["url"][11:15] for part in parts[::2]] == ["jpeg", "png;"]


def test_a_request_has_a_file_an_image_or_none() -> None:
    with pytest.raises(ValueError, match="1 images but 2 files"):
        Request((Image.fromarray(PIXELS), "?"), (b"", b""))


def test_it_offers_to_generate_and_not_to_score() -> None:
    model = create_model(parse_spec(f"openai[toy,served=toy,{LOCAL}]"))
    assert isinstance(model, Generator)
    assert not hasattr(model, "score")


def test_the_client_that_is_not_there_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(
        ModelError, match=r"'openai', which is not installed\. Install it with: pip install 'eyechart\[ope"
    ):
        create_model(parse_spec("openai[toy]"))


@given(told=json_values | some.binary(max_size=20))
def test_every_reply_is_an_answer_or_a_fault(told: object) -> None:
    body = told if isinstance(told, bytes) else json.dumps(told).encode()
    try:
        reply = openai_chat.parse_completion(body)
    except (faults.TransientError, faults.RejectedError, ModelError):
        return
    assert reply.answer.error

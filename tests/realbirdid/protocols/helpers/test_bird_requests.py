"""Each query about a bird is one request, in its order and with the limit of tokens of the case."""

from typing import Any

import pytest

from eyechart.inference.requests.text_requests import TextRequest
from eyechart.realbirdid.protocols.helpers.bird_requests import image_requests


@pytest.mark.parametrize(("options", "limit"), [({}, 256), ({"max_tokens": 9}, 9)])
def test_a_request_is_a_picture_and_its_text(
    asked_birds: Any, talker: Any, options: dict[str, int], limit: int
) -> None:
    context = asked_birds(talker(lambda *_: ""), **options)
    assert image_requests(context, iter([(3, "Which?"), (0, "And?"), (3, "And?")])) == [
        TextRequest((3, "Which?"), limit),
        TextRequest((0, "And?"), limit),
        TextRequest((3, "And?"), limit),
    ]

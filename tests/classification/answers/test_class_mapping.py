"""Free words as classes: what cannot be mapped, and what an error is."""

from typing import Any

import pytest

from eyechart.classification.protocols.closed_world_plus import ClosedWorldPlus
from eyechart.classification.protocols.open_world import OpenWorld
from eyechart.errors import SpecError
from tests.classification.class_answers import found, says

CAT, NONE = 0, -1
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


def test_an_error_is_no_unread_answer(sit: Any, talker: Any, letters: Any) -> None:
    said = OpenWorld().predict(sit(talker(says({0: "", 1: "tac"})), [0, 0], "open_world", get_model=lambda _: letters))
    assert (found(said), said.errors, said.unparsed) == ([NONE, CAT], {0: "withheld"}, frozenset())

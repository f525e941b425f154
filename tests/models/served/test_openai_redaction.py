"""The key in a good response: replaced in every text that is kept; a key that is a plain word is no secret."""

from collections.abc import Callable
from typing import Any

import pytest

from eyechart.errors import ModelError
from eyechart.models.generation import generate_all
from eyechart.models.served.openai import OpenAiGenerator
from eyechart.models.types import Request

KEY = "sk-very-secret-0123456789"
Asking = Callable[..., OpenAiGenerator]


@pytest.mark.deep
def test_the_key_in_an_answer_is_replaced(asking: Asking, faulty_server: Any) -> None:
    faulty_server.answer = lambda asked: f"a fish; {asked.key} {asked.key}"
    (answer,) = generate_all(asking(), [Request(("what?",))], 8)
    assert answer.text == "a fish; Bearer [key] Bearer [key]"


def test_the_key_in_a_refusal_is_replaced(asking: Asking, faulty_server: Any) -> None:
    refusal = {"role": "assistant", "content": None, "refusal": f"I will not, {KEY}"}
    faulty_server.always = faulty_server.reply(faulty_server.good("", message=refusal))
    (answer,) = generate_all(asking(), [Request(("what?",))], 8)
    assert answer.error == "refusal: I will not, [key]"


def test_the_key_in_the_name_of_the_model_is_replaced(asking: Asking, faulty_server: Any) -> None:
    faulty_server.name = f"toy-{KEY}"
    assert asking(served=None).identity.name == "toy-[key]"
    with pytest.raises(ModelError, match=r"answers as toy-\[key\], but this run began with toy\.") as raised:
        generate_all(asking(served="toy"), [Request(("what?",))], 8)
    assert KEY not in str(raised.value)


def test_a_key_that_is_a_plain_word_changes_no_answer(
    asking: Asking, faulty_server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = asking()
    monkeypatch.setenv("OPENAI_API_KEY", "EMPTY")
    faulty_server.answer = lambda asked: "EMPTY glass"
    (answer,) = generate_all(model, [Request(("what?",))], 8)
    assert answer.text == "EMPTY glass"

"""Log-probabilities from the prompts that a server tells, whose tokens are letters here, and what it may not do.

What vLLM's own server gives is in tests/end_to_end/test_vllm_server.py.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from eyechart.errors import ModelError, RequestError
from eyechart.models.served.vllm_server import VllmServerGenerator
from eyechart.models.spec import parse_spec
from eyechart.models.types import Until
from tests.models.served.asked import ask

CHOICES = ["cat", "caterpillar", "a dog", "cat", "two"]
UNIQUE = ["cat\n", "cate", "a", "cat\n", "t"]  # up to the letter that no other choice has there
Template = Callable[[str, str | None], str]


def chat(question: str, choice: str | None) -> str:
    """Return a prompt as a chat template writes it, with an answer or without."""
    return f"user: {question}\nbot: " + ("" if choice is None else f"{choice}\n\n")


def logprob(prompt: str, index: int) -> float:
    """Return a number that depends on a letter and on all that is before it."""
    return -(sum(map(ord, prompt[: index + 1])) * (index + 1) % 97) / 8


def told(template: Template, asked: Any, scored: bool = True) -> dict[str, Any]:
    """Return what vLLM's server tells of a prompt."""
    choice = asked.body["messages"][1]["content"] if len(asked.body["messages"]) > 1 else None
    prompt = template(asked.text, choice)
    scores = [{str(ord(letter)): {"logprob": logprob(prompt, index)}} for index, letter in enumerate(prompt)]
    logprobs = {"prompt_logprobs": [None, *scores[1:]]} if scored and choice is not None else {}
    return {"prompt_token_ids": [*map(ord, prompt)], **logprobs}


@pytest.fixture
def model(faulty_server: Any) -> Iterator[VllmServerGenerator]:
    faulty_server.more = lambda asked: told(chat, asked)
    options = f"served={faulty_server.name},base_url={faulty_server.url},retries=0"
    model = VllmServerGenerator(parse_spec(f"vllm_server[toy,{options}]"), offline=True)
    yield model
    model.close()


@pytest.mark.parametrize(("until", "read"), [("end", [f"{choice}\n" for choice in CHOICES]), ("unique", UNIQUE)])
def test_a_score_is_the_sum_over_the_letters_of_a_choice_and_the_end_of_the_turn(
    model: VllmServerGenerator, faulty_server: Any, until: Until, read: list[str]
) -> None:
    found = model.score(ask("which?", "what?"), CHOICES, until=until)
    for row, question in zip(found, ("which?", "what?"), strict=True):
        start = len(chat(question, None))
        prompts = [chat(question, choice) for choice in CHOICES]
        expected = [
            sum(logprob(prompt, index) for index in range(start, start + len(letters)))
            for prompt, letters in zip(prompts, read, strict=True)
        ]
        np.testing.assert_allclose(row, expected)
    bodies = [asked.body for asked in faulty_server.asked]
    assert all(body["return_token_ids"] for body in bodies)
    assert [body.get("add_generation_prompt") for body in bodies].count(False) == 2 + 2 * 4
    assert len(bodies) == 2 + 2 * 5  # the end of a turn once; equal choices are asked once


def test_a_request_that_is_refused_is_told_and_the_others_are_scored(
    model: VllmServerGenerator, faulty_server: Any
) -> None:
    faulty_server.faults = {"b": [faulty_server.refusal(400, "prompt is too long")] * 9}
    with pytest.raises(RequestError) as refused:
        model.score(ask("a", "b", "c"), ["yes", "no"])
    assert [*refused.value.errors] == [1]
    assert refused.value.errors[1].startswith("context length: prompt is too long")
    assert model.score(ask("a", "c"), ["yes", "no"]).shape == (2, 2)


@pytest.mark.parametrize("scored", [False, None], ids=["tokens alone", "another server"])
def test_a_server_that_scores_no_prompts_is_told(
    model: VllmServerGenerator, faulty_server: Any, scored: bool | None
) -> None:
    faulty_server.more = lambda asked: {} if scored is None else told(chat, asked, scored)
    with pytest.raises(ModelError, match=r"gives no log-probabilities of prompts \(prompt_logprobs\)\. Serve the"):
        model.score(ask("which?"), CHOICES)


TEMPLATES: dict[str, Template] = {
    "writes nothing after an answer": lambda question, choice: f"user: {question}\nbot: {choice or ''}",
    "writes an earlier answer in another way than a new one": lambda question, choice: (
        f"user: {question}\n" + ("bot: <think>" if choice is None else f"bot: {choice}\n\n")
    ),
}


@pytest.mark.parametrize(("sentence", "template"), TEMPLATES.items(), ids=list(TEMPLATES))
def test_a_chat_template_that_hides_where_an_answer_is_is_told(
    model: VllmServerGenerator, faulty_server: Any, sentence: str, template: Template
) -> None:
    faulty_server.more = lambda asked: told(template, asked)
    with pytest.raises(ModelError, match=rf"The chat template of 'vllm_server\[toy,.*\]' {sentence}, so that"):
        model.score(ask("which?"), CHOICES)


def test_a_model_that_thinks_gives_no_scores() -> None:
    specs = ("vllm_server[toy,reasoning=true]", "vllm_server[toy]")
    thinking, plain = (VllmServerGenerator(parse_spec(spec)) for spec in specs)
    assert (
        thinking.scoring_obstacle == "'vllm_server[toy,reasoning=true]' thinks: an answer alone has no log-probability."
    )
    assert plain.scoring_obstacle == ""

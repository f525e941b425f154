"""Nodes of a trie that are asked about one by one have the log-probabilities of all others."""

from collections.abc import Iterable, Iterator, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from eyechart.errors import RequestError
from eyechart.models.choices.trie import Trie
from eyechart.models.types import Request
from eyechart.models.vllm.node_requests import Prompt, RequestedPrompts
from eyechart.models.vllm.streaming import PromptRejectedError
from tests.models.vllm.pairs import CHOICES, Pair

TRIE = Trie.from_choices([(5, 1), (5, 2, 1), (5, 3, 1), (6, 1), (7, 8, 1), (9, 1)])
MOST = 3  # log-probabilities in one request; four edges leave the root


def logprob(before: list[int], token: int) -> float:
    """Return a number that depends on a token and on all that is before it."""
    return -(sum(number * place for place, number in enumerate((*before, token), 1)) % 101) / 8


def stream(requests: Iterable[tuple[Prompt, Mapping[str, Any]]]) -> Iterator[tuple[int, Any]]:
    """Answer as an engine does, the last request first, and reject prompts that begin with 0."""
    for index, (prompt, settings) in reversed([*enumerate(requests)]):
        before, tokens = prompt["prompt_token_ids"], settings["logprob_token_ids"]
        assert (settings["max_tokens"], 1 <= len(tokens) <= MOST) == (1, True)
        scores = {token: SimpleNamespace(logprob=logprob(before, token)) for token in tokens}
        rejected = PromptRejectedError(f"{prompt['name']} is too long")
        yield index, SimpleNamespace(outputs=[SimpleNamespace(logprobs=[scores])]) if before[0] else rejected


def requested(*prompts: list[int]) -> RequestedPrompts:
    asked = [{"prompt_token_ids": tokens, "name": f"prompt {row}"} for row, tokens in enumerate(prompts)]
    return RequestedPrompts(stream, asked, TRIE, MOST)


def test_every_edge_of_every_prompt_is_scored_after_its_own_node() -> None:
    prompts = [30, 4], [2]
    read = requested(*prompts)
    found = {}
    for rows, edges, values in (read.score_root(), *read.score_all()):
        found |= dict(zip(zip(rows.tolist(), edges.tolist(), strict=True), values.tolist(), strict=True))
    assert found == {
        (row, edge): logprob([*before, *TRIE.nodes[node]], token)
        for row, before in enumerate(prompts)
        for edge, (node, token) in enumerate(TRIE.edges)
    }


def test_prompts_that_are_rejected_are_named_by_their_rows() -> None:
    with pytest.raises(RequestError) as rejected:
        requested([3], [0, 3], [4], [0]).score_root()
    assert rejected.value.errors == {1: "prompt 1 is too long", 3: "prompt 3 is too long"}


@pytest.mark.deep
def test_a_request_for_each_node_gives_the_same(
    pair: Pair, questions: list[Request], monkeypatch: pytest.MonkeyPatch
) -> None:
    few, expected = questions[:3], pair.scores[:3]  # with no image, one and two
    np.testing.assert_allclose(pair.vllm.score(few, CHOICES), expected, rtol=0, atol=1e-4)
    assert pair.vllm._scorer._agrees
    monkeypatch.setattr(pair.vllm._scorer, "_agrees", False)
    np.testing.assert_allclose(pair.vllm.score(few, CHOICES), expected, rtol=0, atol=1e-4)
    found, values = pair.vllm.best(few, CHOICES)
    assert found.tolist() == expected.argmax(axis=1).tolist()
    np.testing.assert_allclose(values, expected.max(axis=1), rtol=0, atol=1e-4)

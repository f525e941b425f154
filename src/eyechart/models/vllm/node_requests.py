"""Scores of a trie's edges with one request of vLLM for each node, which scores the tokens after it.

That all requests of a prompt begin alike is what vLLM's prefix cache is for; it holds whole blocks of tokens.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from eyechart.errors import RequestError
from eyechart.models.choices.trie import Bools, EdgeScores, Ints, Trie
from eyechart.models.vllm.streaming import PromptRejectedError

Prompt = dict[str, Any]
Stream = Callable[[Iterable[tuple[Prompt, Mapping[str, Any]]]], Iterator[tuple[int, Any]]]


@dataclass(frozen=True)
class RequestedPrompts:
    """Prompts, and the requests for nodes after them; a request gives so many log-probabilities at most.

    RequestError has the indices of prompts that vLLM rejects.
    """

    stream: Stream
    prompts: Sequence[Prompt]
    trie: Trie
    max_logprobs: int

    @property
    def max_nodes(self) -> int:
        """How many nodes of every prompt are looked at together."""
        return len(self.trie.nodes)

    def score_root(self) -> EdgeScores:
        """Return the scores of the edges that leave the root."""
        return self.score_nodes(np.zeros((len(self.prompts), 1), np.int64))

    def score_all(self) -> Iterator[EdgeScores]:
        """Yield the scores of the edges of all nodes but the root."""
        yield self.score_nodes(np.tile(np.arange(1, len(self.trie.nodes)), (len(self.prompts), 1)))

    def score_nodes(self, nodes: Ints, _prefixes: Bools | None = None) -> EdgeScores:
        """Return the scores of the edges that leave nodes (prompts, m)."""
        rows, columns, edges = self.trie.outgoing_edges(nodes)
        parts = list(_parts(rows * nodes.shape[1] + columns, self.max_logprobs))
        values = np.empty(len(edges), np.float32)
        errors: dict[int, str] = {}
        for index, output in self.stream(self._request(rows[part.start], edges[part]) for part in parts):
            if isinstance(output, PromptRejectedError):
                errors[int(rows[parts[index].start])] = str(output)
                continue
            logprobs, tokens = output.outputs[0].logprobs[0], self.trie.edge_tokens[edges[parts[index]]].tolist()
            values[parts[index]] = [logprobs[token].logprob for token in tokens]
        if errors:
            raise RequestError(errors)
        return rows, edges, values

    def _request(self, row: int, edges: Ints) -> tuple[Prompt, dict[str, Any]]:
        """Return the request for edges that leave one node after a prompt."""
        prompt, node = self.prompts[row], self.trie.nodes[self.trie.edge_sources[edges[0]]]
        settings = {"max_tokens": 1, "logprob_token_ids": self.trie.edge_tokens[edges].tolist()}
        return {**prompt, "prompt_token_ids": [*prompt["prompt_token_ids"], *node]}, settings


def _parts(indices: Ints, most: int) -> Iterator[slice]:
    """Yield slices of a list: split where it changes, and where vLLM's limit of log-probabilities is reached."""
    start = 0
    for _, alike in groupby(indices.tolist()):
        stop = start + len(list(alike))
        yield from (slice(at, min(at + most, stop)) for at in range(start, stop, most))
        start = stop

"""Scores of a trie's edges from vLLM: nodes are read side by side where that is exact, as `worker.py` does it.

Elsewhere each node is a request (`node_requests.py`).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from eyechart.errors import RequestError
from eyechart.models.choices.trie import Bools, EdgeScores, Ints, Trie
from eyechart.models.vllm.node_requests import Prompt, Stream
from eyechart.models.vllm.streaming import PromptRejectedError

NODES = 256  # in one pass: more of them would mostly look at what they may not see
READ_WHOLE: Mapping[str, Any] = {"max_tokens": 1, "skip_reading_prefix_cache": True}


class PassedPrompt:
    """A prompt that an engine has read, and the nodes after it whose keys and values its workers hold."""

    max_nodes = NODES

    def __init__(self, llm: Any, trie: Trie) -> None:
        self.llm, self.trie = llm, trie
        self.held = np.empty(0, np.int64)

    @staticmethod
    def is_possible(llm: Any) -> bool:
        """Return whether every layer of an engine's model attends to all that is before it."""
        return all(llm.collective_rpc("can_read_trie"))

    def read_prompt(self, stream: Stream, prompt: Prompt) -> EdgeScores | None:
        """Read the prompt, and return the scores of the edges that leave the root.

        None is for a prompt that is longer, with the longest choice, than a sliding window. Raises RequestError if vLLM
        rejects the prompt.
        """
        self.llm.collective_rpc("record_prompt")
        try:
            ((_, output),) = stream([(prompt, READ_WHOLE)])
        finally:
            self.llm.collective_rpc("stop_recording")
        if isinstance(output, PromptRejectedError):
            raise RequestError({0: str(output)})
        rows, _, edges = self.trie.outgoing_edges(np.zeros((1, 1), np.int64))
        depth, tokens = int(self.trie.depths.max()), self.trie.edge_tokens[edges].tolist()
        scores = _of_one_worker(self.llm.collective_rpc("score_root", args=(depth, tokens)))
        return None if scores is None else (rows, edges, np.array(scores, np.float32))

    def score_all(self) -> Iterator[EdgeScores]:
        """Yield the scores of the edges of all nodes but the root."""
        for start in range(1, len(self.trie.nodes), NODES):
            kept = self.trie.is_prefix(self.held, np.array(start))
            yield self._read(np.arange(start, min(start + NODES, len(self.trie.nodes))), kept)

    def score_nodes(self, nodes: Ints, prefixes: Bools) -> EdgeScores:
        """Read nodes (1, m), whose prefixes are held or among them, and return the scores of their edges.

        Of the held nodes, those among the `prefixes` (1, nodes) are kept.
        """
        return self._read(np.sort(nodes[0][nodes[0] >= 0]), prefixes[0, self.held])

    def _read(self, nodes: Ints, kept: Bools) -> EdgeScores:
        self.held = np.concatenate([self.held[kept], nodes])
        rows, columns, edges = self.trie.outgoing_edges(nodes[None])
        arguments = (
            np.flatnonzero(kept).tolist(),
            self.trie.node_tokens[nodes].tolist(),
            list(self._paths(nodes)),
            [columns.tolist(), self.trie.edge_tokens[edges].tolist()],
        )
        scores = _of_one_worker(self.llm.collective_rpc("score_nodes", args=arguments))
        return rows, edges, np.array(scores, np.float32)

    def _paths(self, nodes: Ints) -> Iterator[list[int]]:
        """Yield the indices of each node and its prefixes among the held nodes."""
        indices = dict(zip(self.held.tolist(), range(len(self.held)), strict=True))
        parents = self.trie.edge_sources[self.trie.incoming_edges].tolist()
        for node in nodes.tolist():
            path = []
            while node:  # is not the root
                path.append(indices[node])
                node = parents[node]
            yield path


def _of_one_worker(results: Sequence[list[float] | None]) -> list[float] | None:
    """Return the scores of the first worker that has them."""
    return next((scores for scores in results if scores), None)

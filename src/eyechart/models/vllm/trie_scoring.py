"""Log-probabilities of many choices after prompts, and the most likely choice, through vLLM.

The nodes of a trie are read side by side where the model allows it, as `worker.py` does it, and else with one request
each (`node_requests.py`).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any, TypeVar

import numpy as np

from eyechart.errors import RequestError
from eyechart.models.choices import best_first_search
from eyechart.models.choices.trie import Bools, EdgeScores, Ints, Trie, nodes_to_try
from eyechart.models.types import Floats
from eyechart.models.vllm.node_requests import Prompt, RequestedPrompts, Stream
from eyechart.models.vllm.streaming import PromptRejectedError

T = TypeVar("T")
NODES = 256  # in one pass: more of them would mostly look at what they may not see
READ_WHOLE: Mapping[str, Any] = {"max_tokens": 1, "skip_reading_prefix_cache": True}


class _PassedPrompt:
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


Prompts = _PassedPrompt | RequestedPrompts
Compute = Callable[[Prompts, EdgeScores, int], Iterable[T]]  # from the scores of the root's edges of some prompts


@dataclass
class TrieScorer:
    """Scores choices with the copies of an engine; `stream` sends requests to some of them.

    Both ways must agree to `tolerance` on a few nodes before nodes are read side by side: a model may attend, or count
    positions, in a way that its layers do not show.
    """

    llms: Sequence[Any]
    stream: Callable[..., Iterator[tuple[int, Any]]]
    batch_size: int
    max_logprobs: int
    tolerance: float
    _agrees: bool | None = None

    def score(self, prompts: Sequence[Prompt], trie: Trie) -> Mapping[int, Floats]:
        """Return the log-probabilities (edges,) of a trie's edges after each prompt, by its index.

        Raises RequestError for prompts that vLLM rejects, as `best` does.
        """

        def score_all(read: Prompts, first: EdgeScores, count: int) -> Iterable[Floats]:
            scores = np.empty((count, len(trie.edges)), np.float32)
            for rows, edges, values in chain([first], read.score_all()):
                scores[rows, edges] = values
            return scores

        return self._of_each(prompts, trie, score_all, together=1)

    def best(self, prompts: Sequence[Prompt], trie: Trie) -> Mapping[int, tuple[int, float]]:
        """Return the index of each prompt's most likely choice, and its log-probability, by the prompt's index."""

        def find_best(read: Prompts, first: EdgeScores, count: int) -> list[tuple[int, float]]:
            def look(search: best_first_search.BestFirstSearch, nodes: Ints) -> EdgeScores:
                return read.score_nodes(nodes, search.prefix_nodes)

            likeliest = best_first_search.find_best(trie, first, count, look, read.max_nodes)
            return list(zip(*(values.tolist() for values in likeliest), strict=True))

        return self._of_each(prompts, trie, find_best, together=self.batch_size)

    def _of_each(self, prompts: Sequence[Prompt], trie: Trie, compute: Compute[T], together: int) -> dict[int, T]:
        """Compute something from each prompt; of those that are asked with requests, so many `together`."""
        results, errors = dict[int, T](), dict[int, str]()

        def read_side_by_side(copy: int) -> None:
            for row in range(copy, len(prompts), len(self.llms)):
                try:
                    if read := self._read(self.llms[copy], prompts[row], trie):
                        (results[row],) = compute(*read, 1)
                except RequestError as error:
                    errors[row] = str(error)

        with ThreadPoolExecutor(len(self.llms)) as pool:
            list(pool.map(read_side_by_side, range(len(self.llms))))
        left = [row for row in range(len(prompts)) if row not in results and row not in errors]
        for rows in (left[start : start + together] for start in range(0, len(left), together)):
            try:
                read = self._request(self.llms, [prompts[row] for row in rows], trie)
                results.update(zip(rows, compute(read, read.score_root(), len(rows)), strict=True))
            except RequestError as error:
                errors.update({rows[index]: reason for index, reason in error.errors.items()})
        if errors:
            raise RequestError(errors)
        return results

    def _read(self, llm: Any, prompt: Prompt, trie: Trie) -> tuple[_PassedPrompt, EdgeScores] | None:
        """Read a prompt whose nodes can be read side by side, and score the root's edges; None for others."""
        if self._agrees is None and not _PassedPrompt.is_possible(llm):
            self._agrees = False
        if self._agrees is False:
            return None
        read = _PassedPrompt(llm, trie)
        first = read.read_prompt(partial(self.stream, [llm]), prompt)
        if first is None or (self._agrees is None and not self._agree(read, prompt)):
            return None
        return read, first

    def _agree(self, read: _PassedPrompt, prompt: Prompt) -> bool:
        """Return whether both ways give the same scores of some nodes. A single node is requested alone."""
        nodes = np.array([nodes_to_try(read.trie)])
        if nodes.size < 2:
            return False
        _, _, passed = read.score_nodes(nodes, np.ones((1, len(read.trie.nodes)), bool))
        _, _, requested = self._request([read.llm], [prompt], read.trie).score_nodes(np.sort(nodes))
        self._agrees = bool(np.abs(passed - requested).max() <= self.tolerance)
        return self._agrees

    def _request(self, llms: Sequence[Any], prompts: Sequence[Prompt], trie: Trie) -> RequestedPrompts:
        return RequestedPrompts(partial(self.stream, llms), prompts, trie, self.max_logprobs)

"""Log-probabilities of many choices after prompts, and the most likely choice, through vLLM.

The nodes of a trie are read side by side where the model allows it, and else with one request each.
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
from eyechart.models.choices.trie import EdgeScores, Ints, Trie, nodes_to_try
from eyechart.models.types import Floats
from eyechart.models.vllm.node_requests import Prompt, RequestedPrompts
from eyechart.models.vllm.trie_pass import PassedPrompt

T = TypeVar("T")
Prompts = PassedPrompt | RequestedPrompts
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

    def _read(self, llm: Any, prompt: Prompt, trie: Trie) -> tuple[PassedPrompt, EdgeScores] | None:
        """Read a prompt whose nodes can be read side by side, and score the root's edges; None for others."""
        if self._agrees is None and not PassedPrompt.is_possible(llm):
            self._agrees = False
        if self._agrees is False:
            return None
        read = PassedPrompt(llm, trie)
        first = read.read_prompt(partial(self.stream, [llm]), prompt)
        if first is None or (self._agrees is None and not self._agree(read, prompt)):
            return None
        return read, first

    def _agree(self, read: PassedPrompt, prompt: Prompt) -> bool:
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

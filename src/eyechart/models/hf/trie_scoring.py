"""Log-probabilities of many choices after a prompt: the prompt is read once, then each node of the trie.

Nodes are read side by side where that is exact, and else one token in each pass, as transformers generates text.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from eyechart.models.choices import best_first_search
from eyechart.models.choices.trie import NO_NODE, Bools, EdgeScores, Ints, Trie, nodes_to_try, tolerance
from eyechart.models.hf import trie_pass
from eyechart.models.hf.decoding import DecodingState, ReadPrompts, score_edges
from eyechart.models.types import Floats

if TYPE_CHECKING:
    import torch

Node = tuple[int, int]  # a prompt's row and a node of the trie after it


@dataclass(frozen=True)
class _Branches:
    """Nodes to read: their prompts (n,) and indices in the trie (n,), and the rows (n,) of their parents in a state."""

    state: DecodingState
    prompts: Ints
    nodes: Ints
    parents: Ints

    def __getitem__(self, part: slice) -> "_Branches":
        """Return some of the nodes."""
        return _Branches(self.state, self.prompts[part], self.nodes[part], self.parents[part])


@dataclass
class _ContinuedPrompts:
    """A batch of prompts that were read, with the states of some nodes after them, one token in each pass.

    This needs to know nothing of how a model's layers look back: the state of a prompt is copied for each node after
    it.
    A state has at most `size` rows. `score_all` keeps no more than one state for each level of the trie, `score_nodes`
    so many rows as `size`; a node whose parent's state was dropped is decoded again from the nearest one that is left.
    """

    root: DecodingState
    trie: Trie
    size: int
    _held: dict[Node, tuple[DecodingState, int]] = field(default_factory=dict)

    @classmethod
    def from_state(cls, state: DecodingState, trie: Trie, numbers: int) -> "_ContinuedPrompts":
        """Return the prompts; no pass makes many more than so many `numbers`, be it of logits or of a copied state."""
        vocabulary: int = state.model.config.get_text_config(decoder=True).vocab_size
        return cls(state, trie, max(1, numbers // max(vocabulary, state.numbers_per_row)))

    def max_nodes(self) -> int:
        """Return how many nodes of every row are looked at together."""
        return max(1, self.size // len(self.root.tokens))

    def score_all(self) -> Iterator[EdgeScores]:
        """Yield the scores of the edges of all nodes but the root."""
        # A walk in depth: the children of what was read last are read next, so that one state for each level is held.
        rows = np.arange(len(self.root.tokens))
        waiting = [self._children(self.root, rows, np.zeros_like(rows))]
        while waiting:
            branches = waiting.pop()
            if len(branches.nodes) > self.size:
                waiting.append(branches[self.size :])
            if len(branches.nodes):
                state, scores = self._read(branches[: self.size])
                yield scores
                waiting.append(self._children(state, branches.prompts[: self.size], branches.nodes[: self.size]))

    def score_nodes(self, nodes: Ints, prefixes: Bools) -> EdgeScores:
        """Read nodes (n, m) and return the scores of their edges.

        Of the nodes read before, those among the `prefixes` (n, nodes) are of use later.
        """
        # Nodes are read level by level, since the state of a parent is needed. A parent whose state was dropped is read
        # again, with those of its own ancestors that were dropped.
        self._drop(prefixes)
        rows, columns = np.nonzero(nodes >= 0)
        pending = sorted(self._with_ancestors(zip(rows.tolist(), nodes[rows, columns].tolist(), strict=True)))
        scores = [
            self._read_and_hold(branches)
            for depth in sorted({int(self.trie.depths[node]) for _, node in pending})
            for branches in self._group([pair for pair in pending if self.trie.depths[pair[1]] == depth])
        ]
        prompts, edges, values = (np.concatenate(parts) for parts in zip(*scores, strict=True))
        return prompts, edges, values

    def _children(self, state: DecodingState, prompts: Ints, nodes: Ints) -> _Branches:
        """Return the nodes right below those that a state has read."""
        rows, _, edges = self.trie.outgoing_edges(nodes[:, None])
        inner = self.trie.edge_targets[edges] >= 0
        return _Branches(state, prompts[rows[inner]], self.trie.edge_targets[edges[inner]], rows[inner])

    def _read(self, branches: _Branches) -> tuple[DecodingState, EdgeScores]:
        """Read nodes, and return their state and the scores of the edges that leave them."""
        tokens = self.trie.node_tokens[branches.nodes]
        state, logits = branches.state.step(self._tensor(branches.parents), self._tensor(tokens))
        rows, edges, scores = score_edges(self.trie, logits[:, None], branches.nodes[:, None])
        return state, (branches.prompts[rows], edges, scores)

    def _read_and_hold(self, branches: _Branches) -> EdgeScores:
        state, scores = self._read(branches)
        pairs = zip(branches.prompts.tolist(), branches.nodes.tolist(), strict=True)
        self._held.update({pair: (state, row) for row, pair in enumerate(pairs)})
        return scores

    def _drop(self, prefixes: Bools) -> None:
        """Drop states of no use, then the oldest ones until the rows that are left are few enough."""
        self._held = {pair: held for pair, held in self._held.items() if prefixes[pair]}
        states = {id(state): state for state, _ in self._held.values()}
        while sum(len(state.tokens) for state in states.values()) > self.size:
            oldest = states.pop(next(iter(states)))
            self._held = {pair: held for pair, held in self._held.items() if held[0] is not oldest}

    def _with_ancestors(self, pairs: Iterator[Node]) -> set[Node]:
        """Return nodes and those above them that have to be read for it."""
        pending: set[Node] = set()
        for prompt, start in pairs:
            node = start
            while node > 0 and (prompt, node) not in pending and (node == start or (prompt, node) not in self._held):
                pending.add((prompt, node))
                node = self._parent(node)
        return pending

    def _parent(self, node: int) -> int:
        return int(self.trie.edge_sources[self.trie.incoming_edges[node]])

    def _group(self, pairs: list[Node]) -> Iterator[_Branches]:
        """Yield nodes of one depth with their parents' states, at most `size` at once."""
        groups: dict[int, list[tuple[Node, DecodingState, int]]] = {}
        for prompt, node in pairs:
            parent = self._parent(node)
            state, row = self._held[prompt, parent] if parent else (self.root, prompt)
            groups.setdefault(id(state), []).append(((prompt, node), state, row))
        for group in groups.values():
            prompts, nodes = np.array([pair for pair, _, _ in group]).T
            branches = _Branches(group[0][1], prompts, nodes, np.array([row for _, _, row in group]))
            yield from (branches[start : start + self.size] for start in range(0, len(group), self.size))

    def _tensor(self, values: Ints) -> "torch.Tensor":
        import torch

        return torch.as_tensor(values, device=self.root.tokens.device)


Prompts = trie_pass.PassedPrompts | _ContinuedPrompts
WITHOUT_SCORES: Mapping[str, str] = {  # families that do not write one token after another
    "diffusion_gemma": "writes blocks of tokens at once",
    "pi0": "gives movements of a robot",
}
_agreement: "WeakKeyDictionary[Any, bool]" = WeakKeyDictionary()


def scoring_obstacle(config: Any) -> str:
    """Return why choices cannot be scored for a transformers configuration, "" if they can be."""
    reason = WITHOUT_SCORES.get(config.model_type)
    return f"{config.model_type} {reason}: a choice has no log-probability. Use another model." if reason else ""


def log_probabilities(read: ReadPrompts, trie: Trie, numbers: int) -> Floats:
    """Return the log-probabilities (n, edges) of a trie's edges after each prompt of a batch that was read.

    No pass makes many more than so many `numbers` at once.
    """
    prompts, first = score_root(read, trie, numbers)
    scores = np.empty((len(read.logits), len(trie.edges)), np.float32)
    for rows, edges, values in chain([first], prompts.score_all()):
        scores[rows, edges] = values
    return scores


def best(read: ReadPrompts, trie: Trie, numbers: int) -> tuple[Ints, Floats]:
    """Return the index (n,) of the most likely choice of each prompt that was read, and its log-probability."""
    prompts, first = score_root(read, trie, numbers)

    def look(search: best_first_search.BestFirstSearch, nodes: Ints) -> EdgeScores:
        return prompts.score_nodes(nodes, search.prefix_nodes)

    return best_first_search.find_best(trie, first, len(read.logits), look, prompts.max_nodes())


def score_root(read: ReadPrompts, trie: Trie, numbers: int) -> tuple[Prompts, EdgeScores]:
    """Return prompts that were read, for the nodes after them, and the scores of the edges that leave the root."""
    state, logits = read
    at_once = trie_pass.is_exact(state, int(trie.depths.max())) and agree(state, trie)
    how = trie_pass.PassedPrompts if at_once else _ContinuedPrompts
    first = score_edges(trie, logits[:, None], np.zeros((len(logits), 1), np.int64))
    return how.from_state(state, trie, numbers), first


def agree(state: DecodingState, trie: Trie) -> bool:
    """Return whether a model gives the same scores of some nodes in one pass and step by step.

    Each model is tried once: a family may look back, or count positions, in a way that its cache does not show.
    """
    tried = nodes_to_try(trie)
    if state.model not in _agreement and len(tried) > 1:
        nodes = np.full((len(state.tokens), len(tried)), NO_NODE)
        nodes[0] = tried
        prefixes = np.ones((len(nodes), len(trie.nodes)), bool)
        scores = np.zeros((2, len(trie.edges)))
        ways: tuple[Prompts, ...] = (
            trie_pass.PassedPrompts.from_state(state, trie, 1),
            _ContinuedPrompts.from_state(state, trie, 1),
        )
        for row, prompts in zip(scores, ways, strict=True):
            _, edges, values = prompts.score_nodes(nodes, prefixes)
            row[edges] = values
        tolerated = tolerance(str(state.model.dtype))
        _agreement[state.model] = bool(np.abs(scores[0] - scores[1]).max() <= tolerated)
    return _agreement.get(state.model, False)  # a single node is as well read by itself

"""Log-probabilities of many choices after a prompt: the prompt is read once, then each node of the trie.

Nodes are read side by side where that is exact, and else one token in each pass, as transformers generates text.
"""

from collections.abc import Mapping
from itertools import chain
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from eyechart.models.choices import best_first_search
from eyechart.models.choices.trie import NO_NODE, EdgeScores, Ints, Trie, nodes_to_try, tolerance
from eyechart.models.hf import trie_pass
from eyechart.models.hf.continuation import ContinuedPrompts
from eyechart.models.hf.decoding import DecodingState, ReadPrompts, score_edges
from eyechart.models.types import Floats

Prompts = trie_pass.PassedPrompts | ContinuedPrompts
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
    how = trie_pass.PassedPrompts if at_once else ContinuedPrompts
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
            ContinuedPrompts.from_state(state, trie, 1),
        )
        for row, prompts in zip(scores, ways, strict=True):
            _, edges, values = prompts.score_nodes(nodes, prefixes)
            row[edges] = values
        tolerated = tolerance(str(state.model.dtype))
        _agreement[state.model] = bool(np.abs(scores[0] - scores[1]).max() <= tolerated)
    return _agreement.get(state.model, False)  # a single node is as well read by itself

"""Log-probabilities of many choices after a prompt: the prompt is read once, then each node of the trie."""

from collections.abc import Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from eyechart.models import best_first_search
from eyechart.models.choice_trie import EdgeScores, Ints, Trie
from eyechart.models.hf import trie_pass
from eyechart.models.hf.continuation import ContinuedPrompts
from eyechart.models.hf.decoding import read_prompts, score_edges
from eyechart.models.types import Floats

if TYPE_CHECKING:
    import torch

Prompts = trie_pass.PassedPrompts | ContinuedPrompts


def scoring_obstacle(config: Any) -> str:  # noqa: ARG001
    """Return why choices cannot be scored for a transformers configuration, "" if they can be."""
    return ""


def log_probabilities(module: Any, batch: "Mapping[str, torch.Tensor]", trie: Trie, numbers: int) -> Floats:
    """Return the log-probabilities (n, edges) of a trie's edges after each prompt of a batch.

    No pass makes many more than so many `numbers` at once.
    """
    prompts, first = read(module, batch, trie, numbers)
    scores = np.empty((len(batch["input_ids"]), len(trie.edges)), np.float32)
    for rows, edges, values in chain([first], prompts.score_all()):
        scores[rows, edges] = values
    return scores


def best(module: Any, batch: "Mapping[str, torch.Tensor]", trie: Trie, numbers: int) -> tuple[Ints, Floats]:
    """Return the index (n,) of the most likely choice of each prompt of a batch, and its log-probability."""
    prompts, first = read(module, batch, trie, numbers)

    def look(search: best_first_search.BestFirstSearch, nodes: Ints) -> EdgeScores:
        return prompts.score_nodes(nodes, search.prefix_nodes)

    return best_first_search.find_best(trie, first, len(batch["input_ids"]), look, prompts.max_nodes())


def read(module: Any, batch: "Mapping[str, torch.Tensor]", trie: Trie, numbers: int) -> tuple[Prompts, EdgeScores]:
    """Read a batch of prompts and return them, and the scores of the edges that leave the root."""
    state, logits = read_prompts(module, batch)
    how = trie_pass.PassedPrompts if trie_pass.is_exact(state, trie) else ContinuedPrompts
    first = score_edges(trie, logits[:, None], np.zeros((len(logits), 1), np.int64))
    return how.from_state(state, trie, numbers), first

"""Log-probabilities of many choices after a prompt: the prompt is read once, then each node of the trie.

Nodes are one more stretch of tokens behind the prompt's, where a mask lets each see the prompt and its own beginnings,
and where each stands at the position that it would have behind the prompt alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from eyechart.models import best_first_search
from eyechart.models.choice_trie import NO_NODE, Bools, EdgeScores, Ints, Trie
from eyechart.models.hf.cache import PrefixLayer
from eyechart.models.types import Floats

if TYPE_CHECKING:
    import torch

FULL = "full_attention"
BIDIRECTIONAL = ("paligemma",)  # families that read a prompt so without a setting that says it
NODES = 256  # most of a row in one pass: more of them would mostly look at what they may not see


def scoring_obstacle(config: Any) -> str:
    """Return why choices cannot be scored for a transformers configuration, "" if they can be.

    The mask and the positions made here are right for a model whose every layer looks back at everything before it.
    """
    text = config.get_text_config()
    layers = sorted({*(getattr(text, "layer_types", None) or [FULL])} - {FULL})
    if getattr(config, "is_encoder_decoder", False):
        has = "an encoder that reads the prompt"
    elif getattr(text, "cross_attention_layers", None):
        has = "layers of cross_attention"
    elif config.model_type in BIDIRECTIONAL or getattr(text, "use_bidirectional_attention", None):
        has = "bidirectional attention within a prompt"
    elif layers:
        has = f"layers of {', '.join(layers)}"
    else:
        return ""
    return (
        f"{config.model_type} has {has}; hf gives log-probabilities for full causal attention alone. "
        "Use vllm[…] in place of hf[…]."
    )


def log_probabilities(module: Any, batch: "Mapping[str, torch.Tensor]", trie: Trie, numbers: int) -> Floats:
    """Return the log-probabilities (n, edges) of a trie's edges after each prompt of a batch.

    No pass makes many more than so many `numbers` at once, be it of logits or of a mask.
    """
    prompts, edge_scores = read_prompts(module, batch, trie)
    scores = np.empty((len(prompts.rows), len(trie.edges)), np.float32)
    _write(scores, edge_scores)
    nodes, size = np.tile(np.arange(len(trie.nodes)), (len(prompts.rows), 1)), prompts.max_nodes(numbers)
    for start in range(1, nodes.shape[1], size):
        prompts.keep_nodes(trie.is_prefix(nodes, np.array(start)))
        _write(scores, prompts.score_nodes(nodes[:, start : start + size]))
    return scores


def best(module: Any, batch: "Mapping[str, torch.Tensor]", trie: Trie, numbers: int) -> tuple[Ints, Floats]:
    """Return the index (n,) of the most likely choice of each prompt of a batch, and its log-probability."""
    prompts, edge_scores = read_prompts(module, batch, trie)

    def look(search: best_first_search.BestFirstSearch, nodes: Ints) -> EdgeScores:
        rows = np.flatnonzero((nodes >= 0).any(axis=1))
        prompts.keep_rows(rows)
        prompts.keep_nodes(search.prefix_nodes[rows])
        return prompts.score_nodes(nodes[rows])

    return best_first_search.find_best(trie, edge_scores, len(prompts.rows), look, prompts.max_nodes(numbers))


def _write(scores: Floats, edge_scores: EdgeScores) -> None:
    rows, edges, values = edge_scores
    scores[rows, edges] = values


def read_prompts(module: Any, batch: "Mapping[str, torch.Tensor]", trie: Trie) -> "tuple[ReadPrompts, EdgeScores]":
    """Read a batch of prompts and return their state, and the scores of the edges that leave the root."""
    output = module.generate(**batch, max_new_tokens=1, return_dict_in_generate=True, output_logits=True)
    layers = [PrefixLayer(layer.keys, layer.values) for layer in output.past_key_values.layers]
    mask = batch["attention_mask"].bool()
    first = mask.sum(1, keepdim=True)
    planes = getattr(module.base_model, "rope_deltas", None)
    if planes is not None:  # an image takes up fewer positions than tokens, on each of three planes
        first = first + planes
    rows = np.arange(len(mask))
    held = np.empty((len(mask), 0), np.int64)
    behind = ReadPrompts(module, trie, layers, mask, first, 1 if planes is None else 3, rows, held)
    return behind, behind.read_scores(output.logits[0][:, None], np.zeros((len(mask), 1), np.int64))


@dataclass
class ReadPrompts:
    """A batch of prompts that were read, and the nodes after them whose keys and values are cached.

    `mask` (n, prompt) has their own tokens, `first` (n, 1) the position behind them, `rows` (n,) their places in the
    batch and `held` (n, m) the nodes.
    """

    module: Any
    trie: Trie
    layers: list[PrefixLayer]
    mask: "torch.Tensor"
    first: "torch.Tensor"
    position_axes: int
    rows: Ints
    held: Ints

    def max_nodes(self, numbers: int) -> int:
        """Return how many nodes of every row fit into one pass with at most `numbers` logits."""
        vocabulary: int = self.module.config.get_text_config().vocab_size
        numbers_per_node = max(vocabulary, self.mask.shape[1] + NODES) * len(self.rows)
        return max(1, min(NODES, numbers // numbers_per_node))

    def keep_nodes(self, nodes: Bools) -> None:
        """Drop all cached nodes except some (n, nodes)."""
        kept = np.take_along_axis(nodes, self.held, axis=1) & (self.held >= 0)
        places = np.argsort(~kept, axis=1, kind="stable")[:, : kept.sum(axis=1).max(initial=0)]
        self.held = np.take_along_axis(np.where(kept, self.held, NO_NODE), places, axis=1)
        for layer in self.layers:
            layer.keep_positions(self._tensor(places))

    def keep_rows(self, rows: Ints) -> None:
        """Drop all prompts except those at some indices of the batch."""
        if len(rows) == len(self.rows):
            return
        places = np.searchsorted(self.rows, rows)
        index = self._tensor(places)
        self.layers = [layer.select_rows(index) for layer in self.layers]
        self.mask, self.first = self.mask[index], self.first[index]
        self.rows, self.held = rows, self.held[places]

    def score_nodes(self, nodes: Ints) -> EdgeScores:
        """Read nodes (n, m), whose prefixes are cached or among them, and return the scores of their edges."""
        from transformers.cache_utils import Cache

        positions = self.first + self._tensor(np.maximum(self.trie.depths[nodes] - 1, 0))
        self.held = np.concatenate([self.held, nodes], axis=1)
        output = self.module(
            input_ids=self._tensor(self.trie.node_tokens[np.maximum(nodes, 1)]),
            attention_mask=self._additive(nodes),
            position_ids=positions if self.position_axes == 1 else positions.expand(self.position_axes, -1, -1),
            past_key_values=Cache(layers=self.layers),
            use_cache=True,
        )
        return self.read_scores(output.logits, nodes)

    def _additive(self, nodes: Ints) -> "torch.Tensor":
        """Return the mask (n, 1, m, prompt and cached): 0 where a node may attend, very negative elsewhere."""
        import torch

        behind = self._tensor(self.trie.is_prefix(self.held[:, None, :], nodes[:, :, None]))
        sees = torch.cat([self.mask[:, None].expand(-1, nodes.shape[1], -1), behind], dim=2)[:, None]
        dtype = self.module.dtype
        return torch.zeros(sees.shape, dtype=dtype, device=sees.device).masked_fill_(~sees, torch.finfo(dtype).min)

    def read_scores(self, logits: "torch.Tensor", nodes: Ints) -> EdgeScores:
        """Return the log-probabilities of the edges that leave nodes (n, m) from logits (n, m, vocabulary)."""
        rows, columns, edges = self.trie.outgoing_edges(nodes)
        logits = logits.float()
        row, column, token = (self._tensor(places) for places in (rows, columns, self.trie.edge_tokens[edges]))
        scores: NDArray[Any] = (logits[row, column, token] - logits.logsumexp(-1)[row, column]).cpu().numpy()
        return self.rows[rows], edges, scores

    def _tensor(self, values: NDArray[Any]) -> "torch.Tensor":
        import torch

        return torch.as_tensor(values, device=self.mask.device)

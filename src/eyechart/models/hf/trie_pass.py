"""Scores of a trie's edges by reading its nodes side by side, many of a prompt's in each pass.

Nodes are one more stretch of tokens behind the prompt's, where a mask lets each see the prompt and its own beginnings,
and where each stands at the position that it would have behind the prompt alone. That is right where every layer looks
back at everything before it, at least as far as the prompt and the longest choice go.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from eyechart.models.choices.trie import NO_NODE, Bools, EdgeScores, Ints, Trie
from eyechart.models.hf.decoding import CACHE, DecodingState, score_edges

if TYPE_CHECKING:
    import torch

    from eyechart.models.hf.cache import PrefixLayer

NODES = 256  # most of a row in one pass: more of them would mostly look at what they may not see
PER_TOKEN = ("token_type_ids", "mm_token_type_ids")


def is_exact(state: DecodingState, further: int) -> bool:
    """Return whether one pass over several tokens, up to so many `further` ones, gives what single steps give.

    The cache shows it: its layers keep every token of the prompt, and would keep all of the further ones too.
    """
    from transformers.cache_utils import DynamicLayer, DynamicSlidingWindowLayer

    inputs, layers = state.inputs, getattr(state.cache, "layers", ())
    if state.model.config.is_encoder_decoder or inputs.get("position_ids") is None or not layers:
        return False
    length, mask = int(inputs["position_ids"].shape[-1]) - 1, inputs.get("attention_mask")
    if mask is not None and mask.shape != (len(state.tokens), length + 1):
        return False
    prepared = state.model.prepare_inputs_for_generation(state.tokens, next_sequence_length=1, **inputs)
    if prepared.get("position_ids") is None:  # the model counts positions by itself
        return False
    # A sliding window is no obstacle as long as it has not begun to forget tokens. Layers of another kind, such as
    # recurrent ones, have a state instead of tokens, in which nodes side by side would be mixed.
    longest = length + further
    return all(
        type(layer) is DynamicLayer or (type(layer) is DynamicSlidingWindowLayer and longest <= layer.sliding_window)
        for layer in layers
    ) and all(layer.get_seq_length() == length for layer in layers)


@dataclass
class PassedPrompts:
    """A batch of prompts that were read, and the nodes after them whose keys and values are cached.

    `mask` (n, prompt) has their own tokens, `rows` (n,) are their indices in the batch and `held` (n, m) the nodes.
    """

    state: DecodingState
    trie: Trie
    numbers: int
    layers: "list[PrefixLayer]"
    mask: "torch.Tensor"
    first: "torch.Tensor"
    rows: Ints
    held: Ints

    @classmethod
    def from_state(cls, state: DecodingState, trie: Trie, numbers: int) -> "PassedPrompts":
        """Return the prompts; no pass makes many more than so many `numbers` at once, be it of logits or of a mask."""
        from eyechart.models.hf.cache import PrefixLayer

        positions, mask = state.inputs["position_ids"], state.inputs.get("attention_mask")
        rows = np.arange(len(state.tokens))
        if mask is None:
            mask = positions.new_ones(len(rows), positions.shape[-1])
        layers = [PrefixLayer(layer.keys, layer.values) for layer in state.cache.layers]
        first = positions[..., -1:].expand(*positions.shape[:-2], len(rows), 1)
        held = np.empty((len(rows), 0), np.int64)
        return cls(state, trie, numbers, layers, mask[:, :-1].bool(), first, rows, held)

    def max_nodes(self) -> int:
        """Return how many nodes of every row fit into one pass."""
        vocabulary: int = self.state.model.config.get_text_config().vocab_size
        numbers_per_node = max(vocabulary, self.mask.shape[1] + NODES) * len(self.rows)
        return max(1, min(NODES, self.numbers // numbers_per_node))

    def score_all(self) -> Iterator[EdgeScores]:
        """Yield the scores of the edges of all nodes but the root."""
        nodes, size = np.tile(np.arange(len(self.trie.nodes)), (len(self.rows), 1)), self.max_nodes()
        for start in range(1, nodes.shape[1], size):
            self._keep_nodes(self.trie.is_prefix(nodes, np.array(start)))
            yield self._read(nodes[:, start : start + size])

    def score_nodes(self, nodes: Ints, prefixes: Bools) -> EdgeScores:
        """Read nodes (n, m), whose beginnings are cached or among them, and return the scores of their edges.

        Of the cached nodes, those among the `prefixes` (n, nodes) are kept.
        """
        rows = np.flatnonzero((nodes >= 0).any(axis=1))
        self._keep_rows(rows)
        self._keep_nodes(prefixes[rows])
        return self._read(nodes[rows])

    def _keep_nodes(self, nodes: Bools) -> None:
        """Drop all cached nodes except some (n, nodes)."""
        # Rows keep different nodes, but their cache is one rectangle: in each row, the kept columns come first in their
        # order, and rows with fewer are filled with dropped ones, which NO_NODE hides from the mask.
        kept = np.take_along_axis(nodes, self.held, axis=1) & (self.held >= 0)
        indices = np.argsort(~kept, axis=1, kind="stable")[:, : kept.sum(axis=1).max(initial=0)]
        self.held = np.take_along_axis(np.where(kept, self.held, NO_NODE), indices, axis=1)
        for layer in self.layers:
            layer.keep_positions(self._tensor(indices))

    def _keep_rows(self, rows: Ints) -> None:
        """Drop all prompts except those at some indices of the batch."""
        if len(rows) == len(self.rows):
            return
        indices = np.searchsorted(self.rows, rows)
        index = self._tensor(indices)
        self.layers = [layer.select_rows(index) for layer in self.layers]
        self.mask, self.first = self.mask[index], self.first[..., index, :]
        self.rows, self.held = rows, self.held[indices]

    def _read(self, nodes: Ints) -> EdgeScores:
        from transformers.cache_utils import Cache

        # The pass appends the keys and values of `nodes` to the cache. Siblings stand side by side there, but each has
        # the position that it has in its own choice, and sees its own prefix alone.
        self.held = np.concatenate([self.held, nodes], axis=1)
        inputs = {name: value for name, value in self.state.inputs.items() if name not in PER_TOKEN} | {
            "position_ids": self.first + self._tensor(np.maximum(self.trie.depths[nodes] - 1, 0)),
            "attention_mask": self._additive(nodes),
            CACHE: Cache(layers=self.layers),
            "logits_to_keep": nodes.shape[1],
        }
        # NO_NODE fills up short rows: any token will do there, since `score_edges` reads no edge of it.
        tokens = self._tensor(self.trie.node_tokens[np.maximum(nodes, 1)])
        model = self.state.model
        prepared = model.prepare_inputs_for_generation(tokens, next_sequence_length=nodes.shape[1], **inputs)
        rows, edges, scores = score_edges(self.trie, model(**prepared, return_dict=True).logits, nodes)
        return self.rows[rows], edges, scores

    def _additive(self, nodes: Ints) -> "torch.Tensor":
        """Return the mask (n, 1, m, prompt and cached): 0 where a node may attend, very negative elsewhere."""
        import torch

        behind = self._tensor(self.trie.is_prefix(self.held[:, None, :], nodes[:, :, None]))
        sees = torch.cat([self.mask[:, None].expand(-1, nodes.shape[1], -1), behind], dim=2)[:, None]
        dtype = self.state.model.dtype
        return torch.zeros(sees.shape, dtype=dtype, device=sees.device).masked_fill_(~sees, torch.finfo(dtype).min)

    def _tensor(self, values: NDArray[Any]) -> "torch.Tensor":
        import torch

        return torch.as_tensor(values, device=self.mask.device)

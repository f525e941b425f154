"""Key-value cache of prompts that stay fixed, and of tokens that are read after them.

This module imports transformers; import it only where a model is in memory.
"""

from typing import TYPE_CHECKING, Any

from transformers.cache_utils import DynamicLayer

if TYPE_CHECKING:
    import torch


class PrefixLayer(DynamicLayer):  # type: ignore[misc]  # transformers has no types
    """One layer's keys and values (rows, heads, tokens, width) of the prompts and of the tokens after them.

    It is what transformers asks of a layer in its Cache. Nobody changes the tensors that it was made of.
    """

    supports_early_init = False

    def __init__(
        self,
        keys: "torch.Tensor",
        values: "torch.Tensor",
        held: "tuple[torch.Tensor, torch.Tensor] | None" = None,
    ) -> None:
        super().__init__()
        self.keys, self.values, self.held = keys, values, held
        self.is_initialized = True

    def update(
        self, key_states: "torch.Tensor", value_states: "torch.Tensor", *_: Any, **__: Any
    ) -> "tuple[torch.Tensor, torch.Tensor]":
        """Store the keys and values of new tokens, and return them after all earlier ones."""
        import torch

        keys, values = key_states, value_states
        if self.held:
            keys, values = torch.cat([self.held[0], keys], dim=2), torch.cat([self.held[1], values], dim=2)
        self.held = keys, values
        return torch.cat([self.keys, keys], dim=2), torch.cat([self.values, values], dim=2)

    def get_seq_length(self) -> int:
        """Return the number of tokens that were read."""
        return int(self.keys.shape[2]) + (int(self.held[0].shape[2]) if self.held else 0)

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        """Return the total number of tokens, and the index of the first."""
        return self.get_seq_length() + query_length, 0

    def keep_positions(self, indices: "torch.Tensor") -> None:
        """Drop everything after the prompts except some positions (rows, n)."""
        if self.held:
            keys, values = (held.take_along_dim(indices[:, None, :, None], dim=2) for held in self.held)
            self.held = keys, values

    def select_rows(self, rows: "torch.Tensor") -> "PrefixLayer":
        """Return a layer with only some rows."""
        held = (self.held[0][rows], self.held[1][rows]) if self.held else None
        return PrefixLayer(self.keys[rows], self.values[rows], held)

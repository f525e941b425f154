"""Log-probabilities of many choices after a prompt: the prompt is read once, then all nodes of the choices' trie.

The nodes are one more stretch of tokens behind the prompt's, where a mask lets each see the prompt and its own
beginnings, and where each stands at the position that it would have behind the prompt alone.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from eyechart.errors import ModelError
from eyechart.models.choices import Trie

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import torch


def check(module: Any) -> None:
    """Refuse a text model with layers that do not look back at everything, where a mask of our own would be wrong."""
    layers = set(getattr(module.config.get_text_config(), "layer_types", None) or ["full_attention"])
    if layers != {"full_attention"}:
        raise ModelError(
            f"{type(module).__name__} has layers of {', '.join(sorted(layers))}; hf scores choices for full attention "
            "alone. Use vllm[…] in place of hf[…]."
        )


def log_probabilities(module: Any, batch: "Mapping[str, torch.Tensor]", tries: "Sequence[Trie]") -> list[NDArray[Any]]:
    """Return for each trie the log-probabilities (n, edges) of its edges behind each prompt of a batch."""
    read = module.generate(**batch, max_new_tokens=1, return_dict_in_generate=True, output_logits=True)
    behind = batch["attention_mask"].sum(1, keepdim=True)
    planes = getattr(module.base_model, "rope_deltas", None)
    if planes is not None:  # an image takes up fewer positions than tokens, on each of three planes
        behind = behind + planes
    prompt = _Prompt(read.past_key_values, batch["attention_mask"], behind, 1 if planes is None else 3)
    return [_of_edges(read.logits[0][:, None], prompt.logits(module, trie), trie) for trie in tries]


@dataclass(frozen=True)
class _Prompt:
    """A batch of prompts that were read: their keys and values, and the positions (n, 1) behind them."""

    cache: Any
    mask: "torch.Tensor"
    behind: "torch.Tensor"
    planes: int

    def logits(self, module: Any, trie: Trie) -> "torch.Tensor":
        """Logits (n, nodes, vocabulary) at all nodes but the root; the cache is afterwards as it was."""
        import torch

        rows, device = len(self.mask), self.mask.device
        if not len(trie.inner):
            return torch.empty(rows, 0, 0, device=device)
        positions = self.behind + torch.as_tensor(trie.depths - 1, device=device)
        seen = module(
            input_ids=torch.as_tensor(trie.inner, device=device).expand(rows, -1),
            attention_mask=self._additive(trie, module.dtype),
            position_ids=positions if self.planes == 1 else positions.expand(self.planes, -1, -1),
            past_key_values=self.cache,
            use_cache=True,
        )
        self.cache.crop(-len(trie.inner))
        found: torch.Tensor = seen.logits
        return found

    def _additive(self, trie: Trie, dtype: "torch.dtype") -> "torch.Tensor":
        """The mask (n, 1, nodes, prompt and nodes): 0 where a node may look, as good as minus infinity elsewhere."""
        import torch

        among = torch.as_tensor(trie.visible, device=self.mask.device)
        prompt = self.mask.bool()[:, None].expand(-1, len(among), -1)
        sees = torch.cat([prompt, among.expand(len(self.mask), -1, -1)], dim=2)[:, None]
        return torch.zeros(sees.shape, dtype=dtype, device=sees.device).masked_fill(~sees, torch.finfo(dtype).min)


def _of_edges(first: "torch.Tensor", rest: "torch.Tensor", trie: Trie) -> NDArray[Any]:
    """Log-probabilities (n, edges) of tokens given logits (n, 1, vocabulary) at the root and at the other nodes."""
    nodes, tokens = np.array(trie.edges).T
    found = np.empty((len(first), len(nodes)), np.float32)
    at_root = nodes == 0
    found[:, at_root] = _picked(first, nodes[at_root], tokens[at_root])
    if not at_root.all():
        found[:, ~at_root] = _picked(rest, nodes[~at_root] - 1, tokens[~at_root])
    return found


def _picked(logits: "torch.Tensor", nodes: NDArray[Any], tokens: NDArray[Any]) -> NDArray[Any]:
    logits = logits.float()
    found = logits[:, nodes, tokens] - logits.logsumexp(-1)[:, nodes]
    return np.asarray(found.cpu().numpy())

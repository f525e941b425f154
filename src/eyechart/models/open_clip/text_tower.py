"""The text tower of an open_clip model; each text is truncated where the rest cannot change its features.

Under a causal mask nothing after the pooled token reaches it, so the padding up to the 77th token is work for nothing.
Towers that see their padding, such as SigLIP's, or pool what comes after it, such as CoCa's, read every token.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch


class TextTower:
    """Maps tokens to features, and truncates rows where this changes nothing."""

    def __init__(self, model: Any) -> None:
        self.pool = _causal_pool(model)
        self.prefix = "clip.text." if hasattr(model, "text") else "clip."
        self.tower = getattr(model, "text", model)
        self.module = _as_module(model)

    def lengths(self, tokens: "torch.Tensor") -> "torch.Tensor":
        """Return how many tokens of each row (m, context) its features depend on."""
        import torch

        if self.pool == "argmax":
            return tokens.argmax(dim=-1) + 1
        if self.pool == "eos":
            return (tokens == _eos(self.tower)).int().argmax(dim=-1) + 1
        return torch.full((len(tokens),), 1 if self.pool == "first" else tokens.shape[1])

    def __call__(self, tokens: "torch.Tensor") -> "torch.Tensor":
        """Return features (m, d) of rows, which may be truncated to their lengths."""
        from torch.func import functional_call

        if not self.pool:
            return self.module(tokens)  # type: ignore[no-any-return]
        context = tokens.shape[1]
        shorter = {
            f"{self.prefix}attn_mask": self.tower.attn_mask[:context, :context],
            f"{self.prefix}positional_embedding": self.tower.positional_embedding[:context],
        }
        features: torch.Tensor = functional_call(self.module, shorter, (tokens,))
        return features


def _causal_pool(model: Any) -> str:
    """Return the pooling of a text tower whose rows may be truncated; empty for any other tower."""
    from open_clip.model import CLIP
    from open_clip.transformer import TextTransformer

    tower = getattr(model, "text", model)
    if type(tower) not in (CLIP, TextTransformer) or getattr(tower, "cls_emb", None) is not None:
        return ""
    pool = tower.text_pool_type if type(tower) is CLIP else tower.pool_type
    return str(pool) if pool in ("argmax", "eos", "first") and _is_causal(tower.attn_mask) else ""


def _is_causal(mask: Any) -> bool:
    import torch

    if mask is None:
        return False
    return bool(torch.equal(mask.isneginf(), torch.ones_like(mask, dtype=torch.bool).triu(1)) and not mask.tril().any())


def _eos(tower: Any) -> int:
    token: int = tower.text_eos_id if hasattr(tower, "text_eos_id") else tower.eos_id
    return token


def _as_module(model: Any) -> Any:
    from torch import nn

    class Text(nn.Module):
        """`encode_text` as a module's forward, which is what torch can call with other parameters."""

        def __init__(self) -> None:
            super().__init__()
            self.clip = model

        def forward(self, tokens: "torch.Tensor") -> Any:
            """Return features, not normalised."""
            return self.clip.encode_text(tokens)

    return Text()

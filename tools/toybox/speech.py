"""What the words of toybox-mllm make of sequences: the states of all tokens, and scores of what is said."""

from typing import Any

from torch import Tensor
from torch.nn import functional as F  # noqa: N812  # its usual name

from toybox.lessons import Sequences
from toybox.pieces import IMAGE, Reader
from toybox.precision import mixed_precision


def text_states(text: Any, reader: Reader, features: Tensor, sequence: Sequences) -> tuple[Tensor, ...]:
    """Return what is in every token (n, length, width) after each layer."""
    shown = (sequence.tokens == reader.number(IMAGE))[..., None]
    inputs = F.embedding(sequence.tokens, text.embed_tokens.weight)
    with mixed_precision():
        states: tuple[Tensor, ...] = text(
            inputs_embeds=inputs.masked_scatter(shown, features[sequence.pictures]),
            attention_mask={"full_attention": None if sequence.single else sequence.mask()},
            position_ids=sequence.positions,
            use_cache=False,
            output_hidden_states=True,
        ).hidden_states
    return states


def answer_scores(text: Any, last: Tensor, sequence: Sequences) -> Tensor:
    """Return the scores (m, pieces) of every token that is to be said."""
    with mixed_precision():
        return F.linear(last[sequence.wanted >= 0], text.embed_tokens.weight)

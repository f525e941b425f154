"""Greedy decoding of a batch of prompts; answers that have ended leave the batch."""

from collections.abc import Callable, Collection, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, TypeAlias

from eyechart.models.hf.decoding import ReadPrompts

if TYPE_CHECKING:
    import torch

LogitsProcessor: TypeAlias = "Callable[[torch.Tensor, torch.Tensor], torch.Tensor]"
MAX_LEFT = 0.5  # the largest part of the rows whose selection costs less than to go on with all


def continue_prompts(
    read: ReadPrompts, max_tokens: int, stop_tokens: Collection[int], processors: Sequence[LogitsProcessor] = ()
) -> list[list[int]]:
    """Return the likeliest tokens after prompts that were read, up to so many, or up to a stop token."""
    state, logits = read
    answers: list[list[int]] = [[] for _ in logits]
    ended: set[int] = set()
    rows = [*range(len(answers))]  # the answers that the rows of the state belong to
    with getattr(state.model, "_optimize_model_for_decode", nullcontext)():
        for length in range(1, max_tokens + 1):
            chosen = _choose(state.tokens, logits, processors)
            tokens = chosen.tolist()
            for row, token in zip(rows, tokens, strict=True):
                answers[row].append(token)
            ended.update(row for row, token in zip(rows, tokens, strict=True) if token in stop_tokens)
            left = [index for index, row in enumerate(rows) if row not in ended]
            if not left or length == max_tokens:
                break
            if len(left) <= MAX_LEFT * len(rows):
                indices = chosen.new_tensor(left)
                state, chosen, rows = state.select(indices), chosen[indices], [rows[index] for index in left]
            state, logits = state.read(chosen[:, None])
    return answers


def _choose(tokens: "torch.Tensor", logits: "torch.Tensor", processors: Sequence[LogitsProcessor]) -> "torch.Tensor":
    """Return the likeliest next token (rows,) after tokens (rows, n)."""
    scores = logits.float()
    for process in processors:
        scores = process(tokens, scores)
    return scores.argmax(dim=-1)

"""Prompts that transformers has read, further tokens after them, one at a time, and greedy answers.

Every step is a step of transformers' own generation: its inputs, masks, positions and caches, whatever the layers of a
model are. `step` leaves a state as it is, so that many tokens can be read after the same prompt; `read` uses it up.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import nullcontext
from copy import copy, deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from eyechart.models.choices.trie import EdgeScores, Ints, Trie

if TYPE_CHECKING:
    import torch

CACHE = "past_key_values"
SETTINGS = ("generation_config", "logits_processor", "stopping_criteria")  # of a decoding method
MAX_LEFT = 0.5  # the largest part of the rows whose selection costs less than to go on with all
LogitsProcessor: TypeAlias = "Callable[[torch.Tensor, torch.Tensor], torch.Tensor]"


def read_prompts(module: Any, batch: "Mapping[str, torch.Tensor]") -> "ReadPrompts":
    """Read a batch of prompts and return their state and the logits (rows, vocabulary) of the next token."""
    from transformers import GenerationConfig

    def prefill(model: Any, tokens: "torch.Tensor", **options: Any) -> "ReadPrompts":
        inputs = {name: value for name, value in options.items() if name not in SETTINGS}
        prepared = model.prepare_inputs_for_generation(tokens, is_first_iteration=True, **inputs)
        output = model(**prepared, return_dict=True)
        return ReadPrompts(DecodingState(model, tokens, _next_inputs(model, output, inputs)), output.logits[:, -1])

    one = GenerationConfig(max_new_tokens=1)  # without one, each call builds a second configuration of the model
    read: ReadPrompts = module.generate(**batch, generation_config=one, custom_generate=prefill)
    return read


@dataclass(frozen=True)
class DecodingState:
    """The tokens (rows, length) that a model has read and the inputs of its next step, the cache among them.

    `model` is the module that continues the text; some families give theirs to a language model within them.
    """

    model: Any
    tokens: "torch.Tensor"
    inputs: Mapping[str, Any]

    @property
    def cache(self) -> Any:
        """The cache of what was read."""
        return self.inputs[CACHE]

    @property
    def numbers_per_row(self) -> int:
        """How many numbers the cache holds for a row."""
        return sum(tensor.numel() for tensor in _tensors(self.cache)) // len(self.tokens)

    def step(self, rows: "torch.Tensor", tokens: "torch.Tensor") -> "ReadPrompts":
        """Read a token (n,) after each of some rows (n,), and return the new state and its logits (n, vocabulary)."""
        return self.select(rows).read(tokens[:, None])

    def select(self, rows: "torch.Tensor") -> "DecodingState":
        """Return a state of some rows (n,) with a cache of its own."""
        inputs = {name: self._select(name, value, rows) for name, value in self.inputs.items() if name != CACHE}
        inputs[CACHE] = _fork_cache(self.cache, rows)
        return DecodingState(self.model, self.tokens[rows], inputs)

    def read(self, tokens: "torch.Tensor", mask: "torch.Tensor | None" = None) -> "ReadPrompts":
        """Read tokens (rows, n) into the cache of this state, which is of no use afterwards.

        Returns the new state and the logits of the next token. `mask` (rows, n) is false for padding before the tokens
        of a row; a state is given it only where `trie_pass.is_exact`.
        """
        import torch

        inputs = self.inputs if mask is None else self._extend_inputs(mask)
        read, new = torch.cat([self.tokens, tokens], dim=1), tokens.shape[1]
        prepared = self.model.prepare_inputs_for_generation(read, next_sequence_length=new, **inputs)
        output = self.model(**prepared, return_dict=True)
        state = DecodingState(self.model, read, _next_inputs(self.model, output, {**inputs}))
        return ReadPrompts(state, output.logits[:, -1])

    def _extend_inputs(self, mask: "torch.Tensor") -> dict[str, Any]:
        """Return the inputs of a step of several tokens, from those of a step of one token."""
        import torch

        inputs, new = {**self.inputs}, mask.shape[1]
        if new > 1:
            inputs = self.model._update_model_kwargs_for_generation({}, inputs, num_new_tokens=new - 1)
        mask_before, positions = inputs.get("attention_mask"), inputs["position_ids"]
        before = torch.ones_like(self.tokens) if mask_before is None else mask_before[:, :-new]
        inputs["attention_mask"] = torch.cat([before, mask.to(before.dtype)], dim=1)
        earlier, first = positions[..., :-new], positions[..., -new, None]
        later = first + (mask.cumsum(dim=-1) - 1).clamp(min=0)
        inputs["position_ids"] = torch.cat([earlier.expand(*later.shape[:-1], -1), later], dim=-1)
        return inputs

    def _select(self, name: str, value: Any, rows: "torch.Tensor") -> Any:
        """Return some rows of an input; what has none of its own for each row of the state stays as it is."""
        import torch

        if isinstance(value, Mapping):
            return type(value)(**{key: self._select(key, part, rows) for key, part in value.items()})
        if not isinstance(value, torch.Tensor) or not value.ndim:
            return value
        axis = value.ndim - 2 if name.endswith("position_ids") else 0  # positions may lie on several planes
        return value.index_select(axis, rows) if value.shape[axis] == len(self.tokens) else value


class ReadPrompts(NamedTuple):
    """The state of prompts that were read, and the logits (rows, vocabulary) of the next token."""

    state: DecodingState
    logits: "torch.Tensor"


def _next_inputs(model: Any, output: Any, inputs: dict[str, Any]) -> Mapping[str, Any]:
    """Return the inputs of the step after one that gave an output."""
    updated: Mapping[str, Any] = model._update_model_kwargs_for_generation(
        output, inputs, is_encoder_decoder=model.config.is_encoder_decoder
    )
    return updated


def _fork_cache(cache: Any, rows: "torch.Tensor") -> Any:
    """Return a cache of some rows; reading more tokens into it leaves the original as it is."""
    fork = _copy_containers(cache) if _is_cache(cache) else deepcopy(cache)  # a family's own may change its tensors
    fork.reorder_cache(rows)  # replaces every tensor by one with these rows
    return fork


def _copy_containers(value: Any) -> Any:
    """Copy a cache, its layers, lists and dictionaries, but none of its tensors."""
    if isinstance(value, dict):
        return {key: _copy_containers(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_copy_containers(part) for part in value]
    if not _is_cache(value):
        return value
    fork = copy(value)
    vars(fork).update({name: _copy_containers(part) for name, part in vars(value).items()})
    return fork


def _tensors(value: Any) -> "Iterator[torch.Tensor]":
    """Yield the tensors in a cache."""
    import torch

    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, list):
        for part in value:
            yield from _tensors(part)
    elif isinstance(value, dict) or hasattr(value, "reorder_cache"):
        yield from _tensors([*(value if isinstance(value, dict) else vars(value)).values()])


def _is_cache(value: Any) -> bool:
    """Return whether a value is one of transformers' caches or one of their layers."""
    return any(base.__module__ == "transformers.cache_utils" for base in type(value).__mro__)


def score_edges(trie: Trie, logits: "torch.Tensor", nodes: Ints) -> EdgeScores:
    """Return row, edge and log-probability of the edges that leave nodes (n, m) from logits (n, m, vocabulary)."""
    import torch

    rows, columns, edges = trie.outgoing_edges(nodes)
    logits = logits.float()
    row, column, token = (
        torch.as_tensor(index, device=logits.device) for index in (rows, columns, trie.edge_tokens[edges])
    )
    scores = (logits[row, column, token] - logits.logsumexp(-1)[row, column]).cpu().numpy()
    return rows, edges, scores


def continue_prompts(
    read: ReadPrompts, max_tokens: int, stop_tokens: Collection[int], processors: Sequence[LogitsProcessor] = ()
) -> list[list[int]]:
    """Return the likeliest tokens after prompts that were read, up to so many, or up to a stop token.

    Answers that have ended leave the batch.
    """
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


class ThinkingBudget:
    """A logits processor that forces the token that ends thinking after `budget` tokens; transformers has none.

    Prompts have `prompt` tokens; with `opened` they end in thinking that is open. `begin` and `end` are the tokens
    around thinking.
    """

    def __init__(self, budget: int, prompt: int, begin: int, end: int, *, opened: bool) -> None:
        self.budget, self.prompt, self.begin, self.end, self.opened = budget, prompt, begin, end, opened

    def __call__(self, input_ids: "torch.Tensor", scores: "torch.Tensor") -> "torch.Tensor":
        """Return the scores (rows, tokens) of the next token."""
        spent = [self.is_spent(row) for row in input_ids[:, self.prompt :].tolist()]
        if any(spent):
            forced = scores.new_full(scores.shape, float("-inf"))
            forced[:, self.end] = 0
            scores = forced.where(input_ids.new_tensor(spent).bool()[:, None], scores)
        return scores

    def is_spent(self, tokens: list[int]) -> bool:
        """Return whether an answer has begun thinking, has not ended it, and has spent the budget.

        >>> budget = ThinkingBudget(2, 0, 8, 9, opened=False)
        >>> budget.is_spent([8, 1]), budget.is_spent([8, 1, 1]), budget.is_spent([8, 1, 1, 9]), budget.is_spent([1, 1])
        (False, True, False, False)
        """
        if self.end in tokens or not (self.opened or self.begin in tokens):
            return False
        begun = 0 if self.opened else tokens.index(self.begin) + 1
        return len(tokens) - begun >= self.budget

"""A limit of the tokens of thinking, for transformers, which has none."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


class ThinkingBudget:
    """A logits processor that forces the token that ends thinking after `budget` tokens of it.

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

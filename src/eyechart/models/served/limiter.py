"""Limits of requests to a server: how many at once, and within which budget."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from eyechart.errors import ModelError
from eyechart.models.served.concurrency import ConcurrencyLimit
from eyechart.models.served.failures import Failures
from eyechart.models.served.prices import Prices
from eyechart.models.types import Usage

SLACK = 1e-9  # of adding up fractions


class BudgetError(ModelError):
    """Another request could cost more than what is left of the budget."""


@dataclass(frozen=True)
class Budget:
    """What a session may spend, in USD and in tokens; unlimited without limits."""

    prices: Prices | None = None
    usd: float | None = None
    tokens: int | None = None

    @property
    def is_limited(self) -> bool:
        """Whether there is a limit."""
        return self.usd is not None or self.tokens is not None

    def cost(self, usage: Usage) -> float | None:
        """Return the cost of tokens in USD, None without prices."""
        return self.prices.cost(usage) if self.prices else None

    def used_fraction(self, usage: Usage) -> float:
        """Return the fraction of the budget that tokens use, 1 for all of it."""
        tokens = (usage.prompt + usage.answer) / self.tokens if self.tokens else 0.0
        return max(tokens, (self.cost(usage) or 0.0) / self.usd if self.usd else 0.0)

    def describe_usage(self, usage: Usage) -> str:
        """Return what was spent, and of how much, as text."""
        tokens = f"{usage.prompt + usage.answer:,} tokens"
        if self.tokens is not None:
            tokens += f" of {self.tokens:,}"
        if (cost := self.cost(usage)) is None:
            return tokens
        return f"{cost:.4f} USD{'' if self.usd is None else f' of {self.usd:g} USD'} and {tokens}"


class RequestLimiter:
    """Counts pending requests and spent tokens; used within one event loop."""

    def __init__(self, most: int, budget: Budget) -> None:
        self.most, self.budget = most, budget
        self.concurrency = ConcurrencyLimit(most)
        self.failures = Failures()
        self.spent = Usage()
        self.known: set[str] = set()  # the ids of requests whose tokens are counted
        self.cached = Usage()  # what answers of earlier runs took
        self.shut: ModelError | None = None
        self.under_way = 0
        self.dearest = 0.0  # share of the budget that one request took
        self.rebind()

    def rebind(self) -> None:
        """Use another event loop and keep the account."""
        self.changed = asyncio.Condition()

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Wait for a free slot and hold it; raise BudgetError if the rest of the budget may not suffice."""
        async with self.changed:
            await self.changed.wait_for(
                lambda: not self.under_way or (self.under_way < self.concurrency.limit and self.can_afford_next)
            )
            if self.shut:
                raise type(self.shut)(*self.shut.args)
            if not self.can_afford_next:
                raise BudgetError(
                    f"The budget is used up: {self.budget.describe_usage(self.total)}, kept answers of "
                    "earlier runs included. Answers so far are kept; raise the budget, and run again: only what is "
                    "missing is asked."
                )
            self.under_way += 1
        try:
            yield
        finally:
            self.under_way -= 1
            async with self.changed:
                self.changed.notify_all()

    @property
    def has_answers(self) -> bool:
        """Whether any request was answered."""
        return self.spent != Usage()

    @property
    def total(self) -> Usage:
        """The tokens used by this session, and before it for the same requests."""
        return self.cached + self.spent

    @property
    def can_afford_next(self) -> bool:
        """Whether all pending requests and one more could cost as much as the most expensive so far."""
        return self.budget.used_fraction(self.total) + (self.under_way + 1) * self.dearest <= 1 + SLACK

    def on_cached_usage(self, usages: Mapping[str, Usage]) -> None:
        """Count what earlier runs paid, once per request."""
        for request_id in usages.keys() - self.known:
            self.cached += usages[request_id]
            self.dearest = max(self.dearest, self.budget.used_fraction(usages[request_id]))
        self.known.update(usages)

    def charge(self, usage: Usage) -> None:
        """Count the tokens of a request."""
        if self.budget.is_limited and not usage.prompt:
            raise ModelError(
                "The server reports no token counts (usage), so that a budget cannot be kept. Leave out budget and "
                "budget_tokens."
            )
        self.spent += usage
        self.dearest = max(self.dearest, self.budget.used_fraction(usage))

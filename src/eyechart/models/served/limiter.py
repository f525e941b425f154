"""Limits of requests to a server: how many at once, and within which budget."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from math import log

from eyechart.errors import ModelError
from eyechart.models.served.failures import Failures
from eyechart.models.served.prices import Prices
from eyechart.models.types import Usage

SLACK = 1e-9  # of adding up fractions

START = 4
ROUND = 16  # responses that one comparison needs at least
WEIGHT = 0.2  # of L in the logarithm of power
STEP = 1.25  # factor between two limits that are compared, after the first doublings
CUT = 0.7  # factor after a server said that it is overloaded
SATURATED = 0.8  # fraction of the limit that must be pending for a comparison to say something
MAX_HOLD = 16  # rounds without a new comparison


class ConcurrencyLimit:
    """How many requests may be pending, from 1 to `most`: few at first, and more as long as that pays.

    Pending requests L and their mean latency R give the throughput L / R (Little's law). The limit climbs to the knee
    of the curve of latency over throughput, where Kleinrock's power, throughput over a power of L, is greatest: at a
    server with k slots that is L = k, whatever its latency is; where latency rises with every request, it is 80 % of
    the highest throughput. A server that says that it is overloaded (429, 503, 529) lowers the limit at once.

    `on_response` and `on_overload` move it.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.limit = self._base = min(START, most)
        self._score: float | None = None  # of the base
        self._upwards, self._doubling = True, True
        self._hold, self._next_hold = 0, 1
        self._epoch = 0
        self._responses, self._seconds, self._peak = 0, 0.0, 0

    def on_request(self, pending: int) -> int:
        """Note that a request is sent while `pending` are, itself included; return the epoch for its response."""
        self._peak = max(self._peak, pending)
        return self._epoch

    def on_response(self, epoch: int, seconds: float) -> None:
        """Note the latency of a response; those to requests that were sent under another limit say nothing."""
        if epoch != self._epoch:
            return
        self._responses += 1
        self._seconds += seconds
        if self._responses >= max(ROUND, self.limit):
            saturated, latency = self._peak >= SATURATED * self.limit, self._seconds / self._responses
            self._begin_round()
            if saturated:
                self._compare((1 - WEIGHT) * log(self.limit) - log(max(latency, 1e-6)))

    def on_overload(self, epoch: int) -> None:
        """Lower the limit, once for all requests that were sent under it."""
        if epoch == self._epoch:
            self._doubling, self._upwards, self._hold = False, True, 1
            self._base = max(1, int(self.limit * CUT))
            self._score = None
            self._move(self._base)

    def forget_latency(self) -> None:
        """Start anew with the present limit, for requests of another kind."""
        self._score, self._base = None, self.limit
        self._begin_round()

    def _begin_round(self) -> None:
        self._responses, self._seconds, self._peak = 0, 0.0, 0

    def _move(self, limit: int) -> None:
        self.limit = limit
        self._epoch += 1
        self._begin_round()

    def _compare(self, score: float) -> None:
        """Keep the limit if it is better than the base, else return to the base; then try the next one."""
        if self.limit == self._base:
            self._score = score
            self._hold -= 1
            if self._hold < 0:
                self._try_next()
        elif self._score is None or score > self._score:
            self._base, self._score, self._next_hold = self.limit, score, 1
            self._try_next()
        else:
            self._turn()
            self._move(self._base)

    def _turn(self) -> None:
        """Try the other direction, after a pause that grows."""
        self._upwards, self._doubling = not self._upwards, False
        self._hold, self._next_hold = self._next_hold, min(MAX_HOLD, 2 * self._next_hold)

    def _try_next(self) -> None:
        factor = 2 if self._doubling else STEP
        up, down = max(self._base + 1, round(self._base * factor)), min(self._base - 1, round(self._base / STEP))
        limit = min(self.most, up) if self._upwards else max(1, down)
        if limit == self._base:
            self._turn()
        else:
            self._move(limit)


class _BudgetError(ModelError):
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
        """Wait for a free slot and hold it; raise _BudgetError if the rest of the budget may not suffice."""
        async with self.changed:
            await self.changed.wait_for(
                lambda: not self.under_way or (self.under_way < self.concurrency.limit and self.can_afford_next)
            )
            if self.shut:
                raise type(self.shut)(*self.shut.args)
            if not self.can_afford_next:
                raise _BudgetError(
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

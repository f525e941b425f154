"""The limit of concurrent requests, in a simulation of servers: no clock, no thread."""

import heapq
import random
from collections.abc import Callable
from statistics import mean, median

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from eyechart.models.served.limiter import CUT, START, ConcurrencyLimit

Latency = Callable[[int], float]  # the seconds of a request that is sent while so many are pending, itself included


def simulate(limit: ConcurrencyLimit, latency: Latency, requests: int, refuse_above: float = float("inf")) -> list[int]:
    """Send requests whenever the limit allows; return the limit after each response."""
    now, pending, limits = 0.0, [], []
    for number in range(requests):
        while len(pending) < limit.limit:
            epoch = limit.on_request(len(pending) + 1)
            refused = len(pending) + 1 > refuse_above
            seconds = 0.01 if refused else latency(len(pending) + 1)
            heapq.heappush(pending, (now + seconds, number, len(pending), epoch, seconds, refused))
        now, _, _, epoch, seconds, refused = heapq.heappop(pending)
        if refused:
            limit.on_overload(epoch)
        else:
            limit.on_response(epoch, seconds)
        limits.append(limit.limit)
    return limits


def slots(k: int, seconds: float, spread: float = 0, seed: int = 0) -> Latency:
    """A server with k slots: requests beyond these wait."""
    draw = random.Random(seed)
    return lambda pending: seconds * max(1.0, pending / k) * draw.lognormvariate(0, spread)


@given(some.integers(1, 64), some.floats(0.01, 100))
@settings(max_examples=40)
def test_the_limit_settles_at_the_slots_of_a_server(k: int, seconds: float) -> None:
    limits = simulate(ConcurrencyLimit(256), slots(k, seconds), 120 * k + 1000)
    assert 0.75 * k <= median(limits[len(limits) // 2 :]) <= 1.35 * k


@pytest.mark.parametrize("k", [2, 10, 40])
def test_the_limit_settles_where_latencies_vary(k: int) -> None:
    ends = [simulate(ConcurrencyLimit(256), slots(k, 1, 0.5, seed), 4000 + 100 * k) for seed in range(10)]
    assert 0.6 * k <= median(median(limits[len(limits) // 2 :]) for limits in ends) <= 1.8 * k


def test_latency_that_rises_with_every_request_keeps_most_of_the_throughput() -> None:
    limits = simulate(ConcurrencyLimit(256), lambda pending: 1 + pending / 10, 20_000)
    settled = mean(limits[10_000:])
    assert 0.7 <= settled / (10 + settled) <= 0.88  # of the highest throughput


@pytest.mark.parametrize("most", [1, 3, 16, 100])
def test_a_server_without_limits_gets_as_many_requests_as_are_allowed(most: int) -> None:
    limits = simulate(ConcurrencyLimit(most), lambda pending: 1.0, 5000)
    assert limits[0] == min(START, most)
    assert max(limits) == median(limits[-1000:]) == most


def test_growth_is_fast_at_first() -> None:
    assert simulate(ConcurrencyLimit(64), lambda pending: 1.0, 200)[-1] == 64


@pytest.mark.parametrize("k", [1, 2, 8, 30])
def test_refusals_of_an_overloaded_server_lower_the_limit(k: int) -> None:
    limits = simulate(ConcurrencyLimit(256), lambda pending: 1.0, 4000 + 200 * k, refuse_above=k)
    assert 0.6 * k <= mean(limits[len(limits) // 2 :]) <= 1.3 * max(k, 1.2)


def test_one_overload_is_one_cut() -> None:
    limit = ConcurrencyLimit(64)
    simulate(limit, lambda pending: 1.0, 200)
    epochs = [limit.on_request(number) for number in range(64)]
    for epoch in epochs:
        limit.on_overload(epoch)
    assert limit.limit == int(64 * CUT)


def test_a_server_that_becomes_slower_gets_fewer_requests() -> None:
    limit = ConcurrencyLimit(64)
    assert simulate(limit, slots(40, 1), 3000)[-1] >= 30
    assert median(simulate(limit, slots(5, 1), 6000)[-1000:]) <= 10


def test_too_few_requests_to_fill_the_limit_say_nothing() -> None:
    limit = ConcurrencyLimit(64)
    for _ in range(1000):
        limit.on_response(limit.on_request(1), 1)
    assert limit.limit == START


@given(some.integers(1, 50), some.lists(some.tuples(some.booleans(), some.integers(-3, 3), some.floats(0, 1e6))))
def test_the_limit_stays_within_its_bounds(most: int, events: list[tuple[bool, int, float]]) -> None:
    limit = ConcurrencyLimit(most)
    for overload, shift, seconds in events:
        epoch = limit.on_request(limit.limit) + shift
        if overload:
            limit.on_overload(epoch)
        else:
            limit.on_response(epoch, seconds)
        assert 1 <= limit.limit <= most

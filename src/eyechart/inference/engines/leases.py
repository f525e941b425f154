"""Leases: the images or requests that workers answer, and what happens when a worker is lost.

A worker is a process that may end at any time. What it has answered is kept, and the rest of its lease goes to another
worker. A lease whose workers are lost again and again is divided, until one image or request is left, which becomes an
error.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from eyechart.inference.engines.local import LocalEngine, batches
from eyechart.inference.requests import ImageRequest, ScoreTexts, TextRequest

MAX_LOSSES = 3  # workers that a lease may lose before it is divided
IN_FLIGHT = 2  # leases of a worker: it begins the second without waiting for the process that gives them
LOST = "The process of the model was lost"
T = TypeVar("T")


@dataclass(frozen=True)
class Lease:
    """Numbers of images or requests, and how many workers were lost while they worked on them."""

    numbers: tuple[int, ...]
    losses: int = 0

    def split(self) -> "tuple[Lease, ...]":
        """Return the leases that replace this one after it lost a worker; none for a single number that lost most."""
        if self.losses + 1 < MAX_LOSSES:
            return (Lease(self.numbers, self.losses + 1),)
        middle = len(self.numbers) // 2
        halves = (self.numbers[:middle], self.numbers[middle:]) if middle else ()
        # one more loss divides a half again; a single number has two tries, since a machine may be lost by chance
        return tuple(Lease(half, MAX_LOSSES - 1 - (len(half) == 1)) for half in halves)


@dataclass(frozen=True)
class Received(Generic[T]):
    """An answer to some numbers of a lease."""

    numbers: tuple[int, ...]
    value: T


@dataclass(frozen=True)
class Ended:
    """A worker has answered all of its lease, or was lost; `started` tells whether it had begun to work on it."""

    lease: Lease
    lost: str = ""
    started: bool = True


class Workers(Protocol[T]):
    """Processes that answer leases."""

    def submit(self, lease: Lease) -> bool:
        """Give a lease to a worker; return False if none has room for it."""

    def wait(self) -> "Iterable[Received[T] | Ended]":
        """Wait until something happens, and return it."""


def answer_leases(leases: Sequence[Lease], workers: Workers[T]) -> Iterator[Received[T | str]]:
    """Yield an answer to every number of the leases once, in the order of arrival; a string is an error.

    Answers that arrive a second time are dropped.
    """
    queue = deque(leases)
    missing = {number for lease in leases for number in lease.numbers}
    while missing:
        while queue and workers.submit(queue[0]):
            queue.popleft()
        for event in workers.wait():
            if isinstance(event, Received):
                if missing.issuperset(event.numbers):
                    missing.difference_update(event.numbers)
                    yield Received(event.numbers, event.value)
                continue
            left = Lease(tuple(number for number in event.lease.numbers if number in missing), event.lease.losses)
            if not left.numbers:
                continue
            if again := left.split() if event.started and event.lost else (left,):
                queue.extendleft(reversed(again))
            else:
                missing.difference_update(left.numbers)
                yield Received(left.numbers, f"{event.lost} several times while it worked on this alone")


def cut(numbers: Sequence[int], size: int) -> list[Lease]:
    """Cut numbers into leases.

    >>> [lease.numbers for lease in cut([3, 4, 8], 2)]
    [(3, 4), (8,)]
    """
    return [Lease(tuple(batch)) for batch in batches(numbers, size)]


def answer_lease(
    engine: LocalEngine, model: Any, request: Any, dataset: Any, numbers: Sequence[int]
) -> Iterator[tuple[tuple[int, ...], Any]]:
    """Yield the numbers of images, texts or requests with their answer, as the engine yields it."""
    if isinstance(request, TextRequest):
        yield tuple(numbers), engine.answer_texts(request, model)
    elif isinstance(request, ImageRequest | ScoreTexts):
        answers = (
            engine.score_texts(request, model, numbers)
            if isinstance(request, ScoreTexts)
            else engine.answer_images(request, model, dataset, numbers)
        )
        for part in answers:
            yield (*part.indices, *part.errors), part
    else:
        for number, answer in engine.answer_requests(request, model, dataset, numbers):
            yield (number,), answer

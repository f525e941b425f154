"""Work units: the images or requests that workers answer, and what happens when a worker is lost.

A worker is a process that may end at any time. What it has answered is kept, and the rest of its work unit goes to
another worker. A work unit whose workers are lost again and again is divided, until one image or request is left, which
becomes an error.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Any, Generic, Protocol, TypeVar

from eyechart.data.dataset.dataset import Dataset
from eyechart.inference.engines.local import LocalEngine
from eyechart.inference.requests.row_requests import BaseRequest, ScoreChoices
from eyechart.inference.requests.text_requests import Generate

MAX_LOSSES = 3  # workers that a work unit may lose before it is divided
IN_FLIGHT = 2  # work units of a worker: it reads the images of the second while the model works on the first
LOST = "The process of the model was lost"
MOST_BATCHES = 4  # of a work unit: each work unit has costs of its own, and a lost one is asked again
BATCHES_LEFT = 4  # a work unit gets one batch for every four that are left for each worker
T = TypeVar("T")


@dataclass(frozen=True)
class WorkUnit:
    """Numbers of images or requests, and how many workers were lost while they worked on them.

    A worker with an exclusive work unit has no other one: if the worker is lost, this work unit was the cause.
    """

    numbers: tuple[int, ...]
    losses: int = 0
    exclusive: bool = False

    def split(self) -> "tuple[WorkUnit, ...]":
        """Return the work units that replace this one after it lost a worker; none for one number that lost most."""
        # 1. The first losses may have nothing to do with this work unit: it is tried again as a whole, and alone with
        #    its worker, so that the next loss can be blamed on it.
        if self.losses + 1 < MAX_LOSSES:
            return (WorkUnit(self.numbers, self.losses + 1, exclusive=True),)
        # 2. It was lost too often: each half is tried. A single number cannot be divided, and becomes an error.
        middle = len(self.numbers) // 2
        halves = (self.numbers[:middle], self.numbers[middle:]) if middle else ()
        # 3. One more loss divides a half again. A single number has two tries, since a machine may be lost by chance.
        return tuple(WorkUnit(half, MAX_LOSSES - 1 - (len(half) == 1), exclusive=True) for half in halves)


@dataclass(frozen=True)
class Received(Generic[T]):
    """An answer to some numbers of a work unit."""

    numbers: tuple[int, ...]
    value: T


@dataclass(frozen=True)
class Ended:
    """A worker has answered a whole work unit, or was lost; `first`: whether the unit was the oldest of the worker."""

    work_unit: WorkUnit
    lost: str = ""
    first: bool = True


class Workers(Protocol[T]):
    """Processes that answer work units."""

    def submit(self, work_unit: WorkUnit) -> bool:
        """Give a work unit to a worker; return False if none has room for it."""

    def wait(self) -> "Iterable[Received[T] | Ended]":
        """Wait until something happens, and return it."""


def answer_work_units(work_units: Sequence[WorkUnit], workers: Workers[T]) -> Iterator[Received[T | str]]:
    """Yield an answer to every number of the work units once, in the order of arrival; a string is an error.

    Answers that arrive a second time are dropped.
    """
    queue = deque(work_units)
    missing = {number for work_unit in work_units for number in work_unit.numbers}
    while missing:
        # 1. Every worker with room gets the next work unit.
        while queue and workers.submit(queue[0]):
            queue.popleft()
        for event in workers.wait():
            # 2. An answer counts once. A worker that was believed to be lost may answer after another one did.
            if isinstance(event, Received):
                if missing.issuperset(event.numbers):
                    missing.difference_update(event.numbers)
                    yield Received(event.numbers, event.value)
                continue
            # 3. A work unit has ended. What it did not answer is asked again. If it answered something since, earlier
            #    losses do not count. A loss counts only for the oldest work unit of a worker, on which it worked.
            numbers = tuple(number for number in event.work_unit.numbers if number in missing)
            if not numbers:
                continue
            losses = event.work_unit.losses if numbers == event.work_unit.numbers else 0
            left = WorkUnit(numbers, losses, exclusive=event.work_unit.exclusive or bool(event.lost))
            if again := left.split() if event.first and event.lost else (left,):
                queue.extendleft(reversed(again))
            else:
                missing.difference_update(left.numbers)
                yield Received(left.numbers, f"{event.lost} several times while it worked on this alone")


def can_take(held: Iterable[WorkUnit], work_unit: WorkUnit) -> bool:
    """Return whether a worker that has some work units can take one more."""
    held = [*held]
    return not held or (len(held) < IN_FLIGHT and not any(other.exclusive for other in (work_unit, *held)))


def cut(numbers: Sequence[int], size: int, workers: int = 1) -> list[WorkUnit]:
    """Cut numbers into work units of one to four batches. The last ones are small, so that workers end together.

    >>> [work_unit.numbers for work_unit in cut([3, 4, 8], 2)]
    [(3, 4), (8,)]
    >>> [len(work_unit.numbers) for work_unit in cut(range(64), 2, workers=2)]
    [8, 6, 6, 4, 4, 4, 4, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2]
    """
    cuts, start = list[WorkUnit](), 0
    while start < len(numbers):
        left = ceil((len(numbers) - start) / size)
        stop = start + size * max(1, min(MOST_BATCHES, left // (BATCHES_LEFT * workers)))
        cuts.append(WorkUnit(tuple(numbers[start:stop])))
        start = stop
    return cuts


@dataclass(frozen=True)
class Job:
    """A request, and the data set of its images."""

    request: BaseRequest
    dataset: Dataset | None

    @property
    def sent_once(self) -> "Job":
        """What every worker needs, whatever work units it has."""
        if self.dataset is None or self.request.row_per_image:
            return Job(self.request, None)
        return Job(self.request, self.dataset.part(range(len(self.dataset))))

    def images(self, work_unit: WorkUnit) -> Dataset | None:
        """Return the images that are sent with a work unit, None if there are none.

        The whole index of a large split would fill the memory of a worker.
        """
        if self.dataset is None or not self.request.row_per_image:
            return None
        return self.dataset.part(work_unit.numbers)


def answer_work_unit(
    engine: LocalEngine, model: Any, job: Job, numbers: Sequence[int], images: Dataset | None
) -> Iterator[tuple[tuple[int, ...], Any]]:
    """Yield the numbers of images, texts or requests with their answer, as the engine yields it."""
    request = job.request
    if request.row_per_image:
        assert images is not None
        for part in engine.answer_images(request, model, images, range(len(numbers))):
            indices = tuple(numbers[index] for index in part.indices)
            errors = {numbers[index]: error for index, error in part.errors.items()}
            yield (*indices, *errors), replace(part, indices=indices, errors=errors)
    elif isinstance(request, ScoreChoices):
        for part in engine.score_texts(request, model, numbers):
            yield (*part.indices, *part.errors), part
    elif isinstance(request, Generate):
        for number, answer in engine.answer_requests(request, model, job.dataset, numbers):
            yield (number,), answer
    else:
        yield tuple(numbers), engine.answer_texts(request, model)

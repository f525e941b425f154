"""A simulation of large clusters: where the process that gives work units becomes the limit, and what preemptions cost.

`python -m tests.speed.simulation` prints the table of docs/cluster.md. The work unit loop is the real one
(`engines.work_units.answer_work_units`); workers, their losses and the time are simulated as discrete events.
"""

import heapq
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple

from eyechart.inference.engines.work_units import IN_FLIGHT, Ended, Received, WorkUnit, answer_work_units

GPUS = (1, 8, 64, 512)
IMAGES = 1_280_000  # ImageNet's training images
AWAY = 300.0  # seconds until a GPU that was taken away is back
COLUMNS = ("work", "GPUs", "efficiency", "driver busy", "with preemptions", "work units lost")


class Work(NamedTuple):
    """The seconds of a work unit on a GPU and in the process that sends it, and the number of work units."""

    name: str
    work_unit: float
    driver: float
    work_units: int


# The costs in the driver were measured with `tests.speed.cluster`, for work units of four batches: 3.3 ms for one of
# 64 x 1,000 numbers, and 13.6 ms for 512 x 1,000. A message with the replies of a second takes 1.2 ms, a reply 0.1 ms.
WORKS = (
    Work("small encoder, 1,000 images/s, batches of 64", 0.256, 0.0132, IMAGES // 256),
    Work("the same, batches of 512", 2.048, 0.0544, IMAGES // 2048),
    Work("large encoder, 100 images/s, batches of 64", 2.56, 0.0132, IMAGES // 256),
    Work("language model, 4 requests/s, work units of 256", 64.0, 0.1024, IMAGES // 256),
)


@dataclass
class SimulatedWorker:
    """A GPU: its work units, the first of which it works on, and how often it was lost."""

    work_units: deque[WorkUnit] = field(default_factory=deque)
    lives: int = 0
    is_there: bool = True


class SimulatedWorkers:
    """Workers on a virtual clock; each is lost after an exponential time with a mean of `lifetime` seconds."""

    def __init__(self, work: Work, count: int, lifetime: float = float("inf"), seed: int = 0) -> None:
        self.work, self.lifetime, self.random = work, lifetime, Random(seed)
        self.workers = [SimulatedWorker() for _ in range(count)]
        self.events: list[tuple[float, int, str, int, int]] = []  # time, order, kind, worker, its life
        self.now = self.busy = 0.0
        self.order = self.losses = 0
        self.room = [deque(range(count)), deque[int]()]  # workers with no work unit, and with one
        for number in range(count):
            self.schedule_loss(number)

    def schedule(self, time: float, kind: str, number: int) -> None:
        """Add an event of a worker."""
        self.order += 1
        heapq.heappush(self.events, (time, self.order, kind, number, self.workers[number].lives))

    def schedule_loss(self, number: int) -> None:
        """Draw when a worker is lost."""
        if self.lifetime < float("inf"):
            self.schedule(self.now + self.random.expovariate(1 / self.lifetime), "lost", number)

    def submit(self, work_unit: WorkUnit) -> bool:
        """Give a work unit to a worker with none, else to one with a single work unit."""
        for held, numbers in enumerate(self.room):
            while numbers and not (held and work_unit.exclusive):
                number = numbers.popleft()
                worker = self.workers[number]
                if worker.is_there and len(worker.work_units) == held:
                    worker.work_units.append(work_unit)
                    if held == 0:
                        self.schedule(self.now + self.work.work_unit, "done", number)
                    if held + 1 < IN_FLIGHT and not work_unit.exclusive:
                        self.room[held + 1].append(number)
                    return True
        return False

    def wait(self) -> Iterator[Received[None] | Ended]:
        """Go to the next event that concerns a work unit."""
        while True:
            time, _, kind, number, life = heapq.heappop(self.events)
            worker = self.workers[number]
            if life != worker.lives:
                continue
            self.now = max(self.now, time)
            if kind == "back":
                worker.is_there = True
                self.room[0].append(number)
                self.schedule_loss(number)
                return
            yield from self.lose(number) if kind == "lost" else self.finish(number, time)
            return

    def finish(self, number: int, time: float) -> Iterator[Received[None] | Ended]:
        """A worker answered its first work unit and goes on with the next; the driver takes its time to store it."""
        worker = self.workers[number]
        work_unit = worker.work_units.popleft()
        if worker.work_units:
            self.schedule(time + self.work.work_unit, "done", number)
        self.room[len(worker.work_units)].append(number)
        self.now += self.work.driver
        self.busy += self.work.driver
        yield Received(work_unit.numbers, None)
        yield Ended(work_unit)

    def lose(self, number: int) -> Iterator[Ended]:
        """A worker is lost with its work units, and comes back later."""
        worker = self.workers[number]
        lost, worker.work_units = worker.work_units, deque()
        worker.lives += 1
        worker.is_there = False
        self.losses += len(lost)
        self.schedule(self.now + AWAY, "back", number)
        yield from (Ended(work_unit, "lost", first=index == 0) for index, work_unit in enumerate(lost))


def simulate(work: Work, count: int, lifetime: float = float("inf")) -> tuple[float, float, int]:
    """Return the efficiency, the part of the time that the driver is busy, and the number of lost work units."""
    workers = SimulatedWorkers(work, count, lifetime)
    answered = sum(1 for _ in answer_work_units([WorkUnit((number,)) for number in range(work.work_units)], workers))
    assert answered == work.work_units
    return work.work_units * work.work_unit / count / workers.now, workers.busy / workers.now, workers.losses


def rows() -> Iterator[tuple[str, ...]]:
    """Yield the rows of the table; with preemptions, each GPU is taken away once in two hours on average."""
    for work in WORKS:
        for count in GPUS:
            efficiency, busy, _ = simulate(work, count)
            preempted, _, losses = simulate(work, count, lifetime=7200.0)
            yield work.name, str(count), f"{efficiency:.2f}", f"{busy:.0%}", f"{preempted:.2f}", str(losses)


if __name__ == "__main__":
    print("\n".join(f"| {' | '.join(row)} |" for row in (COLUMNS, *rows())))

"""Work units: whatever workers are lost, in whatever order answers arrive, each number is answered once."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from eyechart.inference.engines.work_units import (
    MAX_LOSSES,
    Ended,
    Received,
    WorkUnit,
    answer_work_units,
    can_take,
    cut,
)


@dataclass
class Worker:
    """A process that answers its work units in any order, since it reads images of one while the model has another."""

    work_units: list[WorkUnit] = field(default_factory=list)
    answered: dict[WorkUnit, int] = field(default_factory=dict)


@dataclass
class RandomWorkers:
    """Workers that are lost by chance and for numbers that no worker survives.

    Some answers arrive twice, some of those with numbers that are missing, and some after the end of their worker.
    """

    draw: st.DataObject
    workers: list[Worker]
    deadly: frozenset[int]
    losses_left: int
    asked: dict[int, int] = field(default_factory=dict)
    lost_alone: dict[int, int] = field(default_factory=dict)
    late: list[int] = field(default_factory=list)
    repeated: set[int] = field(default_factory=set)

    def submit(self, work_unit: WorkUnit) -> bool:
        """Give a work unit to a worker with room."""
        free = [worker for worker in self.workers if can_take(worker.work_units, work_unit)]
        if not free:
            return False
        self.draw.draw(st.sampled_from(free)).work_units.append(work_unit)
        return True

    def wait(self) -> Iterator[Received[int] | Ended]:
        """Let one worker answer its next number, end a work unit or be lost."""
        if self.late and self.draw.draw(st.booleans()):
            number = self.late.pop()
            yield Received((number,), number * number)
        working = [worker for worker in self.workers if worker.work_units]
        if not working:
            return
        worker = self.draw.draw(st.sampled_from(working))
        work_unit = self.draw.draw(st.sampled_from(worker.work_units))
        answered = worker.answered.get(work_unit, 0)
        if answered == len(work_unit.numbers):
            worker.work_units.remove(work_unit)
            worker.answered.pop(work_unit)
            yield Ended(work_unit)
            return
        number = work_unit.numbers[answered]
        by_chance = self.losses_left > 0 and self.draw.draw(st.booleans())
        self.losses_left -= by_chance
        if number in self.deadly or by_chance:
            if len(work_unit.numbers) == 1:
                self.lost_alone[number] = self.lost_alone.get(number, 0) + 1
            if number not in self.deadly and self.draw.draw(st.booleans()):
                self.late.append(number)
                self.repeated.add(number)
            lost, worker.work_units, worker.answered = worker.work_units, [], {}
            yield from (Ended(one, "lost", first=index == 0) for index, one in enumerate(lost))
            return
        worker.answered[work_unit] = answered + 1
        self.asked[number] = self.asked.get(number, 0) + 1
        yield Received((number,), number * number)
        if self.draw.draw(st.booleans()):
            yield Received(self.draw.draw(st.sampled_from([(number,), work_unit.numbers])), -1)  # a late duplicate


@given(
    st.data(),
    st.integers(0, 12),
    st.integers(1, 5),
    st.integers(1, 4),
    st.frozensets(st.integers(0, 11), max_size=2),
    st.integers(0, 3),
)
def test_every_number_is_answered_once_or_is_an_error_after_losses_of_its_own(
    data: st.DataObject, count: int, size: int, workers: int, deadly: frozenset[int], losses: int
) -> None:
    """A number that no worker survives becomes an error; the others get their answer, unless chance hit them alone."""
    process = RandomWorkers(data, [Worker() for _ in range(workers)], deadly, losses)
    received = list(answer_work_units(cut(range(count), size), process))
    numbers = [number for part in received for number in part.numbers]
    assert sorted(numbers) == list(range(count))
    for part in received:
        if isinstance(part.value, str):
            assert len(part.numbers) == 1
            assert part.numbers[0] in deadly or process.lost_alone[part.numbers[0]] >= MAX_LOSSES - 1
        else:
            assert part.value == part.numbers[0] ** 2
    # what was received is never asked again, unless it came after its work unit was given to another worker
    assert {number for number, times in process.asked.items() if times > 1} <= process.repeated


@given(st.lists(st.booleans(), max_size=2), st.booleans())
def test_a_work_unit_that_lost_a_worker_is_alone_at_the_next(held: list[bool], exclusive: bool) -> None:
    work_units = [WorkUnit((number,), exclusive=value) for number, value in enumerate(held)]
    room = not held or (len(held) < 2 and not exclusive and not any(held))
    assert can_take(work_units, WorkUnit((9,), exclusive=exclusive)) == room


def test_a_work_unit_is_divided_after_losses_until_one_number_is_left() -> None:
    """Four numbers lose three workers, halves one more each, and a single number two."""
    work_unit = WorkUnit((4, 5, 6, 7))
    first = work_unit.split()
    second = first[0].split()
    halves = second[0].split()
    assert [half.numbers for half in halves] == [(4, 5), (6, 7)]
    singles = halves[0].split()
    assert [single.numbers for single in singles] == [(4,), (5,)]
    (again,) = singles[0].split()
    assert again.split() == ()

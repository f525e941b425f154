"""Leases: whatever workers are lost, in whatever order answers arrive, each number is answered once."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from eyechart.inference.engines.leases import MAX_LOSSES, Ended, Lease, Received, answer_leases, can_take, cut


@dataclass
class Worker:
    """A process that works on its leases in any order, as it reads images of one while the model works on another."""

    leases: list[Lease] = field(default_factory=list)
    answered: dict[Lease, int] = field(default_factory=dict)


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

    def submit(self, lease: Lease) -> bool:
        """Give a lease to a worker with room."""
        free = [worker for worker in self.workers if can_take(worker.leases, lease)]
        if not free:
            return False
        self.draw.draw(st.sampled_from(free)).leases.append(lease)
        return True

    def wait(self) -> Iterator[Received[int] | Ended]:
        """Let one worker answer its next number, end a lease or be lost."""
        if self.late and self.draw.draw(st.booleans()):
            number = self.late.pop()
            yield Received((number,), number * number)
        working = [worker for worker in self.workers if worker.leases]
        if not working:
            return
        worker = self.draw.draw(st.sampled_from(working))
        lease = self.draw.draw(st.sampled_from(worker.leases))
        answered = worker.answered.get(lease, 0)
        if answered == len(lease.numbers):
            worker.leases.remove(lease)
            worker.answered.pop(lease)
            yield Ended(lease)
            return
        number = lease.numbers[answered]
        by_chance = self.losses_left > 0 and self.draw.draw(st.booleans())
        self.losses_left -= by_chance
        if number in self.deadly or by_chance:
            if len(lease.numbers) == 1:
                self.lost_alone[number] = self.lost_alone.get(number, 0) + 1
            if number not in self.deadly and self.draw.draw(st.booleans()):
                self.late.append(number)
                self.repeated.add(number)
            lost, worker.leases, worker.answered = worker.leases, [], {}
            yield from (Ended(one, "lost", first=place == 0) for place, one in enumerate(lost))
            return
        worker.answered[lease] = answered + 1
        self.asked[number] = self.asked.get(number, 0) + 1
        yield Received((number,), number * number)
        if self.draw.draw(st.booleans()):
            yield Received(self.draw.draw(st.sampled_from([(number,), lease.numbers])), -1)  # a late duplicate


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
    received = list(answer_leases(cut(range(count), size), process))
    numbers = [number for part in received for number in part.numbers]
    assert sorted(numbers) == list(range(count))
    for part in received:
        if isinstance(part.value, str):
            assert len(part.numbers) == 1
            assert part.numbers[0] in deadly or process.lost_alone[part.numbers[0]] >= MAX_LOSSES - 1
        else:
            assert part.value == part.numbers[0] ** 2
    # what was received is never asked again, unless it came after its lease was given to another worker
    assert {number for number, times in process.asked.items() if times > 1} <= process.repeated


@given(st.lists(st.booleans(), max_size=2), st.booleans())
def test_a_lease_that_lost_a_worker_is_alone_at_the_next(held: list[bool], exclusive: bool) -> None:
    leases = [Lease((number,), exclusive=value) for number, value in enumerate(held)]
    room = not held or (len(held) < 2 and not exclusive and not any(held))
    assert can_take(leases, Lease((9,), exclusive=exclusive)) == room


def test_a_lease_is_divided_after_losses_until_one_number_is_left() -> None:
    """Four numbers lose three workers, halves one more each, and a single number two."""
    lease = Lease((4, 5, 6, 7))
    first = lease.split()
    second = first[0].split()
    halves = second[0].split()
    assert [half.numbers for half in halves] == [(4, 5), (6, 7)]
    singles = halves[0].split()
    assert [single.numbers for single in singles] == [(4,), (5,)]
    (again,) = singles[0].split()
    assert again.split() == ()

"""Threads that share pools of processes and the entries of a store."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from time import sleep
from typing import Any

import pytest

from eyechart.errors import ModelError
from eyechart.inference.engines.pools import Pools
from eyechart.inference.engines.work_units import Received, WorkUnit
from eyechart.inference.store.entries import Key, Store
from eyechart.models.spec import parse_spec
from eyechart.models.types import Identity

MODEL, OTHER = parse_spec("hf[org/model]"), parse_spec("sentence[org/encoder]")
PATIENCE = 30


class Recorded:
    """A pool that records that it was closed."""

    closed, size = False, 1

    def answer(self, job: Any, work_units: Sequence[WorkUnit], model: Any) -> Iterator[Received[Any]]:
        """Answer nothing."""
        yield from ()

    def close(self) -> None:
        """Record it."""
        self.closed = True


def hold_until(pools: Pools, go: Event, held: Event, pool: Recorded) -> bool:
    """Hold a pool until `go`; return whether it was still open then."""
    with pools.hold(MODEL) as shared:
        shared.pool = pool
        held.set()
        assert go.wait(PATIENCE)
        return not pool.closed


def test_a_pool_is_released_after_the_job_that_it_answers() -> None:
    """The next user gets another pool."""
    pools, pool, go, held = Pools(), Recorded(), Event(), Event()
    with ThreadPoolExecutor(3) as threads:
        first = threads.submit(hold_until, pools, go, held, pool)
        assert held.wait(PATIENCE)
        releasing = threads.submit(pools.release, MODEL)
        with pools.hold_idle(MODEL) as busy:
            assert busy is None
        sleep(0.1)
        assert not pool.closed
        assert pools.others_at_work(OTHER)
        go.set()
        assert first.result(PATIENCE)
        releasing.result(PATIENCE)
    assert pool.closed
    with pools.hold(MODEL) as shared:
        assert shared.pool is None


def test_a_model_helps_the_others_of_its_thread_alone() -> None:
    """Room is made for an encoder of answers, and not for the next model of another thread."""
    pools = Pools()
    with pools.hold(MODEL):
        assert pools.others_of_thread(OTHER)
        assert not pools.others_of_thread(MODEL)
        with ThreadPoolExecutor(1) as threads:
            assert not threads.submit(pools.others_of_thread, OTHER).result(PATIENCE)


def test_no_pool_is_started_after_the_end() -> None:
    """A thread that goes on after Ctrl-C ends with an error."""
    pools, pool = Pools(), Recorded()
    with pools.hold(MODEL) as shared:
        shared.pool = pool
    pools.close()
    assert pool.closed
    with pytest.raises(ModelError, match="the session has ended"), pools.hold(MODEL):
        pass


def test_an_entry_of_the_store_is_written_by_one_thread_at_a_time(tmp_path: Path, make_key: Callable[[], Key]) -> None:
    """A stage waits for the thread that answers what it needs."""
    order: list[str] = []
    held, go = Event(), Event()

    def first() -> None:
        with Store(tmp_path).entry(make_key()).lock_for_writing():
            held.set()
            assert go.wait(PATIENCE)
            order.append("first")

    def second() -> None:
        with Store(tmp_path).entry(make_key()).lock_for_writing():
            order.append("second")

    with ThreadPoolExecutor(2) as threads:
        one = threads.submit(first)
        assert held.wait(PATIENCE)
        two = threads.submit(second)
        sleep(0.2)
        assert order == []
        go.set()
        one.result(PATIENCE)
        two.result(PATIENCE)
    assert order == ["first", "second"]


@pytest.fixture
def make_key() -> Callable[[], Key]:
    """Make the key of an entry."""
    identity = Identity(
        backend="hf",
        name="hf[org/model]",
        weights_sha256="0" * 64,
        dtype="float32",
        device="cpu",
        processor={},
        libraries={},
    )
    return lambda: Key(kind="features", model=identity)

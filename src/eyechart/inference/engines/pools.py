"""Answers requests with pools: the processes of one model, on a Ray cluster or on this machine, fed with work units.

This process alone reads and writes the store. Models on servers, and models that the caller made, answer in this
process. Threads may share an engine: those that ask one model take turns.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Lock, get_ident
from typing import Any, Protocol

import numpy as np

from eyechart.data.dataset.dataset import Dataset
from eyechart.errors import ModelError
from eyechart.inference.engines.interface import ImageAnswers
from eyechart.inference.engines.local import LocalEngine
from eyechart.inference.engines.work_units import Job, Received, WorkUnit, cut
from eyechart.inference.requests.image_bytes import image_name
from eyechart.inference.requests.row_requests import BaseRequest, ScoreChoices
from eyechart.inference.requests.text_requests import Generate
from eyechart.models.registry import find_backend
from eyechart.models.spec import ModelSpec
from eyechart.models.types import Answer, Floats, Generator, Identity, Model, Scorer

REQUESTS = 64  # requests for texts in a work unit


class _WorkerPool(Protocol):
    """The processes of one model."""

    @property
    def size(self) -> int:
        """The number of processes if all are there."""

    def answer(self, job: Job, work_units: Sequence[WorkUnit], model: Model) -> Iterator[Received[Any]]:
        """Yield the answers to the work units of a job; a string is an error.

        The model's `remote_loads` and `remote_identity` are set at the end.
        """

    def close(self) -> None:
        """End the processes."""


class _StartPool(Protocol):
    """Starts pools."""

    def __call__(self, model: Model, spec: ModelSpec, others: "Pools") -> _WorkerPool | None:
        """Return the pool of a model, None if the model answers in this process; `others` belong to other models."""


class _SharedPool:
    """A pool, and the lock of the job that it answers."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.thread = get_ident()  # the one that asked for it first
        self.pool: _WorkerPool | None = None
        self.started = self.closed = False


class Pools:
    """The pools of all models. Each is used by one job at a time."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.shared: dict[ModelSpec, _SharedPool] = {}
        self.closed = False

    @contextmanager
    def hold(self, spec: ModelSpec) -> Iterator[_SharedPool]:
        """Hold the pool of a model alone; it may not be started yet."""
        while True:
            with self.lock:
                if self.closed:
                    raise ModelError(f"{spec}: the session has ended. Run the same command again.")
                shared = self.shared.setdefault(spec, _SharedPool())
            with shared.lock:
                if not shared.closed:  # another thread may have released it meanwhile
                    yield shared
                    return

    @contextmanager
    def hold_idle(self, spec: ModelSpec) -> Iterator[_WorkerPool | None]:
        """Hold the pool of a model alone if no job uses it, else yield None."""
        shared = self.shared.get(spec)
        if shared is None or not shared.lock.acquire(blocking=False):
            yield None
            return
        try:
            yield None if shared.closed else shared.pool
        finally:
            shared.lock.release()

    def others_of_thread(self, spec: ModelSpec) -> bool:
        """Return whether this thread asked for the pool of another model, which the model then helps."""
        return any(other != spec and shared.thread == get_ident() for other, shared in [*self.shared.items()])

    def others_at_work(self, spec: ModelSpec) -> bool:
        """Return whether the pool of another model answers a job."""
        return any(other != spec and shared.lock.locked() for other, shared in [*self.shared.items()])

    def forget(self, spec: ModelSpec) -> None:
        """Forget the pool of a model, which the caller holds."""
        with self.lock:
            self.shared.pop(spec).closed = True

    def release(self, spec: ModelSpec) -> None:
        """End the processes of a model after the job that they answer."""
        if spec in self.shared:
            with self.hold(spec) as shared:
                self.forget(spec)
                if shared.pool:
                    shared.pool.close()

    def close(self) -> None:
        """End all processes at once."""
        with self.lock:
            left, self.shared, self.closed = [*self.shared.values()], {}, True
        for shared in left:
            if shared.pool:
                shared.pool.close()


class PoolEngine:
    """Answers requests with pools, which are kept until `release` is called with their model."""

    def __init__(self, start: _StartPool) -> None:
        self.start = start
        self.local = LocalEngine()
        self.pools = Pools()

    def answer(
        self,
        job: Job,
        model: Model,
        work_units: Callable[[int], Sequence[WorkUnit]],
        local: Callable[[], Iterator[Any]],
    ) -> Iterator[Any]:
        """Yield the answers to a job from a pool, as `Received`; or from this process, as the local engine has them.

        `work_units` cuts the job for a number of processes.
        """
        spec = model.made_from
        if spec is not None and find_backend(spec).uses_device:
            with self.pools.hold(spec) as shared:
                if not shared.started:
                    shared.pool, shared.started = self.start(model, spec, self.pools), True
                    if shared.pool and self.pools.closed:  # meanwhile, by another thread
                        shared.pool.close()
                if shared.pool:
                    yield from shared.pool.answer(job, work_units(shared.pool.size), model)
                    return
        yield from local()

    def answer_images(
        self, request: BaseRequest, model: Model, dataset: Dataset, indices: Sequence[int]
    ) -> Iterator[ImageAnswers]:
        """Yield the answers about the images at some indices, batch by batch."""
        parts = self.answer(
            Job(request, dataset),
            model,
            lambda workers: cut(indices, model.batch_size, workers),
            lambda: self.local.answer_images(request, model, dataset, indices),
        )
        for part in parts:
            yield _as_image_answers(part, lambda index: f"{image_name(dataset, index)}: ")

    def answer_texts(self, request: BaseRequest, model: Model) -> Floats:
        """Return the answer to a request about texts, of shape (rows, d)."""
        (part,) = self.answer(
            Job(request, None),
            model,
            lambda _: [WorkUnit((0,))],
            lambda: iter([Received((0,), self.local.answer_texts(request, model))]),
        )
        if isinstance(part.value, str):
            raise ModelError(f"{model.identity.name}: {part.value}.")
        return np.asarray(part.value)

    def score_texts(self, request: ScoreChoices, model: Scorer, numbers: Sequence[int]) -> Iterator[ImageAnswers]:
        """Yield the rows of the texts with some numbers, batch by batch."""
        parts = self.answer(
            Job(request, None),
            model,
            lambda workers: cut(numbers, model.batch_size, workers),
            lambda: self.local.score_texts(request, model, numbers),
        )
        for part in parts:
            yield _as_image_answers(part, lambda _: "")

    def answer_requests(
        self, batch: Generate, model: Generator, dataset: Dataset | None, numbers: Sequence[int]
    ) -> Iterator[tuple[int, Answer]]:
        """Yield the answers to the requests with some numbers."""
        parts = self.answer(
            Job(batch, dataset),
            model,
            lambda workers: _cut_requests(batch, numbers, model.batch_size, workers),
            lambda: self.local.answer_requests(batch, model, dataset, numbers),
        )
        for part in parts:
            yield from _as_answers(part) if isinstance(part, Received) else (part,)

    def release(self, model: Model) -> None:
        """End the processes of a model."""
        self.local.release(model)
        if model.made_from is not None:
            self.pools.release(model.made_from)

    def close(self) -> None:
        """End all processes."""
        self.local.close()
        self.pools.close()


def _cut_requests(batch: Generate, numbers: Sequence[int], batch_size: int, workers: int) -> list[WorkUnit]:
    """Cut requests into work units of whole batches with equal settings."""
    size = -(-REQUESTS // batch_size) * batch_size
    return [work_unit for group in batch.group_by_settings(numbers) for work_unit in cut(group, size, workers)]


def _as_image_answers(part: "Received[Any] | ImageAnswers", prefix: Callable[[int], str]) -> ImageAnswers:
    """Return the answer to a work unit; that of a lost work unit is an error for each image or text."""
    if isinstance(part, ImageAnswers):
        return part
    if isinstance(part.value, str):
        return ImageAnswers(errors={number: f"{prefix(number)}{part.value}" for number in part.numbers})
    return part.value  # type: ignore[no-any-return]


def _as_answers(part: Received[Any]) -> Iterator[tuple[int, Answer]]:
    """Yield the answers to the requests of a work unit; those of a lost work unit are errors that are not stored."""
    lost = isinstance(part.value, str)
    for number in part.numbers:
        yield number, Answer("", (), False, error=part.value, retry=True) if lost else part.value


def differences(expected: Identity, actual: Identity) -> str:
    """Return what differs between two identities beside the device and the builds of libraries, "" if nothing does."""
    expected, actual, names = expected.in_key, actual.in_key, Identity.__struct_fields__
    return ", ".join(
        f"{name} is {getattr(actual, name)!r}, not {getattr(expected, name)!r}"
        for name in names
        if getattr(actual, name) != getattr(expected, name)
    )

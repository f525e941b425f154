"""The process on a Ray cluster that holds one model and answers work units with it."""

import os
import pickle
import sys
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import Any

import ray

from eyechart.data.dataset.dataset import Dataset
from eyechart.inference.engines.local import LocalEngine
from eyechart.inference.engines.work_units import Job, answer_work_unit
from eyechart.models.registry import create_model
from eyechart.models.runtime.device import assign_device
from eyechart.models.spec import ModelSpec
from eyechart.models.types import Identity

_PickledJob = Sequence["ray.ObjectRef[bytes]"]  # in a sequence, since Ray would send the value with each call otherwise

STREAM_SECONDS = 1.0  # the answers of such a time are lost with an actor


class ModelActor:
    """Makes a model and answers requests with it, as the local engine does.

    A job is a request and its data set. It is sent once, and its work units name it by its number. Each work unit has
    a thread; these take turns with the model.
    """

    def __init__(self, spec: ModelSpec, offline: bool, folder: Path) -> None:
        if folder.is_dir():  # relative paths, and modules of the user, are found as where the session runs
            os.chdir(folder)
            sys.path.append(str(folder))
        self.spec, self.offline = spec, offline
        self.engine = LocalEngine(Lock())
        self.reading = Lock()
        self.job_number = -1
        self.job: Job | None = None

    @cached_property
    def model(self) -> Any:
        """The model, made with the first call: an error in the constructor would lose the process without a reason."""
        return create_model(self.spec, device=assign_device(0), offline=self.offline)

    def describe(self) -> tuple[Identity, str]:
        """Return the identity of the model, and the address of this node."""
        return self.model.identity, str(ray.util.get_node_ip_address())  # type: ignore[no-untyped-call]

    def loads(self) -> int:
        """Return how often the weights were read."""
        return int(self.model.loads)

    def stream(
        self, number: int, job: _PickledJob, numbers: Sequence[int], images: Dataset | None
    ) -> Iterator[list[Any]]:
        """Yield (numbers, answer) for a work unit of a job, those of a second at once: a message has its costs."""
        answers, sent = list[Any](), monotonic()
        for answer in answer_work_unit(self.engine, self.model, self.read_job(number, job), numbers, images):
            answers.append(answer)
            if monotonic() - sent > STREAM_SECONDS:
                yield answers
                answers, sent = [], monotonic()
        if answers:
            yield answers

    def answer(self, number: int, job: _PickledJob, numbers: Sequence[int], images: Dataset | None) -> list[Any]:
        """Return all (numbers, answer) for a work unit of a job, which costs less than to stream few of them."""
        return [*answer_work_unit(self.engine, self.model, self.read_job(number, job), numbers, images)]

    def read_job(self, number: int, job: _PickledJob) -> Job:
        """Return the job with a number, which is read from the cluster once."""
        with self.reading:
            if number != self.job_number:
                self.job_number, self.job = number, pickle.loads(ray.get(job[0]))
            assert self.job
            return self.job

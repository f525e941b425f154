"""The process on a Ray cluster that holds one model and answers leases with it."""

import os
import sys
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import ray

from eyechart.data.dataset import Dataset
from eyechart.inference.engines.leases import answer_lease
from eyechart.inference.engines.local import LocalEngine
from eyechart.inference.requests import BaseRequest
from eyechart.models.device import assign_device
from eyechart.models.registry import create_model
from eyechart.models.types import Identity
from eyechart.spec import ModelSpec

Job = tuple[BaseRequest[Any], Dataset | None]


class ModelActor:
    """Makes a model and answers requests with it, as the local engine does.

    A job is a request and its data set. It is sent once, and its leases name it by its number.
    """

    def __init__(self, spec: ModelSpec, offline: bool, folder: Path) -> None:
        if folder.is_dir():  # relative paths, and modules of the user, are found as where the session runs
            os.chdir(folder)
            sys.path.append(str(folder))
        self.spec, self.offline = spec, offline
        self.engine = LocalEngine()
        self.number = -1
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

    def answer(self, number: int, job: "Sequence[ray.ObjectRef[Job]]", numbers: Sequence[int]) -> Iterator[Any]:
        """Yield (numbers, answer) for a lease of a job."""
        if number != self.number:
            self.number, self.job = number, ray.get(job[0])
        assert self.job
        yield from answer_lease(self.engine, self.model, *self.job, numbers)

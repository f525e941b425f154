"""Pools of processes on this machine: one for each GPU, which share the images of one model.

A process runs `main`, holds the model and answers work units, as an actor does on a Ray cluster.
"""

import os
import signal
import subprocess
import warnings
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from multiprocessing.reduction import ForkingPickler
from threading import Lock
from typing import Any

from eyechart.data.dataset.dataset import Dataset
from eyechart.errors import EyechartError, ModelError
from eyechart.inference.engines.local import LocalEngine
from eyechart.inference.engines.pools import Pools, differences
from eyechart.inference.engines.processes.placement import ProcessSlot, slots_on_this_machine
from eyechart.inference.engines.processes.python_process import start_python
from eyechart.inference.engines.work_units import (
    IN_FLIGHT,
    LOST,
    MAX_LOSSES,
    Ended,
    Job,
    Received,
    WorkUnit,
    answer_work_unit,
    answer_work_units,
    can_take,
)
from eyechart.models.registry import create_model
from eyechart.models.runtime.device import assign_device
from eyechart.models.spec import ModelSpec
from eyechart.models.types import Identity, Model

READY, ANSWER, END, ERROR = "ready", "answer", "end", "error"


class LocalPools:
    """Starts the processes of models on this machine. `devices` is their number, 0 for one for each GPU."""

    def __init__(self, devices: int, offline: bool, worker: tuple[int, int] = (0, 1)) -> None:
        self.devices, self.offline, self.worker = devices, offline, worker

    def __call__(self, model: Model, spec: ModelSpec, others: Pools) -> "_ProcessPool | None":  # noqa: ARG002
        """Return the pool of a model, None if it answers in this process."""
        slots = slots_on_this_machine(spec, self.devices, self.worker)
        return _ProcessPool(spec, model.identity, slots, self.offline) if slots else None


@dataclass(eq=False)
class _ModelProcess:
    """One process of a model, and the work units that it has by their tickets, each with the number of its job."""

    slot: ProcessSlot
    process: "subprocess.Popen[bytes]"
    connection: "Connection[Any, Any]"
    ready: bool = False
    job: int = 0
    loads: int = 0
    tickets: int = 0
    work_units: dict[int, tuple[int, WorkUnit]] = field(default_factory=dict)

    @classmethod
    def start(cls, slot: ProcessSlot, spec: ModelSpec, offline: bool) -> "_ModelProcess":
        """Start a process, which reports the identity of its model when it is ready."""
        here, there = Pipe()
        with there:
            descriptor = there.fileno()
            process = start_python(__name__, [descriptor], slot.variables, [descriptor])
        started = cls(slot, process, here)
        with suppress(OSError):  # a process that has ended is noticed when it is waited for
            here.send((spec, offline))
        return started

    def close(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.wait()
        self.connection.close()


class _ProcessPool:
    """The processes of one model. They are started as there are work units for them, and again after they were lost."""

    def __init__(self, spec: ModelSpec, identity: Identity, slots: Sequence[ProcessSlot], offline: bool) -> None:
        self.spec, self.identity, self.offline = spec, identity, offline
        self.free = deque(slots)  # slots without a process
        self.failures = dict.fromkeys(slots, 0)  # starts one after another that failed
        self.processes: list[_ModelProcess] = []
        self.jobs = self.loads_of_lost = 0
        self.closed = False
        self.actual: Identity | None = None  # that of a process, with its device
        self.job: Job | None = None
        self.sent = b""

    @property
    def size(self) -> int:
        """The number of processes that there can be."""
        return len(self.processes) + len(self.free)

    def answer(self, job: Job, work_units: Sequence[WorkUnit], model: Model) -> Iterator[Received[Any]]:
        """Yield the answers to the work units of a job."""
        self.jobs += 1
        self.job, self.sent = job, bytes(ForkingPickler.dumps(("job", job.sent_once)))
        self.start(len(work_units))
        try:
            yield from answer_work_units(work_units, self)
        finally:
            model.remote_loads = self.loads_of_lost + sum(process.loads for process in self.processes)
            model.remote_identity = self.actual

    def submit(self, work_unit: WorkUnit) -> bool:
        """Give a work unit to the process with the fewest work units; return False if none has room.

        A process that still works for an earlier job, which an error ended, has no room.
        """
        free = [process for process in self.processes if process.ready and self.is_free(process, work_unit)]
        process = min(free, key=lambda process: len(process.work_units), default=None)
        if process is None:
            return False
        process.tickets += 1
        process.work_units[process.tickets] = (self.jobs, work_unit)
        with suppress(OSError):  # a process that has ended is noticed when it is waited for
            if process.job != self.jobs:
                process.connection.send_bytes(self.sent)
                process.job = self.jobs
            assert self.job
            process.connection.send(("work unit", (process.tickets, work_unit.numbers, self.job.images(work_unit))))
        return True

    def is_free(self, process: _ModelProcess, work_unit: WorkUnit) -> bool:
        """Return whether a process can take a work unit of this job."""
        held = process.work_units.values()
        return all(job == self.jobs for job, _ in held) and can_take([other for _, other in held], work_unit)

    def start(self, count: int) -> None:
        """Start processes until there are so many, or one in each slot."""
        while self.free and len(self.processes) < count:
            self.processes.append(_ModelProcess.start(self.free.popleft(), self.spec, self.offline))

    def wait(self) -> Iterator[Received[Any] | Ended]:
        """Wait for answers, lost processes and processes that are ready."""
        by_connection = {process.connection: process for process in self.processes}
        for connection in wait([*by_connection]):
            process = by_connection[connection]  # type: ignore[index]
            try:
                message = process.connection.recv()
            except (EOFError, OSError):
                yield from self.lose(process)
            else:
                yield from self.receive(process, message)

    def receive(self, process: _ModelProcess, message: tuple[Any, ...]) -> Iterator[Received[Any] | Ended]:
        """Yield what a message means for the work units of this job."""
        kind, *content = message
        if kind == READY:
            self.admit(process, content[0])
        elif kind == ERROR:
            self.refuse(process, str(content[0]).rstrip("."))
        elif kind == END:
            ticket, process.loads, error = content
            job, work_unit = process.work_units.pop(ticket)
            if job == self.jobs:
                if error is not None:
                    raise error
                yield Ended(work_unit)
        else:
            ticket, *answer = content
            if process.work_units[ticket][0] == self.jobs:
                yield Received(*answer)

    def admit(self, process: _ModelProcess, identity: Identity) -> None:
        """Let a process have work units if its model is the expected one."""
        if wrong := differences(self.identity, identity):
            self.refuse(process, f"the model in a process on {process.slot.name} is not that of this process: {wrong}")
        else:
            process.ready, self.actual = True, identity
            self.failures[process.slot] = 0

    def refuse(self, process: _ModelProcess, reason: str) -> None:
        """End a process for good, with a warning. Raises ModelError if no slot is left."""
        self.processes.remove(process)
        process.close()
        if not self.processes and not self.free:
            raise ModelError(f"{self.spec}: {reason}. All answers so far are stored; run the same command again.")
        warnings.warn(f"{self.spec}: {reason}. This process is not used.", RuntimeWarning, stacklevel=2)

    def lose(self, process: _ModelProcess) -> Iterator[Ended]:
        """Yield the work units of a lost process, and start it again."""
        if self.closed:
            raise ModelError(f"{self.spec}: the session has ended. Run the same command again.")
        if not process.ready and self.failures[process.slot] + 1 >= MAX_LOSSES:
            code = process.process.wait()
            self.refuse(process, f"a process on {process.slot.name} cannot start (it ended with {code} each time)")
            return
        self.failures[process.slot] += not process.ready
        self.loads_of_lost += process.loads
        self.processes.remove(process)
        process.close()
        self.processes.append(_ModelProcess.start(process.slot, self.spec, self.offline))
        for index, (job, work_unit) in enumerate(process.work_units.values()):
            if job == self.jobs:
                yield Ended(work_unit, LOST, first=index == 0)

    def close(self) -> None:
        """End the processes."""
        self.closed = True
        while self.processes:
            self.processes.pop().close()


def main(descriptor: int) -> None:
    """Serve the process at the other end of a connection until it closes it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes, and that one ends this one
    connection = Connection(descriptor)
    with suppress(EOFError, OSError):
        spec, offline = connection.recv()
        try:
            model = create_model(spec, device=assign_device(0), offline=offline)
            connection.send((READY, model.identity))
        except Exception as error:
            connection.send((ERROR, _as_eyechart_error(spec, error)))
            return
        _Server(connection, spec, model).serve()
    os._exit(0)  # nobody waits for the answers of threads any more


class _Server:
    """Answers work units of the last job, each in a thread; these take turns with the model."""

    def __init__(self, connection: "Connection[Any, Any]", spec: ModelSpec, model: Any) -> None:
        self.connection, self.spec, self.model = connection, spec, model
        self.engine, self.sending = LocalEngine(Lock()), Lock()

    def serve(self) -> None:
        """Receive jobs and work units until the other end closes."""
        job: Any = None
        threads = ThreadPoolExecutor(IN_FLIGHT)
        while True:
            kind, content = self.connection.recv()
            if kind == "job":
                job = content
            else:
                threads.submit(self.answer, job, *content)

    def answer(self, job: Job, ticket: int, numbers: Sequence[int], images: Dataset | None) -> None:
        """Send the answers to a work unit, and its end with the error that ended it."""
        error = None
        try:
            for answer in answer_work_unit(self.engine, self.model, job, numbers, images):
                self.send(ANSWER, ticket, *answer)
        except Exception as raised:
            error = _as_eyechart_error(self.spec, raised)
        self.send(END, ticket, self.model.loads, error)

    def send(self, *message: Any) -> None:
        """Send a message; nobody waits for it if the other end has closed."""
        with self.sending, suppress(OSError):
            self.connection.send(message)


def _as_eyechart_error(spec: ModelSpec, error: Exception) -> EyechartError:
    """Return an error that another process can raise."""
    if isinstance(error, EyechartError):
        return error
    return ModelError(f"{spec}: {type(error).__name__} in a process of the model: {error}.")

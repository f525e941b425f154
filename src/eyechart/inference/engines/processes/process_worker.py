"""The process on this machine that holds a model and answers work units, as an actor does on a Ray cluster."""

import os
import signal
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from multiprocessing.connection import Connection
from threading import Lock
from typing import Any

from eyechart.data.dataset.dataset import Dataset
from eyechart.errors import EyechartError, ModelError
from eyechart.inference.engines.local import LocalEngine
from eyechart.inference.engines.work_units import IN_FLIGHT, Job, answer_work_unit
from eyechart.models.registry import create_model
from eyechart.models.runtime.device import assign_device
from eyechart.models.spec import ModelSpec

READY, ANSWER, END, ERROR = "ready", "answer", "end", "error"


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

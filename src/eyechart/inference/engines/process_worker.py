"""The process on this machine that holds one model and answers leases with it, as an actor does on a Ray cluster."""

import signal
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

from eyechart.errors import EyechartError, ModelError
from eyechart.inference.engines.leases import answer_lease
from eyechart.inference.engines.local import LocalEngine
from eyechart.models.device import assign_device
from eyechart.models.registry import create_model
from eyechart.spec import ModelSpec

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
            connection.send((ERROR, as_eyechart_error(spec, error)))
            return
        serve(connection, spec, model)


def serve(connection: "Connection[Any, Any]", spec: ModelSpec, model: Any) -> None:
    """Receive jobs and leases of the last one, and send answers; the end of a lease has the error that ended it."""
    engine, job = LocalEngine(), (None, None)
    while True:
        kind, content = connection.recv()
        if kind == "job":
            job = content
            continue
        error = None
        answers = answer_lease(engine, model, *job, content)
        while error is None:
            try:
                part = next(answers, None)
            except Exception as raised:
                error = as_eyechart_error(spec, raised)
            else:
                if part is None:
                    break
                connection.send((ANSWER, *part))
        connection.send((END, model.loads, error))


def as_eyechart_error(spec: ModelSpec, error: Exception) -> EyechartError:
    """Return an error that another process can raise."""
    if isinstance(error, EyechartError):
        return error
    return ModelError(f"{spec}: {type(error).__name__} in a process of the model: {error}.")

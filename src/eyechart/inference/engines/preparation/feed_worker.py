"""Processes that read, decode and prepare images for a model that works in another process."""

import mmap
import os
import pickle
import signal
from collections.abc import Sequence
from contextlib import suppress
from io import BytesIO
from multiprocessing.connection import Connection
from typing import Any

from PIL import Image

from eyechart.errors import EyechartError
from eyechart.inference.engines.preparation.prepare import Prepare, prepare_image
from eyechart.models.registry import create_model

READY, ITEMS, ERROR = "ready", "items", "error"


def main(descriptors: Sequence[int], memories: Sequence[int]) -> None:
    """Start a process for each connection; each prepares images until the other end of its connection is closed.

    The model is imported once, before the processes are forked. `memories` are files that a process maps together with
    the one at the other end: the large arrays of the items go through them.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes, and that one ends these
    first: Connection[Any, Any] = Connection(descriptors[0])
    with suppress(EOFError, OSError):
        model = create_model(first.recv(), device="cpu", offline=True)  # its files are there: that process read them
        model.prepare(Image.new("RGB", (64, 64)))  # imports what it needs
        for descriptor, memory in zip(descriptors, memories, strict=True):
            if os.fork() == 0:
                for other in descriptors:
                    if other != descriptor:
                        os.close(other)
                serve(first if descriptor == descriptors[0] else Connection(descriptor), memory, model.prepare)
        for descriptor in descriptors:
            os.close(descriptor)
        for _ in descriptors:
            os.wait()
    os._exit(0)


def serve(connection: "Connection[Any, Any]", memory: int, prepare: Prepare) -> None:
    """Prepare the images of each data set that is received, and end the process when the connection is closed."""
    with suppress(EOFError, OSError):
        connection.send((READY,))
        while True:
            dataset = connection.recv()
            try:
                items = [prepare_image(dataset, prepare, *item) for item in dataset.read(range(len(dataset)))]
            except EyechartError as error:
                connection.send((ERROR, error, ()))
                continue
            message, arrays = _dump(items)
            write(memory, arrays)
            connection.send((ITEMS, message, [len(array) for array in arrays]))
    os._exit(0)


class _TensorPickler(pickle.Pickler):
    """Pickles tensors as arrays, whose numbers pickle can leave out of the message."""

    def reducer_override(self, value: Any) -> Any:
        """Return how a tensor is made from an array; NotImplemented for every other object."""
        if type(value).__name__ == "Tensor" and str(value.layout) == "torch.strided":
            import torch

            return torch.from_numpy, (value.detach().contiguous().numpy(),)
        return NotImplemented


def _dump(items: Any) -> tuple[bytes, list[memoryview]]:
    """Return the pickle of some items without the numbers of their arrays, and these."""
    buffers = list[pickle.PickleBuffer]()
    file = BytesIO()
    _TensorPickler(file, protocol=5, buffer_callback=buffers.append).dump(items)
    return file.getvalue(), [buffer.raw() for buffer in buffers]


def write(descriptor: int, arrays: Sequence[memoryview]) -> None:
    """Write arrays one after another into a file that is mapped. Raises OSError if there is no room for them."""
    total = sum(map(len, arrays))
    if not total:
        return
    if os.fstat(descriptor).st_size < total:
        os.posix_fallocate(descriptor, 0, total)
    with mmap.mmap(descriptor, total) as memory:
        for array in arrays:
            memory.write(array)

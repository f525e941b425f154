"""Processes that prepare images for a model on an accelerator: threads of one process share one interpreter lock.

A process runs `main`: it reads, decodes and prepares the images that the process of the model asks for.
"""

import mmap
import os
import pickle
import signal
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from io import BytesIO
from itertools import accumulate, islice
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Lock, local
from typing import Any, BinaryIO
from warnings import warn

import numpy as np
from PIL import Image

from eyechart.data.dataset.dataset import Dataset
from eyechart.errors import EyechartError, ImageError
from eyechart.inference.engines.preparation.prepare import Prepare, Prepared, batches, prepare_image
from eyechart.inference.engines.processes.python_process import start_python
from eyechart.inference.requests.image_bytes import image_name
from eyechart.models.registry import create_model
from eyechart.models.runtime.device import count_processors
from eyechart.models.spec import ModelSpec
from eyechart.models.types import Classifier, ImageEncoder, Matcher, Model

READY, ITEMS, ERROR = "ready", "items", "error"
_ImageModel = Classifier | ImageEncoder | Matcher
MANY_IMAGES = 4096  # of a model that are worth the start of processes
CHUNK = 16  # images that a process prepares at a time
SHARED_MEMORY = Path("/dev/shm")
ROOM = 2**26  # bytes of shared memory that must be free for each process
LOST = "the process that decodes it ended without an answer. Save the image anew, or remove it."
NOT_STARTED = "processes that prepare images cannot start (see above). Threads prepare them, which is slower."


class _LostProcessError(Exception):
    """A process ended while it prepared images."""


class _PreparationProcess:
    """One process, and the memory that it shares with this one."""

    def __init__(self, connection: "Connection[Any, Any]", memory: BinaryIO) -> None:
        self.connection, self.memory = connection, memory
        self.ready = False

    def is_ready(self, *, wait: bool = False) -> bool:
        """Return whether the model is made. Raises _LostProcessError if the process has ended."""
        if not self.ready and (wait or self.connection.poll()):
            self.ready = self.receive() == (READY,)
        return self.ready

    def prepare(self, dataset: Dataset) -> list[Prepared]:
        """Return the prepared images of a small data set.

        Raises _LostProcessError if the process has ended, and the error of a data set that cannot be read.
        """
        with suppress(OSError):
            self.connection.send(dataset)
        kind, message, lengths = self.receive()
        if kind == ERROR:
            raise message
        shared, ends = self.read(sum(lengths)), accumulate(lengths)
        arrays = [shared[end - length : end] for length, end in zip(lengths, ends, strict=True)]
        items: list[Prepared] = pickle.loads(message, buffers=arrays)
        return items

    def receive(self) -> Any:
        """Return the next message."""
        try:
            return self.connection.recv()
        except (EOFError, OSError) as error:
            raise _LostProcessError from error

    def read(self, length: int) -> memoryview:
        """Return a copy of the shared memory, which the process will use again."""
        if not length:
            return memoryview(b"")
        with mmap.mmap(self.memory.fileno(), length, access=mmap.ACCESS_READ) as memory:
            shared = np.frombuffer(memory, np.uint8)
            copied = shared.copy()
            del shared  # before the map closes
        return copied.data

    def close(self) -> None:
        """End the process."""
        self.connection.close()
        self.memory.close()


def _start_processes(
    spec: ModelSpec, count: int, folder: Path | None
) -> "tuple[list[_PreparationProcess], subprocess.Popen[bytes]]":
    """Start processes that prepare images, and the one that starts them; they share files in a folder with this one."""
    pipes = [Pipe() for _ in range(count)]
    processes = [_PreparationProcess(here, tempfile.TemporaryFile(dir=folder)) for here, _ in pipes]  # noqa: SIM115
    descriptors = [[there.fileno() for _, there in pipes], [process.memory.fileno() for process in processes]]
    starter = start_python(
        __name__,
        descriptors,
        {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""},
        [descriptor for some in descriptors for descriptor in some],
    )
    for _, there in pipes:
        there.close()
    with suppress(OSError):  # a process that has ended is noticed when it is waited for
        processes[0].connection.send(spec)
    return processes, starter


class PreparationProcesses:
    """Processes for one model. A thread waits for each; while a process starts, its thread prepares images itself."""

    def __init__(self, model: _ImageModel, spec: ModelSpec, count: int) -> None:
        self.model, self.spec, self.count = model, spec, count
        self.folder = SHARED_MEMORY if _free_shared_memory() >= count * ROOM else None
        self.threads = ThreadPoolExecutor(count)
        self.own = local()
        self.processes: set[_PreparationProcess] = set()
        self.starters = list[subprocess.Popen[bytes]]()
        self.free = deque[_PreparationProcess]()
        self.changing = Lock()
        self.cannot_start = False

    def prefetch(self, dataset: Dataset, indices: Sequence[int], size: int) -> Iterator[list[Prepared]]:
        """Yield batches of prepared images, or their errors."""
        chunks = batches(indices, min(CHUNK, size))
        ahead = 2 * max(self.count, -(-size // CHUNK))
        waiting = deque(self.threads.submit(self.prepare, dataset, chunk) for chunk in islice(chunks, ahead))
        left, prepared = len(indices), list[Prepared]()
        try:
            while waiting:
                prepared += waiting.popleft().result()
                waiting.extend(self.threads.submit(self.prepare, dataset, chunk) for chunk in islice(chunks, 1))
                while len(prepared) >= min(size, left) > 0:
                    batch, prepared = prepared[:size], prepared[size:]
                    left -= len(batch)
                    yield batch
        finally:
            for future in waiting:
                future.cancel()

    def prepare(self, dataset: Dataset, indices: Sequence[int]) -> list[Prepared]:
        """Return some prepared images, or their errors, in a thread that has a process of its own."""
        if not self.is_ready():
            return [prepare_image(dataset, self.model.prepare, *item) for item in dataset.read(indices)]
        process = self.process_of_thread()
        try:
            prepared = process.prepare(dataset.part(indices))
        except _LostProcessError:
            self.end(process)
            if len(indices) > 1:
                return [item for index in indices for item in self.prepare_alone(dataset, index)]
            name = image_name(dataset, indices[0])
            return [(indices[0], ImageError(f"{name}: {LOST}"))]
        return [(indices[position], item) for position, item in prepared]

    def prepare_alone(self, dataset: Dataset, index: int) -> list[Prepared]:
        """Return one of the images with which a process was lost."""
        self.is_ready(wait=True)
        return self.prepare(dataset, [index])

    def is_ready(self, *, wait: bool = False) -> bool:
        """Return whether the process of this thread is ready; a process that cannot start is given up."""
        if self.cannot_start:
            return False
        process = self.process_of_thread()
        try:
            return process.is_ready(wait=wait)
        except _LostProcessError:
            self.end(process)
            if not self.cannot_start:
                self.cannot_start = True
                warn(f"{self.spec}: {NOT_STARTED}", RuntimeWarning, stacklevel=2)
            return False

    def process_of_thread(self) -> _PreparationProcess:
        """Return the process of the thread that calls; the first thread starts all, and a lost one is replaced."""
        process: _PreparationProcess | None = getattr(self.own, "process", None)
        if process is None:
            with self.changing:
                if not self.free:
                    count = 1 if self.starters else self.count
                    started, starter = _start_processes(self.spec, count, self.folder)
                    self.starters.append(starter)
                    self.processes.update(started)
                    self.free.extend(started)
                process = self.own.process = self.free.popleft()
        return process

    def end(self, process: _PreparationProcess) -> None:
        """End a lost process; its thread starts another one."""
        self.own.process = None
        with self.changing:
            self.processes.discard(process)
        process.close()

    def close(self) -> None:
        """End all processes."""
        self.threads.shutdown(wait=True, cancel_futures=True)
        while self.processes:
            self.processes.pop().close()
        for starter in self.starters:
            starter.kill()
            starter.wait()


class Feeds:
    """The processes that prepare images, by model. They start when an accelerator has had many images to answer."""

    def __init__(self) -> None:
        self.images: dict[ModelSpec, int] = {}
        self.started: dict[ModelSpec, PreparationProcesses] = {}
        self.changing = Lock()

    def processes(self, model: Model, images: int) -> "PreparationProcesses | None":
        """Return the processes for a model that is asked about some images, None if threads prepare them."""
        spec = model.made_from
        if spec is None or not isinstance(model, Classifier | ImageEncoder | Matcher):
            return None
        with self.changing:
            self.images[spec] = self.images.get(spec, 0) + images
            worth = self.images[spec] >= MANY_IMAGES and count_decoders() > 1 and sys.platform == "linux"
            if worth and spec not in self.started and model.identity.device not in ("", "cpu"):
                self.started[spec] = PreparationProcesses(model, spec, count_decoders())
            return self.started.get(spec)

    def release(self, model: Model) -> None:
        """End the processes of a model."""
        if model.made_from is not None and (processes := self.started.pop(model.made_from, None)):
            processes.close()

    def close(self) -> None:
        """End all processes."""
        while self.started:
            self.started.popitem()[1].close()


def count_decoders() -> int:
    """Return the number of processes that may prepare images: the threads that this process may use."""
    threads = os.environ.get("OMP_NUM_THREADS", "")
    return min(count_processors(), int(threads)) if threads.isdecimal() and int(threads) else count_processors()


def _free_shared_memory() -> int:
    """Return the free bytes of the memory that processes share, 0 on a system without such a folder."""
    try:
        state = os.statvfs(SHARED_MEMORY)
    except OSError:
        return 0
    return state.f_bavail * state.f_frsize


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

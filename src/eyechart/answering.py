"""Asking a model about every image of a data set, once.

Reading and decoding run in threads while the model works; each batch is kept as soon as it is answered.
"""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from importlib.metadata import version
from itertools import islice
from typing import Any
from warnings import warn

import numpy as np
from PIL import Image

from eyechart.data.dataset import Dataset
from eyechart.data.images import decode
from eyechart.errors import ImageError, ModelError
from eyechart.models.interfaces import Floats, Model
from eyechart.predictions import Answers, Block, append, finish, kept, load, missing_rows
from eyechart.store import Entry, Key, Store, Writer

Ask = Callable[[Sequence[Any]], Floats]
Prepare = Callable[[Image.Image], Any]
Progress = Callable[[int, int, str], None]  # how many are done, of how many, and what they are
Prepared = tuple[int, Any]
UNIT = "images"
AHEAD = 3
THREADS = min(16, os.cpu_count() or 1)
DECODER = 1


def image_key(question: str, model: Model, dataset: Dataset, *, limit: int | None, seed: int, prompts: str = "") -> Key:
    """The key of answers about images; `prompts` is the fingerprint of texts that come with each of them."""
    return Key(
        question=question,
        model=model.identity,
        data=dataset.fingerprint,
        decoder=decoder(dataset),
        prompts=prompts,
        limit=limit,
        seed=seed,
    )


def decoder(dataset: Dataset) -> dict[str, Any]:
    """How bytes become pictures, as far as it can change an answer."""
    return {"version": DECODER, "pillow": version("pillow"), "upright": dataset.upright}


def answers(
    store: Store, key: Key, dataset: Dataset, model: Model, ask: Ask, prepare: Prepare, progress: Progress
) -> Answers:
    """Give the kept answers, asking only for those that are missing."""
    entry = store.entry(key)
    if not entry.complete:
        complete(entry, dataset, model, ask, prepare, progress)
    return load(entry)


def complete(entry: Entry, dataset: Dataset, model: Model, ask: Ask, prepare: Prepare, progress: Progress) -> None:
    """Answer what is missing of an entry, unless another run did so while this one waited."""
    with entry.writing() as writer:
        if entry.complete:
            return
        missing = missing_rows([block for block, _ in kept(writer)], len(dataset))
        done = len(dataset) - len(missing)
        progress(done, len(dataset), UNIT)
        asker = Halving(a_row_each(ask, model.identity.name))
        for batch in prefetched(dataset, missing, model.batch_size, prepare):
            write_batch(writer, batch, asker, dataset, model)
            done += len(batch)
            progress(done, len(dataset), UNIT)
        finish(writer, len(dataset))


def spans(rows: Iterable[int], size: int) -> Iterator[tuple[int, int]]:
    """Runs of neighbouring rows, cut where a first run would have cut its batches.

    >>> list(spans([0, 1, 2, 3, 4, 9], 3))
    [(0, 3), (3, 5), (9, 10)]
    """
    start = previous = None
    for row in rows:
        if start is None or previous is None:
            start = row
        elif row != previous + 1 or row % size == 0:
            yield start, previous + 1
            start = row
        previous = row
    if start is not None and previous is not None:
        yield start, previous + 1


def prefetched(dataset: Dataset, rows: Iterable[int], size: int, prepare: Prepare) -> Iterator[list[Prepared]]:
    """Batches of prepared images, read and decoded some batches ahead of the model."""

    def one(item: tuple[int, bytes]) -> Prepared:
        place, data = item
        try:
            return place, prepare(decode(data, name(dataset, place), upright=dataset.upright))
        except ImageError as error:
            return place, error

    def fetch(span: tuple[int, int]) -> list[Prepared]:
        return list(decoders.map(one, dataset.read(*span)))

    with ThreadPoolExecutor(THREADS) as decoders, ThreadPoolExecutor(1) as reader:
        cuts = spans(map(int, rows), size)
        waiting: deque[Future[list[Prepared]]] = deque(reader.submit(fetch, span) for span in islice(cuts, AHEAD))
        try:
            while waiting:
                batch = waiting.popleft().result()
                waiting.extend(reader.submit(fetch, span) for span in islice(cuts, 1))
                yield batch
        finally:
            for future in waiting:
                future.cancel()


def name(dataset: Dataset, place: int) -> str:
    """How an image is called in messages."""
    return f"{dataset.benchmark}/{dataset.split}: {dataset.keys[place]}"


def write_batch(writer: Writer, batch: list[Prepared], ask: Ask, dataset: Dataset, model: Model) -> None:
    """Ask about the images that could be shown, and keep answers and errors alike."""
    start, stop = batch[0][0], batch[-1][0] + 1
    errors = {place: str(item) for place, item in batch if isinstance(item, ImageError)}
    shown = [(place, item) for place, item in batch if place not in errors]
    found = ask([item for _, item in shown]) if shown else np.zeros((0, 0), np.float32)
    values = np.full((stop - start, found.shape[1]), np.nan, np.float32)
    values[[place - start for place, _ in shown]] = found
    errors.update(unusable(found, [place for place, _ in shown], dataset, model))
    values[[place - start for place in errors]] = np.nan
    append(writer, Block(start, stop, values.shape[1], errors), values)


def a_row_each(ask: Ask, who: str) -> Ask:
    """Refuse answers that are not one row of numbers an image: whose they are could not be told."""

    def asked(items: Sequence[Any]) -> Floats:
        found = np.asarray(ask(items), np.float32)
        if found.ndim != 2 or len(found) != len(items):
            raise ModelError(
                f"{who} gave an array of shape {found.shape} for {len(items)} images. Expected one row of numbers an "
                "image: correct the backend."
            )
        return found

    return asked


def unusable(found: Floats, places: Sequence[int], dataset: Dataset, model: Model) -> Mapping[int, str]:
    """Name the rows that hold anything but numbers: no answer can be read from them."""
    bad = np.flatnonzero(~np.isfinite(found).all(axis=1))
    return {
        places[row]: f"{name(dataset, places[row])}: {model.identity.name} answered with NaN or infinity "
        f"in {model.identity.dtype}. Try dtype=float32, and check the weights."
        for row in map(int, bad)
    }


class Halving:
    """Asks in ever smaller batches when memory runs out, and says so once per halving."""

    def __init__(self, ask: Ask) -> None:
        self.ask = ask
        self.most: int | None = None

    def __call__(self, items: Sequence[Any]) -> Floats:
        """Answer all items, in one batch while memory lasts."""
        size = min(self.most or len(items), len(items))
        parts: list[Floats] = []
        while sum(map(len, parts)) < len(items):
            start = sum(map(len, parts))
            try:
                parts.append(self.ask(items[start : start + size]))
            except Exception as error:
                if not out_of_memory(error):
                    raise
                size = self.halve(size, error)
        return np.concatenate(parts)

    def halve(self, size: int, error: Exception) -> int:
        """Half the batch, or give up at one image."""
        if size <= 1:
            raise ModelError(
                f"Memory ran out on a single image ({error}). Use a smaller model, dtype=bfloat16 or another device."
            ) from error
        self.most = size // 2
        warn(f"Memory ran out with {size} images at once; going on with {self.most}.", RuntimeWarning, stacklevel=4)
        return self.most


def out_of_memory(error: Exception) -> bool:
    """Whether an exception of any library means that memory ran out."""
    said = str(error).lower()
    named = isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError"
    return named or (isinstance(error, RuntimeError) and ("out of memory" in said or "can't allocate memory" in said))

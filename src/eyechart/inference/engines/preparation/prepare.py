"""Reads, decodes and prepares the images of a request ahead of the model, in threads or in processes."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import Any

from PIL import Image

from eyechart.data.dataset.dataset import Dataset
from eyechart.errors import ImageError
from eyechart.inference.requests.image_bytes import THREADS, image_name, load_image
from eyechart.models.runtime.batch_backoff import failure_from_error

BATCHES_AHEAD = 3  # batches of images that are read before the model asks for them
Prepare = Callable[[Image.Image], Any]
Prepared = tuple[int, Any]  # the index of an image, and the item for the model or an ImageError


def batches(indices: Sequence[int], size: int) -> Iterator[Sequence[int]]:
    """Yield batches of indices; the last one may be shorter.

    >>> list(batches([0, 1, 2, 3, 4, 9], 4))
    [[0, 1, 2, 3], [4, 9]]
    """
    yield from (indices[start : start + size] for start in range(0, len(indices), size))


def prepare_image(dataset: Dataset, prepare: Prepare, index: int, data: bytes) -> Prepared:
    """Return an image as the model takes it, or the ImageError of one that cannot be decoded or prepared."""
    try:
        return index, prepare(load_image(dataset, index, data))
    except ImageError as error:
        return index, error
    except Exception as error:
        failure = failure_from_error(error, f"{image_name(dataset, index)} cannot be prepared for the model")
        return index, ImageError(f"{failure.reason}.")


def prefetch_images(dataset: Dataset, indices: Sequence[int], size: int, prepare: Prepare) -> Iterator[list[Prepared]]:
    """Yield batches of prepared images, or their errors, which threads read and decode some batches ahead."""
    with ThreadPoolExecutor(THREADS) as decoders, ThreadPoolExecutor(1) as reader:

        def prepare_batch(batch: Sequence[int]) -> list[Prepared]:
            return list(decoders.map(lambda item: prepare_image(dataset, prepare, *item), dataset.read(batch)))

        left = batches(indices, size)
        waiting: deque[Future[list[Prepared]]] = deque(
            reader.submit(prepare_batch, batch) for batch in islice(left, BATCHES_AHEAD)
        )
        try:
            while waiting:
                prepared = waiting.popleft().result()
                waiting.extend(reader.submit(prepare_batch, batch) for batch in islice(left, 1))
                yield prepared
        finally:
            for future in waiting:
                future.cancel()

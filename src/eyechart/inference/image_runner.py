"""Asking a model about every image of a data set, once.

Reading and decoding run in threads while the model works; each batch is kept as soon as it is answered.
"""

import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from hashlib import sha256
from importlib.metadata import version
from itertools import islice
from typing import Any
from warnings import warn

import numpy as np
from PIL import Image

from eyechart.data.dataset import Dataset
from eyechart.data.images import decode_image
from eyechart.errors import ImageError, ModelError, RequestError, StoreError
from eyechart.inference.arrays import Block, CachedArray, append, compact, gather, load, seal, stored_rows
from eyechart.inference.store import Entry, Key, Store, Writer
from eyechart.models.batch_backoff import failure_from_error
from eyechart.models.runtime import out_of_memory
from eyechart.models.types import Floats, Model

Ask = Callable[[Sequence[Any]], Floats]
Prepare = Callable[[Image.Image], Any]
Progress = Callable[[int, int, str], None]  # how many are done, of how many, and what they are
Prepared = tuple[int, Any]
UNIT = "images"
AHEAD = 3
THREADS = min(16, os.cpu_count() or 1)
DECODER = 1


def image_key(question: str, model: Model, dataset: Dataset, prompts: str = "") -> Key:
    """The key of answers about the images of a split; `prompts` is the fingerprint of texts that come with each.

    It names the whole split: neither a limit nor a seed changes what is answered about an image.
    """
    return Key(
        kind=question,
        model=model.identity,
        data=dataset.index_fingerprint,
        decoder=decoder_settings(dataset),
        prompts=prompts,
        batch_size=model.batch_size,
    )


def decoder_settings(dataset: Dataset) -> dict[str, Any]:
    """How bytes become pictures, as far as it can change an answer."""
    return {"version": DECODER, "pillow": version("pillow"), "upright": dataset.upright}


def run_images(
    store: Store,
    key: Key,
    dataset: Dataset,
    model: Model,
    ask: Ask,
    prepare: Prepare,
    progress: Progress,
    *,
    pad: bool = True,
) -> CachedArray:
    """Return the answers about the selected images, asking only for those that are not stored.

    With `pad`, every batch has `batch_size` images: the last one repeats an image, whose further answers are dropped.
    """
    entry = store.entry(key)
    errors: Mapping[int, str] = {}
    if not entry.complete and not is_stored(entry, dataset):
        errors = request_missing(entry, dataset, model, ask, prepare, progress, pad)
    return read_rows(entry, dataset, errors)


def is_stored(entry: Entry, dataset: Dataset) -> bool:
    """Whether the selected rows are there, and there is nothing to seal; False while another run puts it in order."""
    try:
        there = stored_rows(entry)
    except StoreError:
        return False
    return len(there) < len(dataset.index) and there.issuperset(dataset.selected)


def read_rows(entry: Entry, dataset: Dataset, errors: Mapping[int, str]) -> CachedArray:
    """Return the stored rows of the selected images, with NaN in those that ended in an error."""
    if not entry.complete:
        try:
            found, there = gather(entry, dataset.selected)
        except StoreError:
            if not entry.complete:  # otherwise another run has sealed it meanwhile
                raise
        else:
            lost = [place for place in np.flatnonzero(~there).tolist() if place not in errors]
            if lost and not entry.complete:
                raise StoreError(
                    f"{len(lost)} of {len(dataset)} answers are missing from {entry.folder}: another run may have "
                    "deleted them. Run the same command again, one run at a time; it asks for the missing ones."
                )
            if not lost:
                return replace(found, errors=dict(sorted(errors.items())))
    whole = load(entry)
    if len(whole.values) != len(dataset.index):
        raise entry.damaged(entry.folder, f"it has {len(whole.values)} rows, not {len(dataset.index)}")
    return replace(whole, values=whole.values[list(dataset.rows)]) if dataset.rows else whole


def request_missing(
    entry: Entry, dataset: Dataset, model: Model, ask: Ask, prepare: Prepare, progress: Progress, pad: bool
) -> dict[int, str]:
    """Answer what is missing, unless another run did so while this one waited; return the errors by position."""
    try:
        with entry.lock_for_writing() as writer:
            if entry.complete:
                return {}
            there = stored_rows(writer)
            missing = [place for place, row in enumerate(dataset.selected) if row not in there]
            done, errors = len(dataset) - len(missing), dict[int, str]()
            progress(done, len(dataset), UNIT)
            runner = OOMBackoff(check_one_row_per_image(ask, model.identity.name), model.batch_size, pad)
            for batch in prefetch_images(dataset, missing, model.batch_size, prepare):
                errors.update(write_batch(writer, batch, runner, dataset, model))
                done += len(batch)
                progress(done, len(dataset), UNIT)
            if len(there) + len(missing) - len(errors) == len(dataset.index):
                seal(writer, len(dataset.index))
            elif len(missing) > len(errors):
                compact(writer)
            return errors
    except StoreError:
        if (unreadable := unreadable_images(entry, dataset)) is None:
            raise
        return unreadable  # there is nothing to ask or to write: a store that can only be read serves as well


def unreadable_images(entry: Entry, dataset: Dataset) -> dict[int, str] | None:
    """Return the errors of the images without an answer; None if one of them can be shown."""
    errors = {}
    there = stored_rows(entry)
    for place, row in enumerate(dataset.selected):
        if row not in there:
            try:
                for _, data in dataset.read([place]):
                    load_image(dataset, place, data)
                return None
            except ImageError as error:
                errors[place] = str(error)
    return errors


def batches(places: Sequence[int], size: int) -> Iterator[Sequence[int]]:
    """Cut positions into batches, the last of which may be shorter.

    >>> list(batches([0, 1, 2, 3, 4, 9], 4))
    [[0, 1, 2, 3], [4, 9]]
    """
    yield from (places[start : start + size] for start in range(0, len(places), size))


def prefetch_images(dataset: Dataset, places: Sequence[int], size: int, prepare: Prepare) -> Iterator[list[Prepared]]:
    """Batches of prepared images, read and decoded some batches ahead of the model."""

    def one(item: tuple[int, bytes]) -> Prepared:
        place, data = item
        try:
            return place, prepare(load_image(dataset, place, data))
        except ImageError as error:
            return place, error
        except Exception as error:
            return place, ImageError(
                f"{failure_from_error(error, f'{image_name(dataset, place)} cannot be prepared for the model').reason}."
            )

    def fetch(batch: Sequence[int]) -> list[Prepared]:
        return list(decoders.map(one, dataset.read(batch)))

    with ThreadPoolExecutor(THREADS) as decoders, ThreadPoolExecutor(1) as reader:
        cuts = batches(places, size)
        waiting: deque[Future[list[Prepared]]] = deque(reader.submit(fetch, batch) for batch in islice(cuts, AHEAD))
        try:
            while waiting:
                batch = waiting.popleft().result()
                waiting.extend(reader.submit(fetch, batch) for batch in islice(cuts, 1))
                yield batch
        finally:
            for future in waiting:
                future.cancel()


def load_image(dataset: Dataset, place: int, data: bytes) -> Image.Image:
    """Return the decoded image at a position, after checking that its bytes are those of the index.

    Raises ImageError for other bytes and for what cannot be decoded.
    """
    wanted, found = dataset.index[dataset.selected[place]].sha256, sha256(data).hexdigest()
    if found != wanted:
        raise ImageError(
            f"Image {image_name(dataset, place)} changed after the data set was indexed, or was read incompletely: the "
            f"{len(data):,} bytes that were read have the sha256 {found[:12]}…, the index has {wanted[:12]}…. The "
            "answer is not stored. When nothing writes to the file any more, run the same command again; if that does "
            "not help, delete the folder 'index' of the store, so that the data set is indexed anew."
        )
    return decode_image(data, image_name(dataset, place), upright=dataset.upright)


def image_name(dataset: Dataset, place: int) -> str:
    """How an image is called in messages."""
    return f"{dataset.benchmark}/{dataset.split}: {dataset.keys[place]}"


def write_batch(
    writer: Writer, batch: list[Prepared], ask: "OOMBackoff", dataset: Dataset, model: Model
) -> dict[int, str]:
    """Ask about the images that can be shown and keep the answers; return the errors, which are not kept."""
    errors = {place: str(item) for place, item in batch if isinstance(item, ImageError)}
    shown, found = ask_without_refused(
        ask, [(place, item) for place, item in batch if place not in errors], errors, dataset
    )
    if not shown:
        return errors
    places = [place for place, _ in shown]
    errors.update(non_finite_errors(found, places, dataset, model))
    good = [number for number, place in enumerate(places) if place not in errors]
    if good:
        rows = tuple(dataset.selected[places[number]] for number in good)
        append(writer, Block(rows, found.shape[1], ask.reduced), found[good])
    return errors


def ask_without_refused(
    ask: Ask, shown: list[Prepared], errors: dict[int, str], dataset: Dataset
) -> tuple[list[Prepared], Floats]:
    """Return what was answered and the answers; what the model refuses is added to the errors, and asked no more."""
    while shown:
        try:
            return shown, ask([item for _, item in shown])
        except RequestError as error:
            errors.update(
                {shown[at][0]: f"{image_name(dataset, shown[at][0])}: {why}" for at, why in error.errors.items()}
            )
            shown = [one for at, one in enumerate(shown) if at not in error.errors]
    return [], np.zeros((0, 0), np.float32)


def check_one_row_per_image(ask: Ask, who: str) -> Ask:
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


def non_finite_errors(found: Floats, places: Sequence[int], dataset: Dataset, model: Model) -> Mapping[int, str]:
    """Name the rows that hold anything but numbers: no answer can be read from them."""
    bad = np.flatnonzero(~np.isfinite(found).all(axis=1))
    return {
        places[row]: f"{image_name(dataset, places[row])}: {model.identity.name} answered with NaN or infinity "
        f"in {model.identity.dtype}. Try dtype=float32, and check the weights."
        for row in map(int, bad)
    }


class OOMBackoff:
    """Asks in ever smaller batches when memory runs out, and says so once per halving.

    With `pad`, a batch that is short is filled up with its last item. `reduced` is the size of the batches since memory
    ran out, 0 before.
    """

    def __init__(self, ask: Ask, size: int, pad: bool = True) -> None:
        self.ask = ask
        self.size = size
        self.pad = pad
        self.reduced = 0

    def __call__(self, items: Sequence[Any]) -> Floats:
        """Answer all items, in one batch while memory lasts."""
        parts: list[Floats] = []
        start = 0
        while start < len(items):
            some = [*items[start : start + self.size]]
            filled = some + some[-1:] * (self.size - len(some)) if self.pad else some
            try:
                parts.append(self.ask(filled)[: len(some)])
            except RequestError as error:  # the items that fill the batch up are copies of the last one
                last = len(some) - 1
                refused = {start + min(place, last): why for place, why in error.errors.items()}
                raise RequestError(refused) from error
            except Exception as error:
                if not out_of_memory(error):
                    raise
                self.halve(len(filled), error)
            else:
                start += len(some)
        return np.concatenate(parts)

    def halve(self, size: int, error: Exception) -> None:
        """Half the batch, or give up at one image."""
        if size <= 1:
            raise ModelError(
                f"Memory ran out on a single image ({error}). Use a smaller model, dtype=bfloat16 or another device."
            ) from error
        self.size = self.reduced = size // 2
        warn(f"Memory ran out with {size} images at once; going on with {self.size}.", RuntimeWarning, stacklevel=4)

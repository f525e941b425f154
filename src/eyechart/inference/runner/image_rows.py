"""Runs requests about images: reads the store, sends missing images to an engine, and stores each batch of answers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from eyechart.data.dataset.dataset import Dataset
from eyechart.errors import ImageError, StoreError
from eyechart.inference.engines.interface import ImageAnswers, MakeEngine
from eyechart.inference.requests.image_bytes import image_name, load_image
from eyechart.inference.requests.row_requests import BaseRequest
from eyechart.inference.store.arrays import Block, CachedArray, append, compact, gather, load, seal, stored_rows
from eyechart.inference.store.entries import StoreEntry, Writer
from eyechart.models.runtime.phases import phase
from eyechart.models.types import Model

CheckWidth = Callable[[int], None]
UNIT = "images"


class Progress(Protocol):
    """A function that counts answers: how many there are of how many, what they are, and what they cost so far."""

    def __call__(self, done: int, total: int, unit: str, cost: str = "", /) -> None:
        """Count answers."""


@dataclass(frozen=True)
class ImageRun:
    """One request about the selected images of a data set.

    `check_width` raises an error for a number of values per image that the caller cannot use. It is called before the
    first answers are stored, so that a wrong model is refused with the first batch.
    """

    entry: StoreEntry
    engine: MakeEngine
    request: BaseRequest
    model: Model
    dataset: Dataset
    progress: Progress
    check_width: CheckWidth | None = None

    def answers(self) -> CachedArray:
        """Return the answers about the selected images; images without a stored answer are sent to the engine."""
        errors: Mapping[int, str] = {}
        if not self.entry.complete and not self.is_stored():
            errors = self.request_missing()
        return self.read_rows(errors)

    def is_stored(self) -> bool:
        """Return whether the selected rows are stored in an entry that cannot be sealed yet.

        Returns False while another run compacts the entry.
        """
        try:
            rows = stored_rows(self.entry)
        except StoreError:
            return False
        return len(rows) < len(self.dataset.index) and rows.issuperset(self.dataset.selected)

    def read_rows(self, errors: Mapping[int, str]) -> CachedArray:
        """Return the stored rows of the selected images, with NaN for those that ended in an error."""
        entry, dataset = self.entry, self.dataset
        if not entry.complete:
            try:
                with phase("read answers"):
                    rows, stored = gather(entry, dataset.selected)
            except StoreError:
                if not entry.complete:  # otherwise another run has sealed it meanwhile
                    raise
            else:
                lost = [index for index in np.flatnonzero(~stored).tolist() if index not in errors]
                if lost and not entry.complete:
                    raise StoreError(
                        f"{len(lost)} of {len(dataset)} answers are missing from {entry.folder}: another run may have "
                        "deleted them. Run the same command again, one run at a time; it asks for the missing ones."
                    )
                if not lost:
                    return replace(rows, errors=dict(sorted(errors.items())))
        with phase("read answers"):
            whole = load(entry)
        if len(whole.values) != len(dataset.index):
            raise entry.damaged(entry.folder, f"it has {len(whole.values)} rows, not {len(dataset.index)}")
        return replace(whole, values=whole.values[list(dataset.rows)]) if dataset.rows else whole

    def request_missing(self) -> dict[int, str]:
        """Store the missing answers, unless another run did so while this one waited; return the errors by index."""
        total = len(self.dataset)
        try:
            with self.entry.lock_for_writing() as writer:
                if self.entry.complete:
                    return {}
                rows = stored_rows(writer)
                missing = [index for index, row in enumerate(self.dataset.selected) if row not in rows]
                done, errors = total - len(missing), dict[int, str]()
                self.progress(done, total, UNIT)
                for answers in self.engine().answer_images(self.request, self.model, self.dataset, missing):
                    errors.update(self.store(writer, answers))
                    done += len({*answers.indices, *answers.errors})
                    self.progress(done, total, UNIT)
                if len(rows) + len(missing) - len(errors) == len(self.dataset.index):
                    seal(writer, len(self.dataset.index))
                elif len(missing) > len(errors):
                    compact(writer)
                return errors
        except StoreError:
            if (unreadable := self.unreadable_images()) is None:
                raise
            return unreadable  # there is nothing to ask or to write: a store that can only be read serves as well

    def store(self, writer: Writer, answers: ImageAnswers) -> dict[int, str]:
        """Store the rows of one batch; return its errors, which are not stored."""
        errors = dict(answers.errors)
        if not answers.indices:
            return errors
        if self.check_width:
            self.check_width(answers.values.shape[1])
        errors.update(self.non_finite_errors(answers))
        good = [number for number, index in enumerate(answers.indices) if index not in errors]
        if good:
            rows = tuple(self.dataset.selected[answers.indices[number]] for number in good)
            append(writer, Block(rows, answers.values.shape[1], answers.batch_size), answers.values[good])
        return errors

    def non_finite_errors(self, answers: ImageAnswers) -> dict[int, str]:
        """Return an error for each row with NaN or infinity, by the index of its image."""
        rows = np.flatnonzero(~np.isfinite(answers.values).all(axis=1)).tolist()
        if not rows:
            return {}
        identity = self.model.identity
        return {
            answers.indices[row]: f"{image_name(self.dataset, answers.indices[row])}: {identity.name} answered with "
            f"NaN or infinity in {identity.dtype}. Try dtype=float32, and check the weights."
            for row in rows
        }

    def unreadable_images(self) -> dict[int, str] | None:
        """Return the errors of the images without an answer; None if one of them can be read."""
        errors = {}
        rows = stored_rows(self.entry)
        for index, row in enumerate(self.dataset.selected):
            if row not in rows:
                try:
                    for _, data in self.dataset.read([index]):
                        load_image(self.dataset, index, data)
                    return None
                except ImageError as error:
                    errors[index] = str(error)
        return errors

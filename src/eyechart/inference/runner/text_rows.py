"""Runs requests for rows about texts: reads the store, sends missing texts to an engine, and stores each batch."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from eyechart.errors import StoreError
from eyechart.inference.engines.interface import Engine, ImageAnswers
from eyechart.inference.requests.row_requests import ScoreChoices
from eyechart.inference.runner.image_rows import Progress
from eyechart.inference.store.arrays import Block, CachedArray, append, compact, gather, stored_rows
from eyechart.inference.store.entries import StoreEntry, Writer
from eyechart.models.types import Scorer

UNIT = "texts"


@dataclass(frozen=True)
class TextRun:
    """One request about texts; each text has a row of its own in the store."""

    entry: StoreEntry
    engine: Engine
    request: ScoreChoices
    model: Scorer
    progress: Progress

    def answers(self) -> CachedArray:
        """Return one row per text, in their order; texts without a stored row are sent to the engine."""
        errors: Mapping[int, str] = {}
        if not stored_rows(self.entry).issuperset(self.request.ids):
            errors = self.request_missing()
        unique = [*dict.fromkeys(self.request.ids)]
        rows, stored = gather(self.entry, unique)
        position = {number: index for index, number in enumerate(unique)}
        indices = [position[number] for number in self.request.ids]
        lost = [index for index in np.flatnonzero(~stored[indices]).tolist() if index not in errors]
        if lost:
            raise StoreError(
                f"{len(lost)} of {len(indices)} answers are missing from {self.entry.folder}: another run may have "
                "deleted them. Run the same command again, one run at a time; it asks for the missing ones."
            )
        values = rows.values if len(unique) == len(indices) else rows.values[indices]  # a copy may take a gigabyte
        return replace(rows, values=values, errors=dict(sorted(errors.items())))

    def request_missing(self) -> dict[int, str]:
        """Store the missing rows, and return the errors by index; equal texts are sent once."""
        ids = self.request.ids
        with self.entry.lock_for_writing() as writer:
            rows, errors = stored_rows(writer), dict[int, str]()
            first = {number: index for index, number in reversed([*enumerate(ids)]) if number not in rows}
            missing, total = sorted(first.values()), len({*ids})
            done = total - len(missing)
            self.progress(done, total, UNIT)
            for answers in self.engine.score_texts(self.request, self.model, missing):
                errors.update(self.store(writer, answers))
                done += len({*answers.indices, *answers.errors})
                self.progress(done, total, UNIT)
            if len(missing) > len(errors):
                compact(writer)
        failed = {ids[index]: message for index, message in errors.items()}
        return {index: failed[number] for index, number in enumerate(ids) if number in failed}

    def store(self, writer: Writer, answers: ImageAnswers) -> dict[int, str]:
        """Store the rows of one batch; return its errors, which are not stored."""
        errors = dict(answers.errors)
        finite = [bool(np.isfinite(row).all()) for row in answers.values]
        for index, good in zip(answers.indices, finite, strict=True):
            if not good:
                errors[index] = f"{self.model.identity.name} answered with NaN or infinity. Try dtype=float32."
        rows = tuple(self.request.ids[index] for index in answers.indices if index not in errors)
        if rows:
            append(writer, Block(rows, answers.values.shape[1], answers.batch_size), answers.values[finite])
        return errors

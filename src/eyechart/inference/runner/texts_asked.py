"""Runs requests about texts and for texts: reads the store, sends what is missing to an engine, and stores it."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from eyechart.data.dataset.dataset import Dataset
from eyechart.errors import StoreError
from eyechart.inference.engines.interface import ImageAnswers, MakeEngine
from eyechart.inference.requests.image_bytes import load_request
from eyechart.inference.requests.row_requests import ScoreChoices
from eyechart.inference.requests.text_requests import Generate, request_ids
from eyechart.inference.runner.image_rows import Progress
from eyechart.inference.store import responses
from eyechart.inference.store.arrays import Block, CachedArray, append, compact, gather, stored_rows
from eyechart.inference.store.entries import StoreEntry, Writer
from eyechart.inference.store.responses import Response, Responses, StoredResponse
from eyechart.models.types import Generator, Request, Scorer, Usage

TEXTS, QUESTIONS = "texts", "questions"  # units of the progress
FIRST_ANSWERS = 20  # from which on the cost of all is estimated


@dataclass(frozen=True)
class TextRun:
    """One request about texts; each text has a row of its own in the store."""

    entry: StoreEntry
    engine: MakeEngine
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
            self.progress(done, total, TEXTS)
            for answers in self.engine().score_texts(self.request, self.model, missing):
                errors.update(self.store(writer, answers))
                done += len({*answers.indices, *answers.errors})
                self.progress(done, total, TEXTS)
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


@dataclass(frozen=True)
class BatchRun:
    """One batch of requests to a model."""

    entry: StoreEntry
    engine: MakeEngine
    batch: Generate
    model: Generator
    dataset: Dataset | None
    progress: Progress

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """The id of each request in the store."""
        return request_ids(self.batch.requests, self.dataset.selected_digests if self.dataset else ())

    def responses(self) -> Responses:
        """Return one response per request; requests without a stored response are sent to the engine."""
        entry, ids = self.entry, self.ids
        stored = self.read_cached()
        if not {*ids} <= stored.keys():
            try:
                with entry.lock_for_writing() as writer:
                    stored = responses.read_stored(writer)
                    before = len(stored)
                    self.charge_budget(stored)
                    stored, failed = self.request_missing(writer, stored)
                    if len(stored) > before:
                        responses.compact(writer, stored)
            except StoreError as error:
                return self.run_read_only(error)
            fresh = len(stored) - before
            return self.partial_result(stored, failed, fresh) if failed else self.select(stored, fresh)
        self.charge_budget(stored)
        if not (entry.is_compact and [*stored] == sorted(stored)):
            self.compact()
        return self.select(stored, 0)

    def select(self, stored: Mapping[str, StoredResponse], fresh: int) -> Responses:
        """Return the responses of this batch from those of the entry."""
        return responses.select(stored, self.ids, self.entry, fresh)

    def run_read_only(self, reason: StoreError) -> Responses:
        """Return the responses of an entry that cannot be written, if only unreadable images have none.

        Raises `reason` otherwise.
        """
        stored, failed = self.read_cached(), dict[str, Response]()
        for number, request_id in enumerate(self.ids):
            if request_id not in stored and request_id not in failed:
                request = load_request(self.dataset, self.batch.requests[number])
                if isinstance(request, Request):
                    raise reason
                failed[request_id] = _temporary_error(str(request))
        if not failed:
            raise reason
        return self.partial_result(stored, failed)

    def compact(self) -> None:
        """Put the blocks of the entry in order, unless another run holds it or it can only be read."""
        with suppress(StoreError), self.entry.lock_for_writing(wait=False) as writer:
            responses.compact(writer, responses.read_stored(writer))

    def read_cached(self) -> dict[str, StoredResponse]:
        """Return the stored responses; none while another run compacts the entry, since this run then waits for it."""
        try:
            return responses.read_stored(self.entry)
        except StoreError:
            return {}

    def charge_budget(self, stored: Mapping[str, StoredResponse]) -> None:
        """Tell a model with a budget the token usage of those requests of this batch that have a stored response."""
        asked_before = {request_id: stored[request_id][1] for request_id in self.ids if request_id in stored}
        self.model.on_cached_usage(asked_before)

    def request_missing(
        self, writer: Writer, stored: Mapping[str, StoredResponse]
    ) -> tuple[dict[str, StoredResponse], dict[str, Response]]:
        """Return the stored responses, after storing the missing ones, and temporary errors, which are not stored."""
        all_stored, failed = {**stored}, dict[str, Response]()
        numbers = {request_id: number for number, request_id in reversed([*enumerate(self.ids)])}
        missing = sorted(number for request_id, number in numbers.items() if request_id not in stored)
        done = before = len(numbers) - len(missing)
        self.progress(done, len(numbers), QUESTIONS)
        spent = Usage()
        for number, answer in self.engine().answer_requests(self.batch, self.model, self.dataset, missing):
            request_id = self.ids[number]
            if answer.retry:
                failed[request_id] = _temporary_error(answer.error)
            else:
                all_stored[request_id] = responses.append(writer, request_id, answer)
                self.model.on_cached_usage({request_id: Usage()})  # the model counted it when it answered
                done, spent = done + 1, spent + all_stored[request_id][1]
                self.progress(done, len(numbers), QUESTIONS, self.describe_cost(spent, done - before, len(missing)))
        return all_stored, failed

    def describe_cost(self, spent: Usage, fresh: int, total: int) -> str:
        """Return what some fresh answers of `total` cost, and all will; "" if they are few, or without prices."""
        cost = self.model.cost(spent) if fresh >= min(FIRST_ANSWERS, total) else None
        if cost is None:
            return ""
        share = fresh / total
        tokens = (spent.prompt + spent.answer) / share
        return f"{cost:.4f} of about {cost / share:.4f} USD, {tokens:,.0f} tokens"

    def partial_result(
        self, stored: Mapping[str, StoredResponse], failed: Mapping[str, Response], fresh: int = 0
    ) -> Responses:
        """Return the stored responses, and temporary errors for the other requests."""
        by_id = {**{request_id: response for request_id, (response, _) in stored.items()}, **failed}
        usage = sum((stored[request_id][1] for request_id in dict.fromkeys(self.ids) if request_id in stored), Usage())
        ordered = tuple(by_id[request_id] for request_id in self.ids)
        return Responses(ordered, usage, self.entry.folder, "", fresh, len({*self.ids}))


def _temporary_error(error: str) -> Response:
    """Return the response for an error that is not stored."""
    return Response("", error=f"{error.rstrip('.')}. The next run asks again")

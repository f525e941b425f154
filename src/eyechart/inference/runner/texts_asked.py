"""Runs batches of requests for texts: reads the store, sends missing requests to an engine, stores each response."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

from eyechart.data.dataset.dataset import Dataset
from eyechart.errors import StoreError
from eyechart.inference.engines.interface import Engine
from eyechart.inference.requests.image_bytes import load_request
from eyechart.inference.requests.text_requests import Generate, request_ids
from eyechart.inference.runner.image_rows import Progress
from eyechart.inference.store import responses
from eyechart.inference.store.entries import StoreEntry, Writer
from eyechart.inference.store.responses import Response, Responses, StoredResponse
from eyechart.models.types import Generator, Request, Usage

UNIT = "questions"
FIRST_ANSWERS = 20  # from which on the cost of all is estimated


@dataclass(frozen=True)
class BatchRun:
    """One batch of requests to a model."""

    entry: StoreEntry
    engine: Engine
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
        self.engine.charge_budget(self.model, asked_before)

    def request_missing(
        self, writer: Writer, stored: Mapping[str, StoredResponse]
    ) -> tuple[dict[str, StoredResponse], dict[str, Response]]:
        """Return the stored responses, after storing the missing ones, and temporary errors, which are not stored."""
        all_stored, failed = {**stored}, dict[str, Response]()
        numbers = {request_id: number for number, request_id in reversed([*enumerate(self.ids)])}
        missing = sorted(number for request_id, number in numbers.items() if request_id not in stored)
        done = before = len(numbers) - len(missing)
        self.progress(done, len(numbers), UNIT)
        spent = Usage()
        for number, answer in self.engine.answer_requests(self.batch, self.model, self.dataset, missing):
            request_id = self.ids[number]
            if answer.retry:
                failed[request_id] = _temporary_error(answer.error)
            else:
                all_stored[request_id] = responses.append(writer, request_id, answer)
                self.engine.charge_budget(self.model, {request_id: Usage()})  # the model counted it when it answered
                done, spent = done + 1, spent + all_stored[request_id][1]
                self.progress(done, len(numbers), UNIT, self.describe_cost(spent, done - before, len(missing)))
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

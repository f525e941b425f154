"""Answers requests once: reads the store, and sends what is missing to an engine."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any, Protocol, overload

import numpy as np

from eyechart.data.dataset.dataset import Dataset
from eyechart.data.dataset.limits import Limit
from eyechart.errors import ImageError, SpecError, StoreError
from eyechart.inference.engines.interface import ImageAnswers, MakeEngine
from eyechart.inference.engines.local import LocalEngine
from eyechart.inference.requests.image_bytes import image_name, load_image, load_request
from eyechart.inference.requests.row_requests import (
    BaseRequest,
    Classify,
    ClassWeights,
    Encode,
    LogitScale,
    Match,
    ScoreChoices,
)
from eyechart.inference.requests.text_requests import Generate, request_ids
from eyechart.inference.store import responses
from eyechart.inference.store.arrays import (
    Block,
    CachedArray,
    append,
    compact,
    gather,
    load,
    read_or_compute,
    seal,
    stored_rows,
)
from eyechart.inference.store.entries import Store, StoreEntry, Writer, request_key
from eyechart.inference.store.responses import AnswerCounts, Response, Responses, StoredResponse
from eyechart.models.options import precision_advice
from eyechart.models.runtime.phases import phase
from eyechart.models.types import (
    Classifier,
    Encoder,
    Floats,
    Generator,
    ImageEncoder,
    Matcher,
    Model,
    Request,
    Scorer,
    TextEncoder,
    Usage,
)

_CheckWidth = Callable[[int], None]
IMAGES, TEXTS, REQUESTS = "images", "texts", "requests"  # units of the progress
FIRST_ANSWERS = 20  # from which on the cost of all is estimated


class Progress(Protocol):
    """A function that counts answers: how many there are of how many, what they are, and what they cost so far."""

    def __call__(self, done: int, total: int, unit: str, cost: str = "", /) -> None:
        """Count answers."""


@dataclass(frozen=True)
class Runner:
    """Where answers are stored, the limit and seed of the session, and the engine that answers what is missing.

    The engine is made when `engine` is first called. `in_blocks` is set if the limit grows while a case runs. `digests`
    collects the digests of the store's entries that were used, `token_limits` the most tokens of answers that requests
    allow, and `answer_counts` whether the answer to each request is thinking alone.
    """

    store: Store
    limit: Limit
    seed: int
    progress: Progress
    engine: MakeEngine = field(default_factory=lambda: cache(LocalEngine), compare=False)
    in_blocks: bool = False
    digests: set[str] = field(default_factory=set, compare=False)
    token_limits: set[int] = field(default_factory=set, compare=False)
    answer_counts: dict[str, AnswerCounts] = field(default_factory=dict, compare=False)

    @property
    def fixed_limit(self) -> Limit:
        """The limit, for requests that depend on which images are asked together.

        Raises SpecError if the limit grows, since a longer run would ask others.
        """
        if self.in_blocks:
            raise SpecError(
                "--eye-sequential: the requests of this case depend on which images are asked together, so that a "
                "longer run would ask again. Leave it out, or ask about one image a request (images_per_request=1)."
            )
        return self.limit

    @overload
    def run(self, request: Encode, model: TextEncoder) -> Floats: ...

    @overload
    def run(
        self, request: Encode, model: ImageEncoder, dataset: Dataset, check_width: _CheckWidth | None = None
    ) -> CachedArray: ...

    @overload
    def run(
        self, request: Classify, model: Classifier, dataset: Dataset, check_width: _CheckWidth | None = None
    ) -> CachedArray: ...

    @overload
    def run(
        self, request: Match, model: Matcher, dataset: Dataset, check_width: _CheckWidth | None = None
    ) -> CachedArray: ...

    @overload
    def run(self, request: ScoreChoices, model: Scorer, dataset: Dataset | None = None) -> CachedArray: ...

    @overload
    def run(self, request: ClassWeights, model: TextEncoder) -> Floats: ...

    @overload
    def run(self, request: LogitScale, model: Encoder) -> Floats: ...

    @overload
    def run(self, request: Generate, model: Generator, dataset: Dataset | None = None) -> Responses: ...

    def run(
        self,
        request: Any,
        model: Any,
        dataset: Dataset | None = None,
        check_width: Callable[[int], None] | None = None,
    ) -> CachedArray | Floats | Responses:
        """Return the answers of a model to a request, from the store as far as they are there.

        Returns one row per image or per text of a request about such items, an array for other requests about texts,
        and for `Generate` one response per request. `check_width` raises an error for a number of values per image
        that the caller cannot use; it is called before the first answers are stored.
        """
        with phase("identify"):
            entry = self.store.entry(request_key(request, model, dataset))
        self.digests.add(entry.key.digest)
        if request.row_per_image:
            assert dataset is not None
            return _ImageRun(entry, self.engine, request, model, dataset, self.progress, check_width).answers()
        if isinstance(request, ScoreChoices):
            return _TextRun(entry, self.engine, request, model, self.progress).answers()
        if not isinstance(request, Generate):
            return read_or_compute(entry, lambda: self.engine().answer_texts(request, model))
        self.token_limits.update(text_request.max_tokens for text_request in request.requests)
        run = BatchRun(entry, self.engine, request, model, dataset, self.progress)
        responses = run.responses()
        self.answer_counts.update(zip(run.ids, map(AnswerCounts.of, responses.responses), strict=True))
        return responses


@dataclass(frozen=True)
class _ImageRun:
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
    check_width: _CheckWidth | None = None

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
                self.progress(done, total, IMAGES)
                for answers in self.engine().answer_images(self.request, self.model, self.dataset, missing):
                    errors.update(self.store(writer, answers))
                    done += len({*answers.indices, *answers.errors})
                    self.progress(done, total, IMAGES)
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
        precision = f" in {identity.dtype}" if identity.dtype else ""
        remedy = f"{precision_advice(self.model.declared_options, identity.dtype)} and how images are prepared."
        return {
            answers.indices[row]: f"{image_name(self.dataset, answers.indices[row])}: {identity.name} answered with "
            f"NaN or infinity{precision}. {remedy}"
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


@dataclass(frozen=True)
class _TextRun:
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
        if not all(finite):
            identity = self.model.identity
            advice = precision_advice(self.model.declared_options, identity.dtype)
            message = f"{identity.name} answered with NaN or infinity. {advice}."
            errors |= {index: message for index, good in zip(answers.indices, finite, strict=True) if not good}
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

    def read_cached(self) -> Mapping[str, StoredResponse]:
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
        self.progress(done, len(numbers), REQUESTS)
        spent = Usage()
        for number, answer in self.engine().answer_requests(self.batch, self.model, self.dataset, missing):
            request_id = self.ids[number]
            if answer.retry:
                failed[request_id] = _temporary_error(answer.error)
            else:
                all_stored[request_id] = responses.append(writer, request_id, answer)
                self.model.on_cached_usage({request_id: Usage()})  # the model counted it when it answered
                done, spent = done + 1, spent + all_stored[request_id][1]
                self.progress(done, len(numbers), REQUESTS, self.describe_cost(spent, done - before, len(missing)))
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

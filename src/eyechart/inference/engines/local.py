"""Answers requests with a model in this process. Only this module calls the models.

Images are read and decoded while the model works.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Generator as Stream
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, closing, nullcontext
from itertools import chain, islice
from typing import Any
from warnings import warn

import numpy as np
from PIL import Image

from eyechart.data.dataset.dataset import Dataset
from eyechart.errors import ImageError, ModelError, RequestError
from eyechart.inference.engines.interface import ImageAnswers
from eyechart.inference.engines.preparation.feed import Feeds
from eyechart.inference.engines.preparation.prepare import Prepared, batches, prefetch_images
from eyechart.inference.requests.class_weights import class_weights
from eyechart.inference.requests.image_bytes import THREADS, image_name, load_request
from eyechart.inference.requests.row_requests import (
    BaseRequest,
    Classify,
    ClassWeights,
    Encode,
    LogitScale,
    Match,
    ScoreChoices,
)
from eyechart.inference.requests.text_requests import Generate
from eyechart.models.own_class import explained
from eyechart.models.runtime.torch_runtime import out_of_memory
from eyechart.models.types import (
    Answer,
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
)

IMAGES_AHEAD = 64  # images of requests that are read before the model asks for them, or one request
CHUNK = 16  # batches of texts that are answered at once, and lost where a run is stopped
Answers = Callable[[Sequence[Any]], Floats]


class LocalEngine:
    """Answers requests with a model in this process.

    `turn` is held while the model works, so that threads with one engine take turns; images are read before it.
    """

    def __init__(self, turn: AbstractContextManager[object] | None = None) -> None:
        self.turn = turn or nullcontext()
        self.feeds = Feeds()

    def answer_images(
        self, request: BaseRequest, model: Model, dataset: Dataset, indices: Sequence[int]
    ) -> Iterator[ImageAnswers]:
        """Yield the answers about the images at some indices, batch by batch."""
        answers = _OOMBackoff(lambda items: _answer_prepared(request, model, items), model.batch_size, request.padded)
        for batch in self.prefetch(request, model, dataset, indices):
            with self.turn:
                answered = _answer_batch(answers, batch, dataset)
            yield answered

    def prefetch(
        self, request: BaseRequest, model: Model, dataset: Dataset, indices: Sequence[int]
    ) -> Iterator[list[Prepared]]:
        """Yield batches of prepared images, in processes if many are for an accelerator, else in threads."""
        prepare = preparation(request, model)
        if not isinstance(request, ScoreChoices) and (processes := self.feeds.processes(model, len(indices))):
            return processes.prefetch(dataset, indices, model.batch_size)
        return prefetch_images(dataset, indices, model.batch_size, prepare)

    def answer_texts(self, request: BaseRequest, model: Model) -> Floats:
        """Return the answer to a request about texts, of shape (rows, d)."""
        with self.turn, explained(model):
            match request, model:
                case Encode(items=tuple(texts)), TextEncoder() as encoder:
                    return encoder.encode_texts(texts)
                case ClassWeights(), TextEncoder() as encoder:
                    return class_weights(encoder.encode_texts, request.names, request.templates)
                case LogitScale(), Encoder() as encoder:
                    return np.array([[encoder.logit_scale]], np.float32)
        raise unsupported(request, model)

    def score_texts(self, request: ScoreChoices, model: Scorer, numbers: Sequence[int]) -> Iterator[ImageAnswers]:
        """Yield the rows of the texts with some numbers, batch by batch."""
        if not isinstance(model, Scorer):
            raise unsupported(request, model)
        texts = request.items or ()
        answers = _OOMBackoff(lambda items: _score(request, model, items), model.batch_size, pad=False)
        for batch in batches(numbers, model.batch_size):
            with self.turn, explained(model):
                scored = _score_batch(answers, [(number, _fill_parts(request, texts[number])) for number in batch])
            yield scored

    def answer_requests(
        self, batch: Generate, model: Generator, dataset: Dataset | None, numbers: Sequence[int]
    ) -> Iterator[tuple[int, Answer]]:
        """Yield the answers to the requests with some numbers, in groups that a model can answer in one call."""
        for group in batch.group_by_settings(numbers):
            with self.turn:
                yield from _generate_group(batch, model, dataset, group)

    def release(self, model: Model) -> None:
        """End the processes that prepare images for a model."""
        self.feeds.release(model)

    def close(self) -> None:
        """End the processes that prepare images."""
        self.feeds.close()


def unsupported(request: BaseRequest, model: Model, capability: str = "") -> ModelError:
    """Return the error for a model without the capability that a request needs."""
    return ModelError(
        f"{model.identity.name} cannot answer {type(request).__name__}. Expected a model with the capability "
        f"{capability or request.capability}."
    )


# Requests about images.


def preparation(request: BaseRequest, model: Model) -> Callable[[Image.Image], Any]:
    """Return what turns an image into an item of `_answer_prepared`; it is called in threads."""
    match request, model:
        case Encode(items=None), ImageEncoder() as encoder:
            return encoder.prepare
        case Classify(), Classifier() as classifier:
            return classifier.prepare
        case Match(), Matcher() as matcher:
            return matcher.prepare
        case ScoreChoices(), Scorer():
            return lambda image: _fill_parts(request, image)
    raise unsupported(request, model)


def _answer_prepared(request: BaseRequest, model: Model, items: Sequence[Any]) -> Floats:
    """Return the answers about prepared images, one row for each.

    Raises ModelError for an array of another shape, since its rows could not be assigned to images.
    """
    with explained(model):
        values = _to_floats(call(request, model, items), model)
    if values.ndim != 2 or len(values) != len(items):
        raise ModelError(
            f"{model.identity.name} gave an array of shape {values.shape} for {len(items)} images. Expected one row of "
            "numbers an image: correct the backend."
        )
    return values


def _to_floats(values: Any, model: Model) -> Floats:
    """Return what a model gave as an array of floats; a tensor may be on any device, and in any precision."""
    if hasattr(values, "detach"):
        values = values.detach().float().cpu().numpy()
    if isinstance(values, np.ndarray) and values.dtype.kind not in "fiubO":
        raise ModelError(f"{model.identity.name} gave numbers of the type {values.dtype}. Expected floats.")
    return np.asarray(values, np.float32)


def call(request: BaseRequest, model: Model, items: Sequence[Any]) -> Floats:
    """Return what the model's method for a request returns."""
    match request, model:
        case Encode(items=None), ImageEncoder() as encoder:
            return encoder.encode_images(items)
        case Classify(), Classifier() as classifier:
            return classifier.classify(items)
        case Match(), Matcher() as matcher:
            return matcher.match(items, request.texts)
        case ScoreChoices(), Scorer() as scorer:
            return _score(request, scorer, items)
    raise unsupported(request, model)


def _fill_parts(request: ScoreChoices, item: Image.Image | str) -> Request:
    """Return the prompt of a request with an image or a text in the position of the item."""
    return Request(tuple(item if isinstance(part, int) else part for part in request.parts))


def _score(request: ScoreChoices, model: Scorer, prompts: Sequence[Request]) -> Floats:
    """Return the log-probabilities of all choices, or the index of the best one and its own; one row per prompt."""
    if request.best:
        return np.stack(model.best(prompts, request.choices), axis=1).astype(np.float32)
    return np.asarray(model.score(prompts, request.choices, until=request.until), np.float32)


def _answer_batch(answers: "_OOMBackoff", batch: Sequence[Prepared], dataset: Dataset) -> ImageAnswers:
    """Return the answers about a batch of prepared images; images that the model refuses are errors."""
    errors = {index: str(item) for index, item in batch if isinstance(item, ImageError)}
    left = [(index, item) for index, item in batch if index not in errors]
    while left:
        try:
            values = answers([item for _, item in left])
        except RequestError as error:
            for number, reason in error.errors.items():
                errors[left[number][0]] = f"{image_name(dataset, left[number][0])}: {reason}"
            left = [prepared for number, prepared in enumerate(left) if number not in error.errors]
        else:
            return ImageAnswers(tuple(index for index, _ in left), values, errors, answers.reduced)
    return ImageAnswers(errors=errors)


def _score_batch(answers: "_OOMBackoff", batch: Sequence[tuple[int, Request]]) -> ImageAnswers:
    """Return the rows of a batch of texts; texts that the model refuses are errors."""
    errors, left = dict[int, str](), [*batch]
    while left:
        try:
            values = answers([request for _, request in left])
        except RequestError as error:
            errors |= {left[number][0]: reason for number, reason in error.errors.items()}
            left = [item for number, item in enumerate(left) if number not in error.errors]
        else:
            return ImageAnswers(tuple(number for number, _ in left), values, errors, answers.reduced)
    return ImageAnswers(errors=errors)


class _OOMBackoff:
    """Calls a model with ever smaller batches when memory runs out, with a warning each time.

    With `pad`, a shorter batch is filled up with its last item. `reduced` is the size of the batches since memory ran
    out, 0 before.
    """

    def __init__(self, answers: Answers, size: int, pad: bool = True) -> None:
        self.answers = answers
        self.size = size
        self.pad = pad
        self.reduced = 0

    def __call__(self, items: Sequence[Any]) -> Floats:
        """Return the answers about all items, in one batch while memory lasts."""
        parts: list[Floats] = []
        start = 0
        while start < len(items):
            some = [*items[start : start + self.size]]
            filled = some + some[-1:] * (self.size - len(some)) if self.pad else some
            try:
                parts.append(self.answers(filled)[: len(some)])
            except RequestError as error:  # the items that fill the batch up are copies of the last one
                last = len(some) - 1
                refused = {start + min(number, last): reason for number, reason in error.errors.items()}
                raise RequestError(refused) from error
            except Exception as error:
                if not out_of_memory(error):
                    raise
                self.halve(len(filled), error)
            else:
                start += len(some)
        return np.concatenate(parts)

    def halve(self, size: int, error: Exception) -> None:
        """Halve the batch size. Raises ModelError if memory ran out on a single image."""
        if size <= 1:
            raise ModelError(
                f"Memory ran out on a single image ({error}). Use a smaller model, dtype=bfloat16 or another device."
            ) from error
        self.size = self.reduced = size // 2
        warn(f"Memory ran out with {size} images at once; going on with {self.size}.", RuntimeWarning, stacklevel=4)


# Requests for texts.


def _generate_group(
    batch: Generate, model: Generator, dataset: Dataset | None, numbers: Sequence[int]
) -> Stream[tuple[int, Answer]]:
    """Yield the answers to requests with equal settings.

    A request whose image cannot be read is not sent; its answer is an error.
    """
    sent: list[int] = []
    unreadable: list[tuple[int, Answer]] = []

    def stream() -> Stream[Request]:
        for number, request in _prefetch_requests(batch, dataset, numbers):
            if isinstance(request, Request):
                sent.append(number)
                yield request
            else:
                unreadable.append((number, Answer("", (), False, error=str(request), retry=True)))

    max_tokens, form = batch.requests[numbers[0]].settings
    with closing(stream()) as requests:
        if not isinstance(model, Generator):
            raise unsupported(batch, model)
        if not isinstance(form, tuple):
            answers = model.generate(requests, max_tokens, form)
        elif isinstance(model, Scorer):
            answers = choose(model, requests, form)
        else:
            raise unsupported(batch, model, "scorer")
        try:
            with explained(model):
                for position, answer in _check_one_per_request(answers, sent, model.identity.name):
                    yield sent[position], answer
        finally:
            if isinstance(answers, Stream):
                answers.close()  # before the requests, which a thread of the model may be taking
    yield from unreadable


def choose(model: Scorer, requests: Iterable[Request], choices: Sequence[str]) -> Iterator[tuple[int, Answer]]:
    """Yield the most likely choice of each request, chunk by chunk."""
    left: Iterator[tuple[int, Request]] = enumerate(requests)
    while some := [*islice(left, CHUNK * model.batch_size)]:
        try:
            best, _ = model.best([request for _, request in some], choices)
        except RequestError as error:
            for number, reason in error.errors.items():
                yield some[number][0], Answer("", (), False, error=reason)
            left = chain([request for number, request in enumerate(some) if number not in error.errors], left)
            continue
        for (position, _), choice in zip(some, best.tolist(), strict=True):
            yield position, Answer(choices[choice], (), True)


def _check_one_per_request(
    answers: Iterator[tuple[int, Answer]], sent: Sequence[int], model_name: str
) -> Iterator[tuple[int, Answer]]:
    """Yield answers and check that there is one for each request that was sent.

    Raises ModelError for a second answer, for one to a request that was not sent, and for a request without an answer.
    """
    left: set[int] = set()
    counted = 0
    for position, answer in answers:
        left.update(range(counted, len(sent)))
        counted = len(sent)
        if position not in left:
            raise ModelError(
                f"{model_name} answered request {position} twice or before it was sent. Correct the backend."
            )
        left.discard(position)
        yield position, answer
    left.update(range(counted, len(sent)))
    if left:
        raise ModelError(
            f"{model_name} left {len(left)} of {len(sent)} requests without an answer. Correct the backend."
        )


def _prefetch_requests(
    batch: Generate, dataset: Dataset | None, numbers: Sequence[int]
) -> Iterator[tuple[int, Request | ImageError]]:
    """Yield requests with their images, or the error of an image, read and decoded in threads ahead of the model."""
    with ThreadPoolExecutor(THREADS) as readers:
        left = iter(numbers)

        def submit(some: Iterable[int]) -> Iterator[tuple[int, Future[Request | ImageError]]]:
            yield from ((number, readers.submit(load_request, dataset, batch.requests[number])) for number in some)

        most = max((len(batch.requests[number].images) for number in numbers), default=1)
        waiting = deque(submit(islice(left, max(1, IMAGES_AHEAD // max(1, most)))))
        try:
            while waiting:
                number, future = waiting.popleft()
                waiting.extend(submit(islice(left, 1)))
                yield number, future.result()
        finally:
            for _, future in waiting:
                future.cancel()

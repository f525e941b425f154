"""Putting questions to a language model, once: images are read while it works, each reply is kept as it comes."""

from collections import deque
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, suppress
from itertools import islice
from operator import itemgetter

from eyechart.data.dataset import Dataset
from eyechart.errors import ImageError, ModelError, StoreError
from eyechart.inference import responses
from eyechart.inference.image_runner import THREADS, Progress, decoder_settings, load_image
from eyechart.inference.requests import Generate, RequestTemplate
from eyechart.inference.responses import Response, Responses, StoredResponse
from eyechart.inference.store import Entry, Key, Store, Writer
from eyechart.models import types
from eyechart.models.types import Answer, Request, Usage

UNIT = "questions"
AHEAD = 64  # images that are read before the model asks for them, or one request's


def request_key(batch: Generate, model: types.Generator, dataset: Dataset, *, limit: int | None, seed: int) -> Key:
    """The key of a protocol's replies."""
    return Key(
        kind=batch.name,
        model=model.identity,
        data=dataset.fingerprint,
        decoder=decoder_settings(dataset),
        prompts=batch.sha256,
        decoding=batch.decoding,
        limit=limit,
        seed=seed,
    )


def run_requests(
    store: Store, key: Key, dataset: Dataset, model: types.Generator, questions: Generate, progress: Progress
) -> Responses:
    """Give the kept replies, asking only for those that are missing."""
    entry = store.entry(key)
    if questions.shared:
        return run_shared(entry, dataset, model, questions, progress)
    if not entry.complete:
        try:
            with entry.lock_for_writing() as writer:
                if not entry.complete:
                    charge_budget(model, key, [usage for _, usage in responses.read_stored(writer).values()])
                    found, passing = request_missing(writer, dataset, model, questions, progress)
                    if passing:
                        return partial_result(entry, found, passing, questions.ids)
        except StoreError as error:
            return run_read_only(entry, dataset, questions, error)
    loaded = responses.load(entry)
    charge_budget(model, key, [loaded.usage], one_by_one=False)
    return loaded


def run_shared(
    entry: Entry, dataset: Dataset, model: types.Generator, questions: Generate, progress: Progress
) -> Responses:
    """Give replies out of a book, asking only for those that nobody asked for."""
    found = read_cached(entry)
    wanted = [place for place in dict.fromkeys(questions.ids) if place not in found]
    passing: dict[int, Response] = {}
    if wanted:
        try:
            with entry.lock_for_writing() as writer:
                found = responses.read_stored(writer)
                before = len(found)
                charge_budget(model, entry.key, [usage for _, usage in found.values()])
                found, passing = request_missing(writer, dataset, model, questions, progress)
                if len(found) > before:
                    responses.compact(writer, found)
        except StoreError as error:
            return run_read_only(entry, dataset, questions, error)
        if passing:
            return partial_result(entry, found, passing, questions.ids, len(found) - before)
        return responses.select(found, questions.ids, entry, len(found) - before)
    charge_budget(model, entry.key, [usage for _, usage in found.values()], one_by_one=False)
    if not (entry.is_compact and [*found] == sorted(found)):
        compact(entry)
    return responses.select(found, questions.ids, entry, 0)


def run_read_only(entry: Entry, dataset: Dataset, questions: Generate, why: StoreError) -> Responses:
    """Return replies of an entry that cannot be written, if all that is missing are images that cannot be read.

    Raises `why` otherwise.
    """
    found, passing = read_cached(entry), dict[int, Response]()
    for number, place in enumerate(questions.ids):
        if place not in found and place not in passing:
            made = load_request(dataset, questions.requests[number])
            if isinstance(made, Request):
                raise why
            passing[place] = temporary_error(str(made))
    if not passing:
        raise why
    return partial_result(entry, found, passing, questions.ids)


def temporary_error(error: str) -> Response:
    """Return the reply for an error that is not stored."""
    return Response("", error=f"{error.rstrip('.')}. The next run asks again")


def compact(entry: Entry) -> None:
    """Put a book in order that a killed run left as it was, unless another run holds it, or it may only be read."""
    with suppress(StoreError), entry.lock_for_writing(wait=False) as writer:
        responses.compact(writer, responses.read_stored(writer))


def read_cached(entry: Entry) -> dict[int, StoredResponse]:
    """What a book holds; of one that another run is tidying, nothing, since that run is waited for."""
    try:
        return responses.read_stored(entry)
    except StoreError:
        return {}


def charge_budget(model: types.Generator, key: Key, took: Sequence[Usage], *, one_by_one: bool = True) -> None:
    """Tell a model that has a budget what the answers took that are kept already; it counts each question once."""
    model.on_cached_usage(key.digest, sum(took, Usage()), took if one_by_one else ())


def request_missing(
    writer: Writer, dataset: Dataset, model: types.Generator, questions: Generate, progress: Progress
) -> tuple[dict[int, StoredResponse], dict[int, Response]]:
    """Ask what is missing; an error that may pass is told apart and not kept, so that the next run asks again."""
    found = responses.read_stored(writer)
    numbers = {place: number for number, place in reversed([*enumerate(questions.ids)])}
    missing = [number for place, number in sorted(numbers.items(), key=itemgetter(1)) if place not in found]
    done = len(numbers) - len(missing)
    progress(done, len(numbers), UNIT)
    passing: dict[int, Response] = {}
    for round_ in questions.group_by_settings(missing):
        for number, answer in generate_group(dataset, model, questions, round_):
            place = questions.ids[number]
            if answer.retry:
                passing[place] = temporary_error(answer.error)
            else:
                found[place] = responses.append(writer, place, answer)
                progress(done := done + 1, len(numbers), UNIT)
    if not passing and not questions.shared:
        responses.seal(writer, len(questions.requests))
    return found, passing


def partial_result(
    entry: Entry, found: dict[int, StoredResponse], passing: dict[int, Response], places: Sequence[int], fresh: int = 0
) -> Responses:
    """What there is when some requests failed for now."""
    said = {place: reply for place, (reply, _) in found.items()} | passing
    usage = sum((found[place][1] for place in dict.fromkeys(places) if place in found), Usage())
    return Responses(tuple(said[place] for place in places), usage, entry.folder, "", fresh)


def generate_group(
    dataset: Dataset, model: types.Generator, questions: Generate, places: Sequence[int]
) -> Iterator[tuple[int, Answer]]:
    """Ask one round; an image that cannot be read is an error of its request, which is then not sent."""
    sent: list[int] = []
    broken: list[tuple[int, Answer]] = []

    def stream() -> Generator[Request]:
        for place, made in prefetch_requests(dataset, questions, places):
            if isinstance(made, Request):
                sent.append(place)
                yield made
            else:
                broken.append((place, Answer("", (), False, error=str(made), retry=True)))

    max_tokens, schema = questions.requests[places[0]].settings
    with closing(stream()) as requests:
        for number, answer in check_one_per_request(
            model.generate(requests, max_tokens, schema), sent, model.identity.name
        ):
            yield sent[number], answer
    yield from broken


def check_one_per_request(
    answers: Iterator[tuple[int, Answer]], sent: Sequence[int], who: str
) -> Iterator[tuple[int, Answer]]:
    """Refuse answers that are not one a request: whose they are could not be told."""
    left: set[int] = set()
    seen = 0
    for number, answer in answers:
        left.update(range(seen, len(sent)))
        seen = len(sent)
        if number not in left:
            raise ModelError(f"{who} answered request {number} twice or before it was sent. Correct the backend.")
        left.discard(number)
        yield number, answer
    left.update(range(seen, len(sent)))
    if left:
        raise ModelError(f"{who} left {len(left)} of {len(sent)} requests without an answer. Correct the backend.")


def prefetch_requests(
    dataset: Dataset, questions: Generate, places: Sequence[int]
) -> Iterator[tuple[int, Request | ImageError]]:
    """Requests with their images, read and decoded in threads some way ahead."""
    with ThreadPoolExecutor(THREADS) as readers:
        left = iter(places)

        def submit(some: Iterator[int]) -> Iterator[tuple[int, Future[Request | ImageError]]]:
            yield from ((place, readers.submit(load_request, dataset, questions.requests[place])) for place in some)

        most = max((len(questions.requests[place].images) for place in places), default=1)
        waiting = deque(submit(islice(left, max(1, AHEAD // max(1, most)))))
        try:
            while waiting:
                place, future = waiting.popleft()
                waiting.extend(submit(islice(left, 1)))
                yield place, future.result()
        finally:
            for _, future in waiting:
                future.cancel()


def load_request(dataset: Dataset, question: RequestTemplate) -> Request | ImageError:
    """Read the images of a question; the bytes they were decoded from go along, for a model that is elsewhere."""
    files = [data for row in question.images for _, data in dataset.read([row])]
    try:
        images = [load_image(dataset, row, data) for row, data in zip(question.images, files, strict=True)]
    except ImageError as error:
        return error
    shown = iter(images)
    return Request(tuple(part if isinstance(part, str) else next(shown) for part in question.parts), tuple(files))

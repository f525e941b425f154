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
from eyechart.inference.image_runner import THREADS, Progress, decoder, shown_image
from eyechart.inference.requests import Question, Questions
from eyechart.inference.responses import Kept, Replies, Reply
from eyechart.inference.store import Entry, Key, Store, Writer
from eyechart.models import types
from eyechart.models.types import Answer, Request, Usage

UNIT = "questions"
AHEAD = 64  # images that are read before the model asks for them, or one request's


def question_key(
    questions: Questions, model: types.Generator, dataset: Dataset, *, limit: int | None, seed: int
) -> Key:
    """The key of a protocol's replies."""
    return Key(
        question=questions.name,
        model=model.identity,
        data=dataset.fingerprint,
        decoder=decoder(dataset),
        prompts=questions.sha256,
        decoding=questions.decoding,
        limit=limit,
        seed=seed,
    )


def interview(
    store: Store, key: Key, dataset: Dataset, model: types.Generator, questions: Questions, progress: Progress
) -> Replies:
    """Give the kept replies, asking only for those that are missing."""
    entry = store.entry(key)
    if questions.book:
        return consult(entry, dataset, model, questions, progress)
    if not entry.complete:
        try:
            with entry.writing() as writer:
                if not entry.complete:
                    meet(model, key, [usage for _, usage in responses.kept(writer).values()])
                    found, passing = complete(writer, dataset, model, questions, progress)
                    if passing:
                        return unfinished(entry, found, passing, questions.places)
        except StoreError as error:
            return without_writing(entry, dataset, questions, error)
    loaded = responses.load(entry)
    meet(model, key, [loaded.usage], one_by_one=False)
    return loaded


def consult(
    entry: Entry, dataset: Dataset, model: types.Generator, questions: Questions, progress: Progress
) -> Replies:
    """Give replies out of a book, asking only for those that nobody asked for."""
    found = looked_up(entry)
    wanted = [place for place in dict.fromkeys(questions.places) if place not in found]
    passing: dict[int, Reply] = {}
    if wanted:
        try:
            with entry.writing() as writer:
                found = responses.kept(writer)
                before = len(found)
                meet(model, entry.key, [usage for _, usage in found.values()])
                found, passing = complete(writer, dataset, model, questions, progress)
                if len(found) > before:
                    responses.tidy(writer, found)
        except StoreError as error:
            return without_writing(entry, dataset, questions, error)
        if passing:
            return unfinished(entry, found, passing, questions.places, len(found) - before)
        return responses.chosen(found, questions.places, entry, len(found) - before)
    meet(model, entry.key, [usage for _, usage in found.values()], one_by_one=False)
    if not (entry.one_part and [*found] == sorted(found)):
        straighten(entry)
    return responses.chosen(found, questions.places, entry, 0)


def without_writing(entry: Entry, dataset: Dataset, questions: Questions, why: StoreError) -> Replies:
    """Return replies of an entry that cannot be written, if all that is missing are images that cannot be read.

    Raises `why` otherwise.
    """
    found, passing = looked_up(entry), dict[int, Reply]()
    for number, place in enumerate(questions.places):
        if place not in found and place not in passing:
            made = request(dataset, questions.asked[number])
            if isinstance(made, Request):
                raise why
            passing[place] = asked_again(str(made))
    if not passing:
        raise why
    return unfinished(entry, found, passing, questions.places)


def asked_again(error: str) -> Reply:
    """Return the reply for an error that is not stored."""
    return Reply("", error=f"{error.rstrip('.')}. The next run asks again")


def straighten(entry: Entry) -> None:
    """Put a book in order that a killed run left as it was, unless another run holds it, or it may only be read."""
    with suppress(StoreError), entry.writing(patient=False) as writer:
        responses.tidy(writer, responses.kept(writer))


def looked_up(entry: Entry) -> dict[int, Kept]:
    """What a book holds; of one that another run is tidying, nothing, since that run is waited for."""
    try:
        return responses.kept(entry)
    except StoreError:
        return {}


def meet(model: types.Generator, key: Key, took: Sequence[Usage], *, one_by_one: bool = True) -> None:
    """Tell a model that has a budget what the answers took that are kept already; it counts each question once."""
    model.met(key.digest, sum(took, Usage()), took if one_by_one else ())


def complete(
    writer: Writer, dataset: Dataset, model: types.Generator, questions: Questions, progress: Progress
) -> tuple[dict[int, Kept], dict[int, Reply]]:
    """Ask what is missing; an error that may pass is told apart and not kept, so that the next run asks again."""
    found = responses.kept(writer)
    numbers = {place: number for number, place in reversed([*enumerate(questions.places)])}
    missing = [number for place, number in sorted(numbers.items(), key=itemgetter(1)) if place not in found]
    done = len(numbers) - len(missing)
    progress(done, len(numbers), UNIT)
    passing: dict[int, Reply] = {}
    for round_ in questions.rounds(missing):
        for number, answer in answered(dataset, model, questions, round_):
            place = questions.places[number]
            if answer.retry:
                passing[place] = asked_again(answer.error)
            else:
                found[place] = responses.append(writer, place, answer)
                progress(done := done + 1, len(numbers), UNIT)
    if not passing and not questions.book:
        responses.finish(writer, len(questions.asked))
    return found, passing


def unfinished(
    entry: Entry, found: dict[int, Kept], passing: dict[int, Reply], places: Sequence[int], fresh: int = 0
) -> Replies:
    """What there is when some requests failed for now."""
    said = {place: reply for place, (reply, _) in found.items()} | passing
    usage = sum((found[place][1] for place in dict.fromkeys(places) if place in found), Usage())
    return Replies(tuple(said[place] for place in places), usage, entry.folder, "", fresh)


def answered(
    dataset: Dataset, model: types.Generator, questions: Questions, places: Sequence[int]
) -> Iterator[tuple[int, Answer]]:
    """Ask one round; an image that cannot be read is an error of its request, which is then not sent."""
    sent: list[int] = []
    broken: list[tuple[int, Answer]] = []

    def stream() -> Generator[Request]:
        for place, made in prepared(dataset, questions, places):
            if isinstance(made, Request):
                sent.append(place)
                yield made
            else:
                broken.append((place, Answer("", (), False, error=str(made), retry=True)))

    max_tokens, schema = questions.asked[places[0]].how
    with closing(stream()) as requests:
        for number, answer in one_each(model.answers(requests, max_tokens, schema), sent, model.identity.name):
            yield sent[number], answer
    yield from broken


def one_each(answers: Iterator[tuple[int, Answer]], sent: Sequence[int], who: str) -> Iterator[tuple[int, Answer]]:
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


def prepared(
    dataset: Dataset, questions: Questions, places: Sequence[int]
) -> Iterator[tuple[int, Request | ImageError]]:
    """Requests with their images, read and decoded in threads some way ahead."""
    with ThreadPoolExecutor(THREADS) as readers:
        left = iter(places)

        def submit(some: Iterator[int]) -> Iterator[tuple[int, Future[Request | ImageError]]]:
            yield from ((place, readers.submit(request, dataset, questions.asked[place])) for place in some)

        most = max((len(questions.asked[place].rows) for place in places), default=1)
        waiting = deque(submit(islice(left, max(1, AHEAD // max(1, most)))))
        try:
            while waiting:
                place, future = waiting.popleft()
                waiting.extend(submit(islice(left, 1)))
                yield place, future.result()
        finally:
            for _, future in waiting:
                future.cancel()


def request(dataset: Dataset, question: Question) -> Request | ImageError:
    """Read the images of a question; the bytes they were decoded from go along, for a model that is elsewhere."""
    files = [data for row in question.rows for _, data in dataset.read([row])]
    try:
        images = [shown_image(dataset, row, data) for row, data in zip(question.rows, files, strict=True)]
    except ImageError as error:
        return error
    shown = iter(images)
    return Request(tuple(part if isinstance(part, str) else next(shown) for part in question.parts), tuple(files))

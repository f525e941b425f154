"""Questions about pairs of an image and a category, in one book: what one division asked, another need not ask."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from time import monotonic

import msgspec

from eyechart.data.dataset import Dataset
from eyechart.data.sample_keys import Finder, Line, images, read_lines
from eyechart.errors import ModelError, SpecError
from eyechart.inference.requests import Generate, RequestTemplate, SharedRequests
from eyechart.inference.responses import Response
from eyechart.models.types import Usage
from eyechart.parsers import compat, number, yes_no
from eyechart.protocol.context import Context, is_replay
from eyechart.protocol.prompts import Prompt, get_prompt
from eyechart.records import SubsetTiming

WORDINGS: Mapping[str, tuple[str, str]] = {
    "direct": ("existence", "existence_not"),
    "cot": ("existence_cot", "existence_cot_not"),
}
QUESTIONS = ("positive", "negative")
KINDS = (
    *("existence", "existence_not", "existence_cot", "existence_cot_not"),
    *("progression_counting", "progression_logic"),
)
TOKENS, TOKENS_STEP_BY_STEP = 64, 1024
READINGS = ("lenient", "strict", "authors")
COLUMNS, WORDS = ("key", "category", "question"), ("said", "answer")
EXPECTED = (
    "Expected a csv with the columns key, category, question (positive or negative) and answer, such as the csv of "
    "predictions of a case of existence."
)
About = tuple[int, int, str]  # the image's place, the category, the question


def existence_prompts(reasoning: str = "direct") -> tuple[Prompt, Prompt]:
    """Whether the image contains a category, and whether it does not; `reasoning` is direct or cot (chain of thought).

    Raises KeyError for another reasoning.

    Source: arXiv 2602.18094, sections 5.3 and 5.4, word by word.

    >>> [each.fill(category="book") for each in existence_prompts()]
    ['Does this image contain a book? (yes or no)', 'Does this image not contain a book? (yes or no)']
    """
    positive, negative = WORDINGS[reasoning]
    return get_prompt(positive), get_prompt(negative)


@dataclass(frozen=True)
class Query:
    """A question: which of `KINDS`, about which image's place, and about which categories."""

    kind: str
    row: int
    category: int
    other: int = 0


@dataclass(frozen=True)
class Heard:
    """Replies in the order of the queries, what they took, and how many of them were asked just now in what time."""

    said: tuple[Response, ...]
    usage: Usage
    took: SubsetTiming


@cache
def texts() -> dict[str, tuple[Prompt, int]]:
    """The prompt and the most tokens of an answer, of every kind of question."""
    return {kind: (get_prompt(kind), TOKENS_STEP_BY_STEP if "cot" in kind else TOKENS) for kind in KINDS}


def put(context: Context, queries: Sequence[Query]) -> Heard:
    """Ask, image by image, so that an engine that can computes each image once; a replay has its answers already."""
    if is_replay(context):
        return collected(context, queries)
    order = sorted(range(len(queries)), key=lambda number: queries[number].row)
    asked = tuple(question(context, queries[place]) for place in order)
    book = SharedRequests(wording(context), tuple(address(context, queries[place]) for place in order))
    begun = monotonic()
    replies = context.runner.generate(context.generator, context.dataset, Generate("pairs", asked, shared=book))
    took = SubsetTiming(answers=len({*book.ids}), fresh=replies.fresh, seconds=monotonic() - begun)
    said = dict(zip(order, replies.responses, strict=True))
    return Heard(tuple(said[place] for place in range(len(queries))), replies.usage, took)


def collected(context: Context, queries: Sequence[Query]) -> Heard:
    """The words of a file as replies."""
    words = pair_words(context.replayed_words.path, context.dataset, context.names)
    kinds = {kind: side for pair in WORDINGS.values() for kind, side in zip(pair, QUESTIONS, strict=True)}
    said = tuple(words(query.row, query.category, kinds[query.kind]) for query in queries)
    return Heard(said, Usage(), SubsetTiming(answers=len({*queries}), fresh=0, seconds=0.0))


def question(context: Context, query: Query) -> RequestTemplate:
    """The image, then the text: what several questions of an image have in common comes first."""
    asked, tokens = texts()[query.kind]
    names = {"category": context.names[query.category], "other": context.names[query.other]}
    return RequestTemplate((query.row, asked.fill(**{slot: names[slot] for slot in asked.slots})), tokens)


def address(context: Context, query: Query) -> int:
    """The question's place in the book, which no division changes."""
    width = context.dataset.classes
    return ((query.row * width + query.category) * width + query.other) * len(KINDS) + KINDS.index(query.kind)


def wording(context: Context) -> str:
    """The fingerprint of all questions that may be asked: their texts, the names in them, the length of an answer."""
    asked = [(kind, each.text, tokens) for kind, (each, tokens) in texts().items()]
    return sha256(msgspec.json.encode((asked, context.names))).hexdigest()


def readable(reading: str) -> str:
    """Refuse a reading that knows neither yes and no nor numbers."""
    if reading not in READINGS:
        raise SpecError(
            f"The reading {reading} reads letters, and here the answer is yes, no or a number. "
            f"Use {', '.join(READINGS)}."
        )
    return reading


def yes(text: str, reading: str) -> bool | None:
    """Whether an answer says yes; None where it could not be read."""
    if reading == "authors":
        return compat.authors_yes_no(text)
    found = yes_no.read(text)
    return found.strict if reading == "strict" else found.lenient


def count(text: str, reading: str) -> int | None:
    """The number that an answer says; None where it could not be read."""
    if reading == "authors":
        return compat.first_number(text)
    found = number.read(text)
    return found.strict if reading == "strict" else found.lenient


def parsers(reading: str, *names: str) -> str:
    """The parsers with their versions."""
    versions = {"yes_no": yes_no.VERSION, "number": number.VERSION}
    used = ", ".join(f"{name} {versions[name]}" for name in names)
    return f"compat {compat.VERSION}" if reading == "authors" else used


@dataclass(frozen=True)
class PairWords:
    """What a file says about each pair of a data set."""

    path: Path
    dataset: Dataset
    names: Sequence[str]
    said: Mapping[About, Response]

    def __call__(self, row: int, category: int, question: str) -> Response:
        """The words about a pair; a question without a line is an error of that question alone."""
        known = self.said.get((row, category, question))
        if known is not None:
            return known
        about = f"{self.dataset.keys[row]}, {self.names[category]}"
        return Response(
            "",
            error=f"{self.path} has no answer to the {question} question about {about}. "
            "Add a line with this key, category and question.",
        )


def pair_words(path: Path, dataset: Dataset, names: Sequence[str]) -> PairWords:
    """Read a file of words about the pairs of a data set.

    Raises ModelError for a file that is none, a key, category or question that there is not, and for a question that is
    answered twice, and not in the same words.
    """
    find = Finder(names, dataset.classes)
    told = list(read_lines(path, COLUMNS, EXPECTED, dataset.split, either=WORDS))
    rows = images(path, dataset, [line.key for line in told], [line.where for line in told])
    places = {row: place for place, row in enumerate(dataset.selected)}
    said: dict[About, Response] = {}
    for row, line in zip(rows, told, strict=True):
        about = asked(line, dataset, find)
        if row in places and said.setdefault((places[row], *about), reply := words(line)) != reply:
            raise ModelError(
                f"{line.where}: the {about[1]} question about {line.key}, {line.cells['category']} is "
                "answered a second time, in other words. Keep one of the lines."
            )
    return PairWords(path, dataset, names, said)


def asked(line: Line, dataset: Dataset, find: Finder) -> tuple[int, str]:
    """The category and the question of a line; one about nothing that can be asked is refused."""
    category, question = find(line.cells["category"]), line.cells["question"].strip().lower()
    split = f"{dataset.benchmark}/{dataset.split}"
    if category < 0:
        why = f"{split} has no category '{line.cells['category']}'. Expected a name or an index below {dataset.classes}"
    elif question not in QUESTIONS:
        why = f"there is no question '{question}'. Expected {' or '.join(QUESTIONS)}"
    else:
        return category, question
    raise ModelError(f"{line.where}: {why}.")


def words(line: Line) -> Response:
    """What a line answers: `said` goes before `answer`, and why there is no answer before both."""
    error = line.cells.get("error", "")
    return Response("" if error else next(line.cells[name] for name in WORDS if name in line.cells), error=error)

"""Questions about pairs of an image and a category, in one book: what one division asked, another need not ask."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from time import monotonic

import msgspec

from eyechart.errors import SpecError
from eyechart.inference.requests import Book, Question, Questions
from eyechart.inference.responses import Reply
from eyechart.models.types import Usage
from eyechart.oodbench.existence_prompts import QUESTIONS, WORDINGS
from eyechart.oodbench.replayed_pairs import pair_words
from eyechart.parsers import compat, number, yes_no
from eyechart.protocol.context import Sitting, replayed
from eyechart.protocol.prompts import Prompt, prompt
from eyechart.records import Asked

KINDS = (
    *("existence", "existence_not", "existence_cot", "existence_cot_not"),
    *("progression_counting", "progression_logic"),
)
TOKENS, TOKENS_STEP_BY_STEP = 64, 1024
READINGS = ("lenient", "strict", "authors")


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

    said: tuple[Reply, ...]
    usage: Usage
    took: Asked


@cache
def texts() -> dict[str, tuple[Prompt, int]]:
    """The prompt and the most tokens of an answer, of every kind of question."""
    return {kind: (prompt(kind), TOKENS_STEP_BY_STEP if "cot" in kind else TOKENS) for kind in KINDS}


def put(sitting: Sitting, queries: Sequence[Query]) -> Heard:
    """Ask, image by image, so that an engine that can computes each image once; a replay has its answers already."""
    if replayed(sitting):
        return collected(sitting, queries)
    order = sorted(range(len(queries)), key=lambda number: queries[number].row)
    asked = tuple(question(sitting, queries[place]) for place in order)
    book = Book(wording(sitting), tuple(address(sitting, queries[place]) for place in order))
    begun = monotonic()
    replies = sitting.asker.replies(sitting.model, sitting.dataset, Questions("pairs", asked, book=book))
    took = Asked(answers=len({*book.places}), fresh=replies.fresh, seconds=monotonic() - begun)
    said = dict(zip(order, replies.said, strict=True))
    return Heard(tuple(said[place] for place in range(len(queries))), replies.usage, took)


def collected(sitting: Sitting, queries: Sequence[Query]) -> Heard:
    """The words of a file as replies."""
    words = pair_words(sitting.model.path, sitting.dataset, sitting.names)
    kinds = {kind: side for pair in WORDINGS.values() for kind, side in zip(pair, QUESTIONS, strict=True)}
    said = tuple(words(query.row, query.category, kinds[query.kind]) for query in queries)
    return Heard(said, Usage(), Asked(answers=len({*queries}), fresh=0, seconds=0.0))


def question(sitting: Sitting, query: Query) -> Question:
    """The image, then the text: what several questions of an image have in common comes first."""
    asked, tokens = texts()[query.kind]
    names = {"category": sitting.names[query.category], "other": sitting.names[query.other]}
    return Question((query.row, asked.fill(**{slot: names[slot] for slot in asked.slots})), tokens)


def address(sitting: Sitting, query: Query) -> int:
    """The question's place in the book, which no division changes."""
    width = sitting.dataset.classes
    return ((query.row * width + query.category) * width + query.other) * len(KINDS) + KINDS.index(query.kind)


def wording(sitting: Sitting) -> str:
    """The fingerprint of all questions that may be asked: their texts, the names in them, the length of an answer."""
    asked = [(kind, each.text, tokens) for kind, (each, tokens) in texts().items()]
    return sha256(msgspec.json.encode((asked, sitting.names))).hexdigest()


def readable(reading: str) -> str:
    """Refuse a reading that knows neither yes and no nor numbers."""
    if reading not in READINGS:
        raise SpecError(
            f"--eye-reading={reading} reads letters, and here the answer is yes, no or a number. "
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

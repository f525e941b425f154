"""Kept answers that are words: one reply a request, in the order of the questions."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import msgspec

from eyechart.data.dataset import Dataset
from eyechart.inference.store import Entry, Writer
from eyechart.models.types import Answer, Model, Usage
from eyechart.parsers.json_tokens import storable
from eyechart.spec import ModelSpec

FILE, SERVED = "replies.jsonl", "usage.jsonl"


class Reply(msgspec.Struct, frozen=True, omit_defaults=True):
    """What was said: the words and their tokens, whether they came to an end, or why there are none."""

    text: str
    tokens: tuple[int, ...] = ()
    finished: bool = True
    error: str = ""


class ReplayedWords(Model):
    """A file of words that were said elsewhere, image by image, in the place of a model."""

    spec: ModelSpec
    path: Path

    @abstractmethod
    def said(self, dataset: Dataset) -> list[Reply]:
        """Return the words in the data set's order; an image without any is an error."""


@dataclass(frozen=True)
class Replies:
    """One reply a question. `usage` is what they took when they were made, and is no part of the hashed bytes.

    `fresh` says how many were not there before.
    """

    said: tuple[Reply, ...]
    usage: Usage
    path: Path
    sha256: str
    fresh: int = 0


class Header(msgspec.Struct, frozen=True):
    """Which question a block answers, and the tokens it took: of the prompt, cached ones of these, and said."""

    place: int
    usage: tuple[int, int, int] = (0, 0, 0)


class Done(msgspec.Struct, frozen=True):
    """Written last: the replies beside it are whole."""

    replies: int
    sha256: str


Kept = tuple[Reply, Usage]


def load(entry: Entry) -> Replies:
    """Read the replies of a complete entry."""
    done = entry.done(Done)
    path = entry.checked(FILE, done.sha256)
    said = tuple(msgspec.json.decode(line, type=Reply) for line in path.read_bytes().splitlines())
    return Replies(said, served(entry, done), path, done.sha256)


def served(entry: Entry, done: Done) -> Usage:
    """What all replies took when they were made."""
    path = entry.folder / SERVED
    try:
        counts = [msgspec.json.decode(line, type=tuple[int, int, int]) for line in path.read_bytes().splitlines()]
    except (OSError, msgspec.DecodeError) as error:
        raise entry.broken(path, str(error)) from error
    if len(counts) != done.replies:
        raise entry.broken(path, f"it counts the tokens of {len(counts)} replies, not of {done.replies}")
    return sum((Usage(*each) for each in counts), Usage())


def append(writer: Writer, place: int, answer: Answer) -> Kept:
    """Keep one reply as it comes."""
    reply = Reply(storable(answer.text), answer.tokens, answer.finished, storable(answer.error))
    writer.append(head(place, answer.usage), msgspec.json.encode(reply))
    return reply, answer.usage


def kept(held: Entry | Writer) -> dict[int, Kept]:
    """The replies that are there, by the place of their question."""
    found = {}
    for header, payload in held.blocks():
        about = msgspec.json.decode(header, type=Header)
        found[about.place] = msgspec.json.decode(payload, type=Reply), Usage(*about.usage)
    return found


def finish(writer: Writer, count: int) -> None:
    """Turn the parts into one file of `count` replies, and one of what they took; StoreError if one is missing."""
    found = kept(writer)
    if missing := [place for place in range(count) if place not in found]:
        raise writer.incomplete(f"{len(missing)} of {count} replies are missing, the first {missing[0]}")
    ordered: Sequence[Kept] = [found[place] for place in range(count)]
    content = b"".join(msgspec.json.encode(reply) + b"\n" for reply, _ in ordered)
    counts = b"".join(b"[%d,%d,%d]\n" % (usage.prompt, usage.cached, usage.answer) for _, usage in ordered)
    writer.seal({SERVED: counts, FILE: content}, Done(len(ordered), sha256(content).hexdigest()))


def chosen(found: Mapping[int, Kept], places: Sequence[int], entry: Entry, fresh: int) -> Replies:
    """The replies of a book at some places, with the sha256 of these alone; what a place took counts once."""
    content = b"".join(msgspec.json.encode(found[place][0]) + b"\n" for place in places)
    usage = sum((found[place][1] for place in dict.fromkeys(places)), Usage())
    said = tuple(found[place][0] for place in places)
    return Replies(said, usage, entry.folder, sha256(content).hexdigest(), fresh)


def tidy(writer: Writer, found: Mapping[int, Kept]) -> None:
    """Put the replies of a book in the order of their places, so that its bytes do not tell how it grew."""
    ordered = sorted(found.items())
    writer.replace((head(place, usage), msgspec.json.encode(reply)) for place, (reply, usage) in ordered)


def head(place: int, usage: Usage) -> bytes:
    """The header of a block."""
    return msgspec.json.encode(Header(place, (usage.prompt, usage.cached, usage.answer)))

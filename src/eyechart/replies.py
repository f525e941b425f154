"""Kept answers that are words: one reply a request, in the order of the questions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import msgspec

from eyechart.models.interfaces import Answer, Usage
from eyechart.store import Entry, Writer

FILE, SERVED = "replies.jsonl", "usage.jsonl"


class Reply(msgspec.Struct, frozen=True, omit_defaults=True):
    """What was said: the words and their tokens, whether they came to an end, or why there are none."""

    text: str
    tokens: tuple[int, ...] = ()
    finished: bool = True
    error: str = ""


@dataclass(frozen=True)
class Replies:
    """One reply a question. `usage` is what they took when they were made, and is no part of the hashed bytes."""

    said: tuple[Reply, ...]
    usage: Usage
    path: Path
    sha256: str


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
    path = entry.checked(FILE, entry.done(Done).sha256)
    said = tuple(msgspec.json.decode(line, type=Reply) for line in path.read_bytes().splitlines())
    served = [Usage(*msgspec.json.decode(line)) for line in (entry.folder / SERVED).read_bytes().splitlines()]
    return Replies(said, sum(served, Usage()), path, entry.done(Done).sha256)


def append(writer: Writer, place: int, answer: Answer) -> Kept:
    """Keep one reply as it comes."""
    reply = Reply(answer.text, answer.tokens, answer.finished, answer.error)
    usage = answer.usage
    header = Header(place, (usage.prompt, usage.cached, usage.answer))
    writer.append(msgspec.json.encode(header), msgspec.json.encode(reply))
    return reply, usage


def kept(writer: Writer) -> dict[int, Kept]:
    """The replies that are there, by the place of their question."""
    found = {}
    for header, payload in writer.blocks():
        about = msgspec.json.decode(header, type=Header)
        found[about.place] = msgspec.json.decode(payload, type=Reply), Usage(*about.usage)
    return found


def finish(writer: Writer, found: Mapping[int, Kept]) -> None:
    """Turn the parts into one file of replies, and one of what they took."""
    ordered: Sequence[Kept] = [found[place] for place in range(len(found))]
    content = b"".join(msgspec.json.encode(reply) + b"\n" for reply, _ in ordered)
    served = b"".join(b"[%d,%d,%d]\n" % (usage.prompt, usage.cached, usage.answer) for _, usage in ordered)
    writer.seal({SERVED: served, FILE: content}, Done(len(ordered), sha256(content).hexdigest()))

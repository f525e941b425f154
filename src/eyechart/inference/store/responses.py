"""Stored responses: one text per request, in the order of the requests."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Annotated

import msgspec

from eyechart.data.dataset.dataset import Dataset
from eyechart.inference.store.entries import StoreEntry, Writer
from eyechart.models.runtime.tracing import span
from eyechart.models.spec import ModelSpec
from eyechart.models.types import Answer, Model, Usage
from eyechart.parsers.json_tokens import replace_surrogates
from eyechart.parsers.thinking import split_thinking

RESPONSES_FILE, USAGE_FILE = "replies.jsonl", "usage.jsonl"


class Response(msgspec.Struct, frozen=True, omit_defaults=True):
    """The text of a response and its tokens, whether it is complete, or an error; thinking is apart from the text."""

    text: str
    tokens: tuple[int, ...] = ()
    finished: bool = True
    error: str = ""
    thinking: str = ""

    @property
    def is_all_thinking(self) -> bool:
        """Whether thinking took all tokens, so that there is no answer to parse."""
        return bool(self.thinking) and not self.text

    @property
    def display_text(self) -> str:
        """The text as a table of samples shows it: the thinking if nothing follows it."""
        return self.text or self.thinking

    @classmethod
    def from_completion(
        cls, completion: str, tokens: tuple[int, ...] = (), finished: bool = True, error: str = "", thinking: str = ""
    ) -> "Response":
        """Return the response of what a model wrote: the text is what follows its thinking.

        `thinking` is what a server had separated already.
        """
        begun, text = split_thinking(completion)
        return cls(text, tokens, finished, error, thinking + begun)


class ReplayedResponses(Model):
    """A file of responses from elsewhere, one per image, instead of a model."""

    spec: ModelSpec
    path: Path

    @abstractmethod
    def responses(self, dataset: Dataset) -> list[Response]:
        """Return the responses in the order of the data set; an image without one has an error."""


@dataclass(frozen=True)
class AnswerCounts:
    """The numbers of responses, of those with thinking but no answer, and of these that ended at the token limit."""

    responses: int = 0
    silent: int = 0
    truncated: int = 0

    def __add__(self, other: "AnswerCounts") -> "AnswerCounts":
        return AnswerCounts(
            self.responses + other.responses, self.silent + other.silent, self.truncated + other.truncated
        )


@dataclass(frozen=True)
class Responses:
    """One response per request. `usage` is the token usage of the original requests; `sha256` does not cover it.

    `distinct` is the number of different requests, `fresh` that of responses that were not in the store before, and
    `seconds` is how long it took to read and to generate them.
    """

    responses: tuple[Response, ...]
    usage: Usage
    path: Path
    sha256: str
    fresh: int = 0
    distinct: int = 0
    seconds: float = 0.0

    @property
    def answer_counts(self) -> AnswerCounts:
        """How many of the responses are thinking without an answer."""
        silent = [response for response in self.responses if response.is_all_thinking and not response.error]
        return AnswerCounts(len(self.responses), len(silent), sum(not response.finished for response in silent))


Counts = Annotated[tuple[int, ...], msgspec.Meta(min_length=3, max_length=4)]  # of tokens, as in Usage.counts


class _BlockHeader(msgspec.Struct, frozen=True):
    """The request that a block answers, and its tokens."""

    request_id: int = msgspec.field(name="place")
    usage: Counts = (0, 0, 0)


class Done(msgspec.Struct, frozen=True):
    """Written last: the responses beside it are complete."""

    responses: int = msgspec.field(name="replies")
    sha256: str


StoredResponse = tuple[Response, Usage]


def load(entry: StoreEntry) -> Responses:
    """Read the responses of a complete entry."""
    done = entry.read_done(Done)
    path = entry.verified_path(RESPONSES_FILE, done.sha256)
    responses = tuple(msgspec.json.decode(line, type=Response) for line in path.read_bytes().splitlines())
    return Responses(responses, _total_usage(entry, done), path, done.sha256)


def _total_usage(entry: StoreEntry, done: Done) -> Usage:
    """Return the token usage of all responses when they were made."""
    path = entry.folder / USAGE_FILE
    try:
        counts = [msgspec.json.decode(line, type=Counts) for line in path.read_bytes().splitlines()]
    except (OSError, msgspec.DecodeError) as error:
        raise entry.damaged(path, str(error)) from error
    if len(counts) != done.responses:
        raise entry.damaged(path, f"it counts the tokens of {len(counts)} responses, not of {done.responses}")
    return sum((Usage(*count) for count in counts), Usage())


def append(writer: Writer, index: int, answer: Answer) -> StoredResponse:
    """Store one response when it arrives."""
    text, error, thinking = map(replace_surrogates, (answer.text, answer.error, answer.thinking))
    response = Response.from_completion(text, answer.tokens, answer.finished, error, thinking)
    writer.append(_encode_header(index, answer.usage), msgspec.json.encode(response))
    return response, answer.usage


def read_stored(held: StoreEntry | Writer) -> dict[int, StoredResponse]:
    """Return the stored responses by request id."""
    stored = {}
    with span("read answers"):
        for header, payload in held.blocks():
            about = msgspec.json.decode(header, type=_BlockHeader)
            stored[about.request_id] = msgspec.json.decode(payload, type=Response), Usage(*about.usage)
    return stored


def seal(writer: Writer, count: int) -> None:
    """Write the parts as one file of `count` responses and one of their usage; raise StoreError if one is missing."""
    stored = read_stored(writer)
    if missing := [index for index in range(count) if index not in stored]:
        raise writer.incomplete(f"{len(missing)} of {count} responses are missing, the first {missing[0]}")
    ordered: Sequence[StoredResponse] = [stored[index] for index in range(count)]
    content = b"".join(msgspec.json.encode(response) + b"\n" for response, _ in ordered)
    counts = b"".join(msgspec.json.encode(usage.counts) + b"\n" for _, usage in ordered)
    writer.seal({USAGE_FILE: counts, RESPONSES_FILE: content}, Done(len(ordered), sha256(content).hexdigest()))


def select(stored: Mapping[int, StoredResponse], indices: Sequence[int], entry: StoreEntry, fresh: int) -> Responses:
    """Return the responses with some ids, with the sha256 of these alone; the usage of each id counts once."""
    content = b"".join(msgspec.json.encode(stored[index][0]) + b"\n" for index in indices)
    usage = sum((stored[index][1] for index in dict.fromkeys(indices)), Usage())
    selected = tuple(stored[index][0] for index in indices)
    return Responses(selected, usage, entry.folder, sha256(content).hexdigest(), fresh)


def compact(writer: Writer, stored: Mapping[int, StoredResponse]) -> None:
    """Rewrite an entry sorted by request, so that its bytes do not depend on the order of arrival."""
    ordered = sorted(stored.items())
    writer.replace(
        (_encode_header(index, usage), msgspec.json.encode(response)) for index, (response, usage) in ordered
    )


def _encode_header(index: int, usage: Usage) -> bytes:
    """Return the header of a block."""
    return msgspec.json.encode(_BlockHeader(index, usage.counts))

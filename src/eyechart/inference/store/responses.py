"""Stored responses: one text per request, by the id of the request."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Annotated

import msgspec

from eyechart.data.dataset.dataset import Dataset
from eyechart.inference.store.entries import StoreEntry, Writer, part_facts, read_parts
from eyechart.models.runtime.phases import phase
from eyechart.models.spec import ModelSpec
from eyechart.models.types import Answer, Model, Usage
from eyechart.parsers.json_answers import replace_surrogates
from eyechart.parsers.thinking import split_thinking


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
    """The numbers of responses, of those with thinking but no answer, and of these that ended at the token limit.

    `empty` is the number of those that ended by themselves with neither.
    """

    responses: int = 0
    silent: int = 0
    truncated: int = 0
    empty: int = 0

    @classmethod
    def of(cls, response: Response) -> "AnswerCounts":
        """Return the counts of one response."""
        silent = response.is_all_thinking and not response.error
        empty = response.finished and not (response.error or response.thinking or response.text.strip())
        return cls(1, int(silent), int(silent and not response.finished), int(empty))

    def __add__(self, other: "AnswerCounts") -> "AnswerCounts":
        return AnswerCounts(
            self.responses + other.responses,
            self.silent + other.silent,
            self.truncated + other.truncated,
            self.empty + other.empty,
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


Counts = Annotated[tuple[int, ...], msgspec.Meta(min_length=3, max_length=4)]  # of tokens, as in Usage.counts


class _BlockHeader(msgspec.Struct, frozen=True):
    """The request that a block answers, and its tokens."""

    request_id: str
    usage: Counts = (0, 0, 0)


StoredResponse = tuple[Response, Usage]


def append(writer: Writer, request_id: str, answer: Answer) -> StoredResponse:
    """Store one response when it arrives."""
    text, error, thinking = map(replace_surrogates, (answer.text, answer.error, answer.thinking))
    response = Response.from_completion(text, answer.tokens, answer.finished, error, thinking)
    writer.append(_encode_header(request_id, answer.usage), msgspec.json.encode(response))
    return response, answer.usage


def read_stored(held: StoreEntry | Writer) -> Mapping[str, StoredResponse]:
    """Return the stored responses by request id."""
    with phase("read answers"):
        return _read_parts(held.folder, part_facts(held.folder))


@lru_cache(maxsize=1)  # the epochs of a case and cases about the same images read one entry after each other
def _read_parts(folder: Path, _facts: object) -> Mapping[str, StoredResponse]:
    stored = {}
    for header, payload in read_parts(folder):
        about = msgspec.json.decode(header, type=_BlockHeader)
        stored[about.request_id] = msgspec.json.decode(payload, type=Response), Usage(*about.usage)
    return stored


def select(stored: Mapping[str, StoredResponse], ids: Sequence[str], entry: StoreEntry, fresh: int) -> Responses:
    """Return the responses with some ids, with the sha256 of these alone; the usage of each id counts once."""
    content = b"".join(msgspec.json.encode(stored[request_id][0]) + b"\n" for request_id in ids)
    usage = sum((stored[request_id][1] for request_id in dict.fromkeys(ids)), Usage())
    selected = tuple(stored[request_id][0] for request_id in ids)
    return Responses(selected, usage, entry.folder, sha256(content).hexdigest(), fresh, len({*ids}))


def compact(writer: Writer, stored: Mapping[str, StoredResponse]) -> None:
    """Rewrite an entry sorted by request, so that its bytes do not depend on the order of arrival."""
    writer.replace(encode_blocks(stored))


def encode_blocks(stored: Mapping[str, StoredResponse]) -> Iterator[tuple[bytes, bytes]]:
    """Yield the block of each response, sorted by request."""
    for request_id, (response, usage) in sorted(stored.items()):
        yield _encode_header(request_id, usage), msgspec.json.encode(response)


def _encode_header(request_id: str, usage: Usage) -> bytes:
    """Return the header of a block."""
    return msgspec.json.encode(_BlockHeader(request_id, usage.counts))

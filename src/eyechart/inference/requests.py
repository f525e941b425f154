"""What a language model is asked about a data set: requests before their images are read."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from typing import Any

import msgspec

ONE_IMAGE_EACH = "one image a question"  # what the questions of such a book have in common
DIGITS = 15  # of a sha256, as many as fit into 64 bits with room to spare


@dataclass(frozen=True)
class RequestTemplate:
    """One request: its texts, and rows of the data set in the places of images; a schema if the engine holds to it."""

    parts: tuple[str | int, ...]
    max_tokens: int
    schema: Mapping[str, Any] | None = None

    @property
    def images(self) -> tuple[int, ...]:
        """The rows whose images are shown, in their order."""
        return tuple(part for part in self.parts if isinstance(part, int))

    @property
    def settings(self) -> tuple[int, Mapping[str, Any] | None]:
        """What requests of one round have in common."""
        return self.max_tokens, self.schema


@dataclass(frozen=True)
class SharedRequests:
    """Where questions stand that others may be added to: the fingerprint of all there could be, and a place for each.

    Equal places are equal questions. What one run asked, another that asks some of it need not ask again.
    """

    sha256: str
    ids: tuple[int, ...]


@dataclass(frozen=True)
class Generate:
    """All requests of a protocol under one name; `evaluation` tells equal ones apart that are to be asked again.

    Without a `book`, they are kept as a whole, and any other choice of them is asked anew.
    """

    name: str
    requests: tuple[RequestTemplate, ...]
    epoch: int = 0
    shared: SharedRequests | None = None

    @property
    def ids(self) -> Sequence[int]:
        """The place of each question where its reply is kept."""
        return self.shared.ids if self.shared else range(len(self.requests))

    @cached_property
    def sha256(self) -> str:
        """The fingerprint of everything that is asked, in its order, or of all that a book may hold."""
        if self.shared:
            return self.shared.sha256
        texts: dict[str, str] = {}
        whole = sha256()
        for question in self.requests:
            parts = [part if isinstance(part, int) else _text_sha256(texts, part) for part in question.parts]
            whole.update(msgspec.json.encode([parts, question.settings], order="sorted") + b"\n")
        return whole.hexdigest()

    def group_by_settings(self, places: Sequence[int]) -> Iterator[list[int]]:
        """Share the places of questions out among rounds that are asked in the same way."""
        rounds: list[list[int]] = []
        for place in places:
            home = next(
                (each for each in rounds if self.requests[each[0]].settings == self.requests[place].settings), None
            )
            if home is None:
                rounds.append([place])
            else:
                home.append(place)
        yield from rounds

    @property
    def decoding(self) -> dict[str, Any]:
        """How answers are made, for the key."""
        longest = sorted({question.max_tokens for question in self.requests})
        return {"temperature": 0, "max_tokens": longest, "evaluation": self.epoch}


def share_by_image(questions: Generate, rows: Sequence[int]) -> Generate:
    """Return questions about one image each as part of a book of the whole split, whatever part of it is selected.

    `rows` are the numbers in the whole split of the rows that the questions name. A question's place in the book is
    the fingerprint of its texts and its row, so that equal questions have equal places.
    """
    known: dict[str, str] = {}
    asked = tuple(
        replace(question, parts=tuple(rows[part] if isinstance(part, int) else part for part in question.parts))
        for question in questions.requests
    )
    return replace(
        questions,
        requests=asked,
        shared=SharedRequests(ONE_IMAGE_EACH, tuple(_request_id(known, question) for question in asked)),
    )


def _request_id(known: dict[str, str], question: RequestTemplate) -> int:
    parts = [part if isinstance(part, int) else _text_sha256(known, part) for part in question.parts]
    told = msgspec.json.encode([parts, question.settings], order="sorted")
    return int(sha256(told).hexdigest()[:DIGITS], 16)


def _text_sha256(known: dict[str, str], text: str) -> str:
    """The fingerprint of a text; a list of a thousand names stands in every request."""
    if text not in known:
        known[text] = sha256(text.encode()).hexdigest()
    return known[text]

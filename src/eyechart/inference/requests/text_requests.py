"""Requests for texts, as data: many request templates, whose responses are stored under one key.

They are frozen and can be pickled like the requests of `requests`.
"""

import re
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from typing import Any, ClassVar, Self

import msgspec

from eyechart.data.dataset.limits import Limit
from eyechart.inference.requests.row_requests import ID_DIGITS, BaseRequest, KeyFields
from eyechart.models.types import Generator

TEXT_DIGITS = 9  # the same where the number of an image is part of the id
ANSWER_KEY = "answer"  # of a JSON answer that is one of some choices
MAX_IMAGES = 2**24  # more images than a split has
SLOT = re.compile(r"\{(category|other)\}")


@dataclass(frozen=True)
class RequestTemplate:
    """One request for a text: texts, and integers instead of images, which are their indices in the data set.

    An engine that supports it restricts the answer to the JSON schema.
    """

    parts: tuple[str | int, ...]
    max_tokens: int
    schema: Mapping[str, Any] | None = None

    @property
    def images(self) -> tuple[int, ...]:
        """The indices of the images in their order."""
        return tuple(part for part in self.parts if isinstance(part, int))

    @property
    def settings(self) -> tuple[int, Mapping[str, Any] | None]:
        """What is equal for all requests that a model answers in one call."""
        return self.max_tokens, self.schema


@dataclass(frozen=True)
class RequestBatch(BaseRequest[Generator]):
    """Request templates whose responses are stored under one key.

    `name` is the kind of the key. `seed` and `limit` come from the session where the key has them.
    """

    name: str
    capability = "generator"
    batched = False

    @property
    @abstractmethod
    def templates(self) -> tuple[RequestTemplate, ...]:
        """The request templates, in the order of the responses."""

    @property
    @abstractmethod
    def ids(self) -> Sequence[int]:
        """The id of each template in the store; templates with equal ids are equal."""

    def decoding(self, epoch: int = 0) -> dict[str, Any]:
        """Return how answers are generated, for the key."""
        lengths = sorted({template.max_tokens for template in self.templates})
        return {"temperature": 0, "max_tokens": lengths, "evaluation": epoch}

    def group_by_settings(self, numbers: Sequence[int]) -> Iterator[list[int]]:
        """Yield the numbers of templates in groups that a model can answer in one call."""
        groups: list[list[int]] = []
        for number in numbers:
            settings = self.templates[number].settings
            group = next((group for group in groups if self.templates[group[0]].settings == settings), None)
            if group is None:
                groups.append([number])
            else:
                group.append(number)
        yield from groups


@dataclass(frozen=True)
class Generate(RequestBatch):
    """A fixed list of requests, stored as a whole: another list has another key. Another epoch asks all again."""

    requests: tuple[RequestTemplate, ...]
    epoch: int = 0
    limit: Limit = None
    seed: int = 0
    scope = "selection"

    @property
    def templates(self) -> tuple[RequestTemplate, ...]:
        """The request templates, in the order of the responses."""
        return self.requests

    @property
    def ids(self) -> Sequence[int]:
        """The number of each request."""
        return range(len(self.requests))

    @cached_property
    def sha256(self) -> str:
        """The sha256 of all requests in their order."""
        texts: dict[str, str] = {}
        digest = sha256()
        for template in self.requests:
            digest.update(_encode(template, texts) + b"\n")
        return digest.hexdigest()

    @property
    def key_fields(self) -> KeyFields:
        """What this request contributes to the key of its answers."""
        return KeyFields(self.name, self.sha256, self.decoding(self.epoch), self.limit, self.seed)

    def by_image(self, indices: Sequence[int]) -> "GenerateByImage":
        """Return these requests about one image each as requests about the whole split.

        `indices` are the indices in the whole split of the images that the requests name.
        """
        return GenerateByImage(
            self.name,
            tuple(
                replace(
                    template, parts=tuple(indices[part] if isinstance(part, int) else part for part in template.parts)
                )
                for template in self.requests
            ),
            self.epoch,
        )


@dataclass(frozen=True)
class SharedRequests(RequestBatch):
    """Requests whose responses are stored one by one, by the ids of the requests.

    A batch of this kind asks only for responses that no earlier batch with the same key asked for.
    """

    @abstractmethod
    def take(self, numbers: Sequence[int]) -> Self:
        """Return the batch of the requests with some numbers, in this order."""


@dataclass(frozen=True)
class GenerateByImage(SharedRequests):
    """Requests about one image each; the id of a request is the sha256 of its texts, settings and image.

    Images are numbered in the whole split, so that neither a limit nor a seed is part of a request.
    """

    requests: tuple[RequestTemplate, ...]
    epoch: int = 0
    scope = "split"

    def take(self, numbers: Sequence[int]) -> Self:
        """Return the batch of the requests with some numbers, in this order."""
        return replace(self, requests=tuple(self.requests[number] for number in numbers))

    @property
    def templates(self) -> tuple[RequestTemplate, ...]:
        """The request templates, in the order of the responses."""
        return self.requests

    @cached_property
    def ids(self) -> tuple[int, ...]:
        """The id of each request in the store."""
        texts: dict[str, str] = {}
        return tuple(_id(_encode(template, texts)) for template in self.requests)

    @property
    def key_fields(self) -> KeyFields:
        """What this request contributes to the key of its answers."""
        return KeyFields(self.name, "one image a question", self.decoding(self.epoch))


@dataclass(frozen=True)
class AskImages(SharedRequests):
    """A text about an image in each query (image, text); images are numbered in the whole split."""

    queries: tuple[tuple[int, str], ...]
    max_tokens: int
    seed: int = 0
    scope = "split"

    def take(self, numbers: Sequence[int]) -> Self:
        """Return the batch of the requests with some numbers, in this order."""
        return replace(self, queries=tuple(self.queries[number] for number in numbers))

    @cached_property
    def templates(self) -> tuple[RequestTemplate, ...]:
        """The request templates, in the order of the responses."""
        return tuple(RequestTemplate(query, self.max_tokens) for query in self.queries)

    @cached_property
    def ids(self) -> tuple[int, ...]:
        """The id of each query in the store."""
        texts: dict[str, str] = {}
        return tuple(
            int(_text_sha256(texts, text)[:TEXT_DIGITS], 16) * MAX_IMAGES + image for image, text in self.queries
        )

    @property
    def key_fields(self) -> KeyFields:
        """What this request contributes to the key of its answers."""
        return KeyFields(self.name, sha256(b"a picture, then a text").hexdigest(), self.decoding(), seed=self.seed)


class FilledPrompt(msgspec.Struct, frozen=True):
    """One query of `FillPrompts`: the numbers of the prompt, the image, and of the names in its slots."""

    prompt: int
    image: int
    category: int
    other: int = 0


@dataclass(frozen=True)
class FillPrompts(SharedRequests):
    """Prompts about an image whose slots `{category}` and `{other}` are filled with names.

    `prompts` are all that there could be, with their names and largest numbers of tokens, and `names` all names: they
    are part of the key, and the queries are not. Images are numbered among the selected ones.
    """

    prompts: tuple[tuple[str, str, int], ...]
    names: tuple[str, ...]
    queries: tuple[FilledPrompt, ...]
    limit: Limit = None
    seed: int = 0
    scope = "selection"

    def take(self, numbers: Sequence[int]) -> Self:
        """Return the batch of the requests with some numbers, in this order."""
        return replace(self, queries=tuple(self.queries[number] for number in numbers))

    @cached_property
    def templates(self) -> tuple[RequestTemplate, ...]:
        """The request templates, in the order of the responses: the image first, then the text."""
        return tuple(
            RequestTemplate((query.image, self.fill(query)), self.prompts[query.prompt][2]) for query in self.queries
        )

    def fill(self, query: FilledPrompt) -> str:
        """Return the prompt of a query with its names in the slots."""
        names = {"category": self.names[query.category], "other": self.names[query.other]}
        return SLOT.sub(lambda slot: names[slot[1]], self.prompts[query.prompt][1])

    @cached_property
    def ids(self) -> tuple[int, ...]:
        """The id of each query in the store."""
        size, prompts = len(self.names), len(self.prompts)
        return tuple(
            ((query.image * size + query.category) * size + query.other) * prompts + query.prompt
            for query in self.queries
        )

    @property
    def key_fields(self) -> KeyFields:
        """What this request contributes to the key of its answers."""
        prompts = sha256(msgspec.json.encode((self.prompts, self.names))).hexdigest()
        return KeyFields(self.name, prompts, self.decoding(), self.limit, self.seed)


@dataclass(frozen=True)
class ChoiceBatch(SharedRequests):
    """One of some choices for each text, without images."""

    texts: tuple[str, ...]
    choices: tuple[str, ...]
    max_tokens: int
    seed: int = 0
    method: ClassVar[str]

    def take(self, numbers: Sequence[int]) -> Self:
        """Return the batch of the requests with some numbers, in this order."""
        return replace(self, texts=tuple(self.texts[number] for number in numbers))

    @cached_property
    def templates(self) -> tuple[RequestTemplate, ...]:
        """The request templates, in the order of the responses."""
        return tuple(RequestTemplate((text,), self.max_tokens, self.schema) for text in self.texts)

    @property
    @abstractmethod
    def schema(self) -> Mapping[str, Any] | None:
        """The JSON schema of each answer."""

    @cached_property
    def ids(self) -> tuple[int, ...]:
        """The id of each text in the store."""
        return tuple(_id(text.encode()) for text in self.texts)

    @property
    def key_fields(self) -> KeyFields:
        """What this request contributes to the key of its answers."""
        prompts = sha256(msgspec.json.encode([self.method, self.choices])).hexdigest()
        return KeyFields(self.name, prompts, self.decoding(), seed=self.seed)


@dataclass(frozen=True)
class ChooseAnswers(ChoiceBatch):
    """The most likely choice for each text, of a model with log-probabilities."""

    capability = "scorer"
    method = "best"
    schema = None


@dataclass(frozen=True)
class GenerateChoices(ChoiceBatch):
    """What a model generates for each text under the JSON schema of the choices."""

    method = "schema"

    @cached_property
    def schema(self) -> Mapping[str, Any]:
        """The JSON schema of each answer."""
        return choice_schema(self.choices)


def choice_schema(choices: Sequence[str]) -> Mapping[str, Any]:
    """Return the JSON schema of an answer that is one of the choices."""
    return {
        "type": "object",
        "properties": {ANSWER_KEY: {"type": "string", "enum": [*choices]}},
        "required": [ANSWER_KEY],
        "additionalProperties": False,
    }


def _id(content: bytes) -> int:
    return int(sha256(content).hexdigest()[:ID_DIGITS], 16)


def _encode(template: RequestTemplate, texts: dict[str, str]) -> bytes:
    parts = [part if isinstance(part, int) else _text_sha256(texts, part) for part in template.parts]
    return msgspec.json.encode([parts, template.settings], order="sorted")


def _text_sha256(texts: dict[str, str], text: str) -> str:
    """Return the sha256 of a text, from `texts` if it is there: a list of a thousand names is in every request."""
    if text not in texts:
        texts[text] = sha256(text.encode()).hexdigest()
    return texts[text]

"""Requests for texts, as data. Each response is stored alone, by the sha256 of everything that is in its request.

They are frozen and can be pickled like the requests of `row_requests`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import msgspec

from eyechart.inference.requests.row_requests import BaseRequest, KeyFields

TEXT_KIND = "text"  # in the key of answers
ANSWER_KEY = "answer"  # of a JSON answer that is one of some choices
AnswerFormat = Mapping[str, Any] | tuple[str, ...] | None


@dataclass(frozen=True)
class TextRequest:
    """One request for a text.

    `parts` are texts, and integers instead of images, which are their indices among the selected images of the data
    set. `answer` is None for any text, a JSON schema that an engine keeps to if it can, or choices, of which a model
    with log-probabilities gives the most likely one. Another `epoch` asks anew.
    """

    parts: tuple[str | int, ...]
    max_tokens: int
    answer: AnswerFormat = None
    epoch: int = 0

    @property
    def images(self) -> tuple[int, ...]:
        """The indices of the images in their order."""
        return tuple(part for part in self.parts if isinstance(part, int))

    @property
    def settings(self) -> tuple[int, AnswerFormat]:
        """What is equal for all requests that a model answers in one call."""
        return self.max_tokens, self.answer

    def id(self, images: Sequence[str]) -> str:
        """Return the id of the request in the store: the sha256 of all fields, given the sha256 of each image."""
        return request_ids((self,), images)[0]


def request_ids(requests: Sequence[TextRequest], images: Sequence[str]) -> tuple[str, ...]:
    """Return the id of each request: the sha256 of all fields, with an image by the sha256 of its bytes.

    Args:
        requests: The requests.
        images: The sha256 of the bytes of each selected image.
    """
    texts: dict[str, str] = {}  # a list of a thousand names is in every request
    answers: dict[int, str] = {}  # by the address of an answer's format, since a schema cannot be hashed

    def encode_part(part: str | int) -> tuple[str, str]:
        if isinstance(part, int):
            return "image", images[part]
        if part not in texts:
            texts[part] = sha256(part.encode()).hexdigest()
        return "text", texts[part]

    def encode_answer(answer: AnswerFormat) -> str:
        if id(answer) not in answers:
            answers[id(answer)] = sha256(msgspec.json.encode(answer, order="sorted")).hexdigest()
        return answers[id(answer)]

    return tuple(
        sha256(
            msgspec.json.encode(
                [
                    [encode_part(part) for part in request.parts],
                    request.max_tokens,
                    encode_answer(request.answer),
                    request.epoch,
                ]
            )
        ).hexdigest()
        for request in requests
    )


@dataclass(frozen=True)
class Generate(BaseRequest):
    """Requests for texts. Only those are sent whose responses are not stored; equal requests are sent once."""

    requests: tuple[TextRequest, ...]
    capability = "generator"
    batched = False
    row_per_image = False

    @property
    def about_images(self) -> bool:
        """Whether a request has an image."""
        return any(request.images for request in self.requests)

    @property
    def key_fields(self) -> KeyFields:
        """What this request contributes to the key of its answers; the ids of the requests cover all else."""
        return KeyFields(TEXT_KIND, decoding={"temperature": 0})

    def group_by_settings(self, numbers: Sequence[int]) -> Iterator[list[int]]:
        """Yield the numbers of requests in groups that a model can answer in one call."""
        groups: list[list[int]] = []
        for number in numbers:
            settings = self.requests[number].settings
            group = next((group for group in groups if self.requests[group[0]].settings == settings), None)
            if group is None:
                groups.append([number])
            else:
                group.append(number)
        yield from groups


def choice_schema(choices: Sequence[str]) -> Mapping[str, Any]:
    """Return the JSON schema of an answer that is one of the choices."""
    return {
        "type": "object",
        "properties": {ANSWER_KEY: {"type": "string", "enum": [*choices]}},
        "required": [ANSWER_KEY],
        "additionalProperties": False,
    }

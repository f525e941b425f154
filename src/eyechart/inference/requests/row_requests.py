"""Requests as data: what a model is asked, with everything in it that can change an answer.

A request is frozen and can be pickled: it holds no model, no function and no open data set, so that another process can
answer it. Its part of the store's key is computed here from its fields alone (`key_fields`), so that the key and the
question cannot differ. `engines.local` calls the models.

There are four groups of requests. The items of `Encode` and `ScoreChoices` are texts, or None for the images of a data
set:
- `Encode`, `Classify`, `Match`, `ScoreChoices` about images: one row of numbers for each, stored image by image
- `ScoreChoices` about texts: one row of numbers for each, stored text by text
- `Encode` of texts, `ClassWeights`, `LogitScale`: an array that depends on the model and on texts alone
- `text_requests.Generate`: one text for each of many requests
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from hashlib import sha256
from typing import Any, ClassVar

import msgspec

from eyechart.inference.requests.class_weights import fill_templates
from eyechart.models.types import Until

ID_DIGITS = 15  # hexadecimal digits of a sha256 that make an id: JSON can hold such an integer
IMAGE_SCORE_KINDS = ("posterior", "retrieval", "constrained")  # in keys of scores of choices
TEXT_SCORE_KINDS = ("text_posterior", "text_retrieval", "text_constrained")
Items = tuple[str, ...] | None


class KeyFields(msgspec.Struct, frozen=True):
    """What a request contributes to the key of its answers; `store.Key` has the same fields."""

    kind: str
    prompts: str = ""
    decoding: Mapping[str, Any] = {}


@dataclass(frozen=True)
class BaseRequest(ABC):
    """What every request has.

    `batched` says whether the model's batch size enters the key. With `padded`, the engine fills the last batch of
    images up to the model's batch size.
    """

    batched: ClassVar[bool] = True
    padded: ClassVar[bool] = True

    @property
    @abstractmethod
    def capability(self) -> str:
        """The interface that a model must have to answer the request, by its name in `models.registry.INTERFACES`."""

    @property
    def row_per_image(self) -> bool:
        """Whether the answer is one row of numbers for each image of a data set."""
        return False

    @property
    def about_images(self) -> bool:
        """Whether the data set and the decoder of its images enter the key."""
        return self.row_per_image

    @property
    @abstractmethod
    def key_fields(self) -> KeyFields:
        """What this request contributes to the key of its answers."""

    @property
    def fingerprint(self) -> str:
        """The sha256 of what this request contributes to the key of its answers."""
        return sha256(msgspec.json.encode(self.key_fields, order="sorted")).hexdigest()

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields, without values that are computed from them."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


@dataclass(frozen=True)
class Encode(BaseRequest):
    """The features of each item."""

    items: Items = None

    @property
    def capability(self) -> str:
        """The interface that a model must have to answer the request."""
        return "image_encoder" if self.row_per_image else "text_encoder"

    @property
    def row_per_image(self) -> bool:
        """Whether the answer is one row of numbers for each image of a data set."""
        return self.items is None

    @property
    def key_fields(self) -> KeyFields:
        """What this request contributes to the key of its answers."""
        if self.items is None:
            return KeyFields("image_features")
        return KeyFields("text_features", sha256(msgspec.json.encode(self.items)).hexdigest())


@dataclass(frozen=True)
class Classify(BaseRequest):
    """The logits of an image over the model's own classes."""

    capability = "classifier"
    row_per_image = True

    @property
    def key_fields(self) -> KeyFields:
        """What this request contributes to the key of its answers."""
        return KeyFields("class_logits")


@dataclass(frozen=True)
class Match(BaseRequest):
    """How well each text matches an image."""

    texts: tuple[str, ...]

    capability = "matcher"
    row_per_image = True

    @property
    def key_fields(self) -> KeyFields:
        """What this request contributes to the key of its answers."""
        return KeyFields("match", _lines_sha256(self.texts))


@dataclass(frozen=True)
class ScoreChoices(BaseRequest):
    """The log-probability of every choice as the answer to a prompt about each item.

    `parts` are the prompt, with an integer instead of the item. `until` is how much of a choice is scored: all of it
    ("end"), or only as much as no other choice begins with ("unique"). With `best`, the answer is the index of the most
    likely choice and its log-probability: two numbers per item. The rows of texts are stored by the ids of the texts,
    so that a request asks only for rows that no earlier one has.
    """

    items: Items
    parts: tuple[str | int, ...]
    choices: tuple[str, ...]
    until: Until = "end"
    best: bool = False

    capability = "scorer"
    padded = False

    @property
    def row_per_image(self) -> bool:
        """Whether the answer is one row of numbers for each image of a data set."""
        return self.items is None

    @cached_property
    def ids(self) -> tuple[int, ...]:
        """The id of each text in the store; none about images."""
        return tuple(int(sha256(text.encode()).hexdigest()[:ID_DIGITS], 16) for text in self.items or ())

    @property
    def key_fields(self) -> KeyFields:
        """What this request contributes to the key of its answers; the ids of texts cover the texts.

        Raises ValueError for the best choice until it is unique, which no model gives.
        """
        if self.best and self.until != "end":
            raise ValueError("Only whole answers have a best choice. Expected until='end' with best=True.")
        number = 2 if self.best else {"end": 0, "unique": 1}[self.until]
        kinds = IMAGE_SCORE_KINDS if self.items is None else TEXT_SCORE_KINDS
        return KeyFields(kinds[number], sha256(msgspec.json.encode([self.parts, self.choices])).hexdigest())


@dataclass(frozen=True)
class ClassWeights(BaseRequest):
    """One unit vector per class name: the normalised mean of the embeddings of its prompts."""

    names: tuple[str, ...]
    templates: tuple[str, ...]

    capability = "text_encoder"

    @property
    def key_fields(self) -> KeyFields:
        """What this request contributes to the key of its answers: every prompt, and how many belong to a class."""
        shape = f"{len(self.names)} classes, {len(self.templates)} prompts each"
        return KeyFields("class_weights", _lines_sha256([shape, *fill_templates(self.names, self.templates)]))


@dataclass(frozen=True)
class LogitScale(BaseRequest):
    """What the model multiplies cosines with before a softmax, as an array of shape (1, 1)."""

    capability = "encoder"
    batched = False

    @property
    def key_fields(self) -> KeyFields:
        """What this request contributes to the key of its answers."""
        return KeyFields("logit_scale")


def _lines_sha256(texts: Sequence[str]) -> str:
    r"""Return the sha256 of texts, one per line; a line break within a text is written as \n.

    >>> _lines_sha256(["a", "b"]) == _lines_sha256(["a\nb"])
    False
    """
    lines = (text.replace("\\", "\\\\").replace("\n", "\\n") for text in texts)
    return sha256("\n".join(lines).encode()).hexdigest()

"""Requests as data: what a model is asked, with everything in it that can change an answer.

A request is frozen and can be pickled: it holds no model, no function and no open data set, so that another process can
answer it. Its part of the store's key is computed here from its fields alone (`key_fields`), so that the key and the
question cannot differ. `engines.local` calls the models.

There are four groups of requests:
- `ImageRequest`: one row of numbers for each image of a data set
- `ScoreTexts`: one row of numbers for each of many texts, stored text by text
- `ArrayRequest`: rows of numbers that depend on the model and on texts alone
- `text_requests.Generate`: one text for each of many requests
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from hashlib import sha256
from typing import Any, ClassVar, Generic, TypeVar

import msgspec

from eyechart.inference.requests.class_weights import fill_templates
from eyechart.models.types import (
    Classifier,
    Encoder,
    ImageEncoder,
    Matcher,
    Model,
    Scorer,
    TextEncoder,
    Until,
)

ModelT = TypeVar("ModelT", bound=Model)
ID_DIGITS = 15  # hexadecimal digits of a sha256 that make an id: JSON can hold such an integer


class KeyFields(msgspec.Struct, frozen=True):
    """What a request contributes to the key of its answers; `store.Key` has the same fields."""

    kind: str
    prompts: str = ""
    decoding: Mapping[str, Any] = {}


@dataclass(frozen=True)
class BaseRequest(ABC, Generic[ModelT]):
    """What every request has.

    `capability` is the interface that a model must have to answer it, by its name in `models.registry.INTERFACES`.
    `about_images` says whether the data set and the decoder of its images enter the key, and `batched` whether the
    model's batch size does.
    """

    capability: ClassVar[str]
    batched: ClassVar[bool] = True

    @property
    def about_images(self) -> bool:
        """Whether the answers depend on the images of a data set."""
        return False

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


# One row of numbers per image.


@dataclass(frozen=True)
class ImageRequest(BaseRequest[ModelT]):
    """A question about every image of a data set, answered by one row of numbers for each.

    With `padded`, the engine fills the last batch up to the model's batch size.
    """

    padded: ClassVar[bool] = True

    @property
    def about_images(self) -> bool:
        """Whether the answers depend on the images of a data set."""
        return True


@dataclass(frozen=True)
class EncodeImages(ImageRequest[ImageEncoder]):
    """The features of an image."""

    capability = "image_encoder"

    @property
    def key_fields(self) -> KeyFields:
        """What this request contributes to the key of its answers."""
        return KeyFields("image_features")


@dataclass(frozen=True)
class Classify(ImageRequest[Classifier]):
    """The logits of an image over the model's own classes."""

    capability = "classifier"

    @property
    def key_fields(self) -> KeyFields:
        """What this request contributes to the key of its answers."""
        return KeyFields("class_logits")


@dataclass(frozen=True)
class Match(ImageRequest[Matcher]):
    """How well each text matches an image."""

    texts: tuple[str, ...]

    capability = "matcher"

    @property
    def key_fields(self) -> KeyFields:
        """What this request contributes to the key of its answers."""
        return KeyFields("match", _lines_sha256(self.texts))


@dataclass(frozen=True)
class ChoiceRequest(ImageRequest[Scorer]):
    """A question about choices, given a prompt with one image; an integer among `parts` stands for the image."""

    parts: tuple[str | int, ...]
    choices: tuple[str, ...]
    capability = "scorer"
    padded = False

    @property
    def prompts(self) -> str:
        """The sha256 of prompt and choices."""
        return sha256(msgspec.json.encode([self.parts, self.choices])).hexdigest()


@dataclass(frozen=True)
class ScoreChoices(ChoiceRequest):
    """The log-probability of every choice as the answer, up to its end or up to where it is unique."""

    until: Until = "end"

    @property
    def key_fields(self) -> KeyFields:
        """What this request contributes to the key of its answers."""
        return KeyFields({"end": "posterior", "unique": "retrieval"}[self.until], self.prompts)


@dataclass(frozen=True)
class BestChoice(ChoiceRequest):
    """The index of the most likely choice and its log-probability: two numbers per image."""

    @property
    def key_fields(self) -> KeyFields:
        """What this request contributes to the key of its answers."""
        return KeyFields("constrained", self.prompts)


# One row of numbers per text.


@dataclass(frozen=True)
class ScoreTexts(BaseRequest[Scorer]):
    """The log-probability of every choice as the answer to each text, without images: one row per text.

    Rows are stored one by one, by the ids of the texts, so that a request asks only for rows that no earlier one has.
    """

    texts: tuple[str, ...]
    choices: tuple[str, ...]
    until: Until = "end"

    capability = "scorer"

    @cached_property
    def ids(self) -> tuple[int, ...]:
        """The id of each text in the store."""
        return tuple(int(sha256(text.encode()).hexdigest()[:ID_DIGITS], 16) for text in self.texts)

    @property
    def key_fields(self) -> KeyFields:
        """What this request contributes to the key of its answers."""
        kind = {"end": "text_posterior", "unique": "text_retrieval"}[self.until]
        return KeyFields(kind, sha256(msgspec.json.encode(self.choices)).hexdigest())


# Rows of numbers without images.


@dataclass(frozen=True)
class ArrayRequest(BaseRequest[ModelT]):
    """A question about texts, or about the model alone, answered by one array of shape (rows, d)."""


@dataclass(frozen=True)
class EncodeTexts(ArrayRequest[TextEncoder]):
    """The features of each text."""

    texts: tuple[str, ...]

    capability = "text_encoder"

    @property
    def key_fields(self) -> KeyFields:
        """What this request contributes to the key of its answers."""
        return KeyFields("text_features", sha256(msgspec.json.encode(self.texts)).hexdigest())


@dataclass(frozen=True)
class ClassWeights(ArrayRequest[TextEncoder]):
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
class LogitScale(ArrayRequest[Encoder]):
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

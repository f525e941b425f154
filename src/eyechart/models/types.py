"""The interfaces of models. A model class inherits from each interface that it implements."""

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from eyechart.models.options import ModelOptions
from eyechart.models.spec import ModelSpec

Floats = NDArray[np.float32]
Until = Literal["end", "unique"]
ADDRESS = re.compile(r" at 0x[0-9a-f]+")
LOGIT_SCALE = 100.0  # CLIP's, for an encoder that does not know its own


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """A model where it answers. `in_key` is the part of it that is in the store's key."""

    backend: str
    name: str
    weights_sha256: str
    revision: str = ""
    dtype: str
    device: str
    processor: Mapping[str, Any]
    libraries: Mapping[str, str]

    def __post_init__(self) -> None:
        """Convert what a program has at hand, such as a version or a type of torch, to values of JSON."""
        for name in ("backend", "name", "weights_sha256", "revision", "dtype", "device"):
            msgspec.structs.force_setattr(self, name, _json_text(getattr(self, name)))
        libraries = {_json_text(name): _json_text(version) for name, version in self.libraries.items()}
        msgspec.structs.force_setattr(self, "libraries", libraries)
        msgspec.structs.force_setattr(self, "processor", _json_value(dict(self.processor)))

    @property
    def in_key(self) -> "Identity":
        """The identity without the device and without the builds of libraries, such as +cu130.

        Another machine finds the answers by it. How much devices differ is what `eyechart compress` measures.
        """
        libraries = {name: version.partition("+")[0] for name, version in self.libraries.items()}
        return msgspec.structs.replace(self, device="", libraries=libraries)


def _json_text(value: object) -> str:
    """Return a value as text: that of a type of torch without its module, of an object without its address.

    >>> _json_text(np.dtype("float32"))
    'float32'
    """
    text = value.hex() if isinstance(value, bytes) else str(value)
    return ADDRESS.sub("", text.removeprefix("torch."))


def _json_value(value: object) -> Any:
    """Return a value of JSON; a set is sorted, and what JSON does not know is text.

    >>> _json_value({"size": (224, 224), "mean": np.float32(0.5)})
    {'size': [224, 224], 'mean': 0.5}
    """
    if isinstance(value, Mapping):
        return {_json_text(name): _json_value(item) for name, item in value.items()}
    if isinstance(value, set | frozenset):
        return sorted(map(_json_value, value), key=str)
    if isinstance(value, list | tuple):
        return [*map(_json_value, value)]
    if isinstance(value, np.ndarray | np.generic):
        return _json_value(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if value is None or type(value) in (bool, int, float, str) else _json_text(value)


class Model(ABC):  # noqa: B024  # its interfaces have abstract methods
    """Base of all models. The constructor is cheap: weights are loaded with the first request.

    `made_from` is the specification of a model that `registry.create_model` made: another process can make it again.
    `owner` says who alone uses the stored answers again, where the identity does not cover all that changes them: the
    code, options, files and weights of a class of the user, or a call of `evaluate` with an object in memory.
    """

    made_from: ModelSpec | None = None
    owner: str = ""
    late_files: set[str] | frozenset[str] = (
        frozenset()
    )  # that its code read while it answered; they are not in its identity
    declared_options: ClassVar[type[ModelOptions]] = ModelOptions  # the options that a specification may have
    batch_size: int = 1
    loads: int = 0  # how often the weights were read into memory so far: 0 or 1
    remote_loads: int = 0  # the same in other processes
    remote_identity: "Identity | None" = None  # that of another process which answered

    @property
    def weight_files(self) -> tuple[Path, ...]:
        """The files of the weights, () if they are not known."""
        return ()

    @property
    def identity(self) -> Identity:
        """The identity, found without loading weights into memory.

        A class of the user need not have its own: `owner` identifies its code, options, files, and the weights in its
        attributes. Its own one adds what these do not show, such as the version of a library, or a file that it opens
        only while it answers.
        """
        name = type(self).__name__
        backend = self.made_from.backend if self.made_from else "memory"
        return Identity(
            backend=backend, name=name, weights_sha256=self.owner, dtype="", device="", processor={}, libraries={}
        )

    def close(self) -> None:  # noqa: B027  # most models hold nothing but memory
        """Release what is more than memory; called when the model is dropped."""

    def cost(self, usage: "Usage") -> float | None:  # noqa: ARG002
        """Return the cost of tokens.

        Args:
            usage: The numbers of tokens.

        Returns:
            The cost in USD, None if it is unknown.
        """
        return None

    @property
    def model_note(self) -> str:
        """What a reader of results needs to know of the model, as a sentence, such as where its prices are from."""
        return ""


class ImageEncoder(Model):
    """Encodes images as vectors."""

    @abstractmethod
    def prepare(self, image: Image.Image) -> Any:
        """Prepare one image; called in threads while the model computes.

        Args:
            image: An RGB image of any size.

        Returns:
            The image as `encode_images` takes it, such as a tensor of shape (3, height, width).
        """

    @abstractmethod
    def encode_images(self, images: Sequence[Any]) -> Floats:
        """Encode images.

        Args:
            images: n images as `prepare` returns them.

        Returns:
            Features of shape (n, d), not normalised.
        """


class TextEncoder(Model):
    """Encodes texts as vectors."""

    @abstractmethod
    def encode_texts(self, texts: Sequence[str]) -> Floats:
        """Encode texts.

        Args:
            texts: m texts, such as prompts with the name of a class.

        Returns:
            Features of shape (m, d), of any norm, in the order of the texts.
        """


class Encoder(ImageEncoder, TextEncoder):
    """Encodes images and texts in one space; `templates` names the prompts that suit the model."""

    templates: str = "80"

    @property
    def logit_scale(self) -> float:
        """The factor of cosines before a softmax over texts; reading it may load the weights."""
        return LOGIT_SCALE


class Matcher(Model):
    """Scores how well an image and a text match, from both together."""

    @abstractmethod
    def prepare(self, image: Image.Image) -> Any:
        """Prepare one image; called in threads while the model computes.

        Args:
            image: An RGB image of any size.

        Returns:
            The image as `match` takes it, such as a tensor of shape (3, height, width).
        """

    @abstractmethod
    def match(self, images: Sequence[Any], texts: Sequence[str]) -> Floats:
        """Score each image with each text.

        Args:
            images: n images as `prepare` returns them.
            texts: m texts.

        Returns:
            Logits of shape (n, m), for a softmax over the texts.
        """


@dataclass(frozen=True)
class Head:
    """The outputs of a classifier, whether they are one of ImageNet's class lists in its order, and their names."""

    outputs: int
    imagenet: bool = False
    names: tuple[str, ...] = ()


class Classifier(Model):
    """Scores images over its own classes.

    One that knows its outputs without reading its weights has `head`: a split that it does not fit is then refused
    before the first image, else with the first batch.
    """

    @property
    def head(self) -> Head | None:
        """The outputs, None if they are known only from the first batch."""
        return None

    @abstractmethod
    def prepare(self, image: Image.Image) -> Any:
        """Prepare one image; called in threads while the model computes.

        Args:
            image: An RGB image of any size.

        Returns:
            The image as `classify` takes it, such as a tensor of shape (3, height, width).
        """

    @abstractmethod
    def classify(self, images: Sequence[Any]) -> Floats:
        """Classify images.

        Args:
            images: n images as `prepare` returns them.

        Returns:
            Logits of shape (n, classes), with the classes in the order of the split.
        """


@dataclass(frozen=True)
class Request:
    """One user turn: texts and RGB images in their order.

    `files`, where they are known, are the bytes that the images were decoded from, one an image: a model that is
    elsewhere may be sent them as they are.
    """

    parts: tuple[str | Image.Image, ...]
    files: tuple[bytes, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        if self.files and len(self.files) != len(self.images):
            raise ValueError(f"A request has {len(self.images)} images but {len(self.files)} files. Expected one each.")

    @property
    def images(self) -> tuple[Image.Image, ...]:
        """The images in their order."""
        return tuple(part for part in self.parts if not isinstance(part, str))


@dataclass(frozen=True)
class Usage:
    """Token counts: prompt and the cached part of it, answer and the thinking part of it; zeros if nobody counted."""

    prompt: int = 0
    cached: int = 0
    answer: int = 0
    thinking: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.prompt + other.prompt,
            self.cached + other.cached,
            self.answer + other.answer,
            self.thinking + other.thinking,
        )

    @property
    def counts(self) -> tuple[int, ...]:
        """The counts as they are stored: without the thinking part where there is none."""
        return (self.prompt, self.cached, self.answer, self.thinking)[: 4 if self.thinking else 3]


@dataclass(frozen=True)
class Answer:
    """The answer of a model: text, tokens with the end of turn if it was reached, and whether it was reached.

    `tokens` is empty where the server reports none; `thinking` is the reasoning before the answer, where a server
    separates it; else the text begins with it, in tags. With an `error`, a sentence, there is no answer to this
    request. With `retry` besides, the cause may pass: another run asks the request again, and the error is not kept.
    """

    text: str
    tokens: tuple[int, ...]
    finished: bool
    error: str = ""
    retry: bool = False
    usage: Usage = Usage()
    thinking: str = ""


class Generator(Model):
    """Answers requests with text, with greedy decoding.

    Where it is not `structured`, a schema changes nothing. One that `thinks` gets more tokens for an answer.
    """

    @property
    def structured(self) -> bool:
        """Whether answers are held to a JSON schema."""
        return False

    @property
    def thinks(self) -> bool:
        """Whether answers begin with thinking, found without loading weights."""
        return False

    @abstractmethod
    def generate(
        self, requests: Iterable[Request], max_tokens: int, schema: Mapping[str, Any] | None = None
    ) -> Iterator[tuple[int, Answer]]:
        """Answer requests.

        A request that cannot be answered is an answer with an error.

        Args:
            requests: They are pulled lazily, possibly from another thread, one at a time, so that the next one can be
                prepared while the model works.
            max_tokens: The most tokens of an answer, the end of turn included.
            schema: A JSON schema that answers must follow, if the model is `structured`.

        Yields:
            The index of a request and its answer, as answers arrive.

        Raises:
            ModelError: If the run cannot go on, after every answer that was still to come.
        """

    def on_cached_usage(self, usages: Mapping[str, Usage]) -> None:
        """Take note of the tokens of stored answers; a model with a budget counts each request once.

        Args:
            usages: The tokens of each answer, by the id of its request. An answer of this session has none, since its
                tokens were counted when the model answered.
        """


class Scorer(Generator):
    """A generator that also returns log-probabilities of given answers.

    One that finds out from its checkpoint's configuration that it cannot says so in `scoring_obstacle`: cases that need
    log-probabilities are skipped with this reason.
    """

    @property
    def scoring_obstacle(self) -> str:
        """Why there are no log-probabilities, as a sentence; "" if there are."""
        return ""

    @abstractmethod
    def score(self, requests: Sequence[Request], choices: Sequence[str], *, until: Until = "end") -> Floats:
        """Score every choice as the whole answer to each request.

        Args:
            requests: n requests.
            choices: m possible answers.
            until: "end" counts the tokens of a choice and the end of turn. "unique" counts a choice only up to the
                token that distinguishes it from all others, as in nlg2choice's retrieval setting; a choice that others
                begin with counts up to the end of turn.

        Returns:
            Natural log-probabilities of shape (n, m).

        Raises:
            RequestError: If some requests cannot be answered: the others are asked again without them.
        """

    @abstractmethod
    def best(self, requests: Sequence[Request], choices: Sequence[str]) -> tuple[NDArray[np.int64], Floats]:
        """Find the most likely choice for each request.

        The result is the same as from `score`, but may be computed faster. Models without a faster way inherit it from
        `models.choice_trie.ExhaustiveScorer`.

        Args:
            requests: n requests.
            choices: m possible answers.

        Returns:
            The index (n,) of the most likely choice, the first of equals, and its natural log-probability (n,).

        Raises:
            RequestError: If some requests cannot be answered: the others are asked again without them.
        """


class Neighbours(Model):
    """Compares an image with the images of a labelled split. `device` is torch's name of the device that does it."""

    device: str = "cpu"
    encoder: ImageEncoder
    k: int
    weights: str
    support_split: tuple[str, str]


class Probe(Model):
    """Classifies an image by a linear classifier that is fitted on the features of a labelled split.

    `c` is scikit-learn's C, None if a random share `validation` of the labelled images chooses it.
    """

    encoder: ImageEncoder
    c: float | None
    validation: float
    support_split: tuple[str, str]

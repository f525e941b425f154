"""ConSE, a zero-shot encoder that combines a classifier and a text encoder: `conse[]`.

Norouzi et al. 2014, "Zero-Shot Learning by Convex Combination of Semantic Embeddings", equations 2 and 3: an image lies
at the mean of the embeddings of its most probable classes' names, weighted by their probabilities. The classifier is
EfficientNet-Lite0 and the texts are read by MiniLM, both packaged, unless `classifier=timm[…]` or `text=sentence[…]`
is given. ConSE has no temperature: `scale=20` is the round number whose softmax has the lowest log loss on the packaged
photographs (among their 1000 names 15 is as good; 100 is overconfident, 5 is hardly informative).
"""

from collections.abc import Sequence
from functools import cached_property
from hashlib import sha256
from typing import Annotated, Any

import numpy as np
from PIL import Image

from eyechart.data.labels.class_names import load_class_names
from eyechart.errors import SpecError, VocabularyError
from eyechart.models.options import Count, DtypeOption, ModelOptions, Positive, described
from eyechart.models.registry import create_model, find_backend
from eyechart.models.spec import ModelSpec, parse_spec
from eyechart.models.types import Encoder, Floats, Identity

EXAMPLES = {"classifier": "timm[resnet50]", "text": "sentence[minilm]"}


class _ConseOptions(ModelOptions):
    """The options of `conse[…]`."""

    classifier: Annotated[str, described("model that gives the probabilities of classes", type="model")] = "timm[]"
    text: Annotated[str, described("model that embeds names", type="model")] = "sentence[minilm]"
    top: Annotated[Count, described("number of classes whose names are averaged")] = 10
    names: Annotated[str, described("class names of the classifier: mill, openai, kisel, wordnet or a file")] = "mill"
    scale: Annotated[Positive, described("factor of cosines before a softmax")] = 20.0
    dtype: DtypeOption = None
    batch_size: Annotated[Count | None, described("number of images in one forward pass", "that of the classifier")] = (
        None
    )


class ConSE(Encoder):
    """Encodes images and texts in the space of a sentence encoder; zero-shot prompts are names, as in the paper."""

    declared_options = _ConseOptions

    templates = "name"

    def __init__(self, spec: ModelSpec, *, device: str = "cpu", offline: bool = False) -> None:
        options = _ConseOptions.read(spec, arguments=0)
        self.spec = spec
        self.top = options.top
        self._scale = options.scale
        self.names = load_class_names(options.names)
        here = {"device": device, "offline": offline}
        self.classifier = create_model(_part(spec, "classifier", options.classifier, "classifier"), **here)
        self.text = create_model(_part(spec, "text", options.text, "text_encoder"), **here)
        self.owner = ",".join(filter(None, (self.classifier.owner, self.text.owner)))
        self.batch_size = options.batch_size or self.classifier.batch_size

    @property
    def logit_scale(self) -> float:
        """The factor of cosines."""
        return self._scale

    @property
    def loads(self) -> int:  # type: ignore[override]  # that of its parts
        """How often the weights were loaded; classifier and text encoder count as one model."""
        return max(int(self.classifier.loads), int(self.text.loads))

    @cached_property
    def identity(self) -> Identity:
        """The identities of both parts, and the class names that connect them."""
        classifier, text_encoder = self.classifier.identity, self.text.identity
        return Identity(
            backend="conse",
            name=f"{classifier.name}+{text_encoder.name}",
            weights_sha256=sha256(f"{classifier.weights_sha256}{text_encoder.weights_sha256}".encode()).hexdigest(),
            revision=",".join(filter(None, (classifier.revision, text_encoder.revision))),
            dtype=",".join(dict.fromkeys((classifier.dtype, text_encoder.dtype))),
            device=classifier.device,
            processor={
                "image": classifier.processor,
                "text": text_encoder.processor,
                "top": self.top,
                "scale": self.logit_scale,
                "names_sha256": self.names.sha256,
            },
            libraries={**classifier.libraries, **text_encoder.libraries},
        )

    def prepare(self, image: Image.Image) -> Any:
        """Return an RGB image as the classifier takes it."""
        return self.classifier.prepare(image)

    def encode_images(self, images: Sequence[Any]) -> Floats:
        """Return the weighted means of name embeddings (n, d)."""
        logits = self.classifier.classify(images)
        if logits.shape[1] != len(self.names.names):
            raise VocabularyError(
                f"'{self.spec}': the classifier has {logits.shape[1]} classes, the class names '{self.names.name}' are "
                f"{len(self.names.names)}. Give a file with the classifier's own names as names=PATH."
            )
        return convex_combination(logits, self._embeddings, self.top)

    @cached_property
    def _embeddings(self) -> Floats:
        features: Floats = self.text.encode_texts(self.names.names)
        return features

    def encode_texts(self, texts: Sequence[str]) -> Floats:
        """Return the features (m, d) of the text encoder; the classifier's own names are read once."""
        if tuple(texts) == self.names.names:
            return self._embeddings
        features: Floats = self.text.encode_texts(texts)
        return features


def convex_combination(logits: Floats, embeddings: Floats, top: int) -> Floats:
    """Return (n, d), the embeddings of each image's `top` classes weighted by renormalised probabilities.

    Source: Norouzi et al. 2014, equation 3.

    >>> convex_combination(np.log(np.array([[0.6, 0.3, 0.1]], np.float32)), np.eye(3, dtype=np.float32), 2).round(2)
    array([[0.67, 0.33, 0.  ]], dtype=float32)
    """
    first = np.argsort(-logits, axis=1, kind="stable")[:, :top]
    chosen = np.take_along_axis(logits, first, axis=1)
    odds = np.exp(chosen - chosen[:, :1])
    shares = odds / odds.sum(axis=1, keepdims=True)
    return np.asarray(np.einsum("nt,ntd->nd", shares, embeddings[first]), dtype=np.float32)


def _part(spec: ModelSpec, option: str, value: str, interface: str) -> ModelSpec:
    """Return the specification of one part; a precision given for both applies to a part that names none."""
    part = parse_spec(value)
    if interface not in find_backend(part).capabilities:
        what = interface.replace("_", " ")
        raise SpecError(f"'{spec}': {part} is not a {what}. Use one, such as {option}={EXAMPLES[option]}.")
    if "dtype" in spec.options and "dtype" not in part.options:
        return ModelSpec(part.backend, part.arguments, {**part.options, "dtype": spec.options["dtype"]})
    return part

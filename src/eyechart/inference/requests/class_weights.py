"""Zero-shot classification: an image is compared with the class names put into prompts.

Radford et al. 2021, "Learning Transferable Visual Models From Natural Language Supervision", section 3.1.4: the
embeddings of a class's prompts are averaged, so that one vector a class is kept.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eyechart.errors import ModelError
from eyechart.models.options import precision_advice
from eyechart.models.runtime import text_batches
from eyechart.models.types import Encoder, Floats

SLOT = "{c}"
STEP = 2.0**-25  # of the numbers of a unit vector; float32 keeps 24 bits of them
CELLS = 2**22  # numbers in float64 that are held at a time
EncodeFunction = Callable[[Sequence[str]], Floats]


@dataclass(frozen=True)
class ClassPrompts:
    """The vocabulary and the templates of a zero-shot question, with the names they go by."""

    names: tuple[str, ...]
    templates: tuple[str, ...]
    names_source: str
    templates_name: str


def fill_templates(names: Sequence[str], templates: Sequence[str]) -> list[str]:
    """Put every name into every template at its slot `{c}`: all prompts of the first class, then of the second.

    Returns len(names) · len(templates) texts. Raises ValueError for a template without a slot.

    Source: Radford et al. 2021, section 3.1.4.

    >>> fill_templates(["cat", "dog"], ["a photo of a {c}.", "art of the {c}."])
    ['a photo of a cat.', 'art of the cat.', 'a photo of a dog.', 'art of the dog.']
    """
    for template in templates:
        if SLOT not in template:
            raise ValueError(f"The template '{template}' has no slot {SLOT} for the class name; write {SLOT} into it.")
    return [template.replace(SLOT, name) for name in names for template in templates]


def class_weights(encode: EncodeFunction, names: Sequence[str], templates: Sequence[str]) -> Floats:
    """Return one unit vector a class, of shape (classes, d): the normalised mean of its prompts' unit vectors.

    `encode` gives features of shape (texts, d), in no unit. Raises ModelError when it gives another number of
    rows, ValueError without names or templates. Equal texts are encoded once, so that equal classes are equal vectors.

    Source: Radford et al. 2021, section 3.1.4; open_clip `build_zero_shot_classifier` computes the same.

    >>> lengths = lambda texts: np.array([[len(text), 1] for text in texts], np.float32)
    >>> class_weights(lengths, ["a", "longer name"], ["{c}", "the {c}"]).round(2)
    array([[0.88, 0.47],
           [1.  , 0.08]], dtype=float32)
    """
    if not names or not templates:
        raise ValueError(f"Zero-shot needs class names and templates; got {len(names)} and {len(templates)}.")
    texts, indices = text_batches.unique(fill_templates(names, templates))
    features = np.asarray(encode(texts), dtype=np.float32)
    if features.ndim != 2 or len(features) != len(texts):
        raise ModelError(f"The text encoder gave an array of shape {features.shape} for {len(texts)} texts.")
    return normalize(normalize(features)[indices].reshape(len(names), len(templates), -1).mean(axis=1))


def cosine_similarity(features: Floats, weights: Floats) -> Floats:
    """Return the cosine of every image with every class, of shape (n, classes), in -1..1; weights are unit vectors.

    `features` has shape (n, d) and `weights` (classes, d). Equal images have equal cosines, and so have equal classes:
    the first of them wins under argmax. No processor, thread or number of rows changes a bit (`unit_vectors`). Raises
    ModelError when the two lengths of vectors differ.

    Source: Radford et al. 2021, section 3.1.2; the published temperature is left out, since it changes no ranking.

    >>> cosine_similarity(np.array([[3.0, 4.0]], np.float32), np.eye(2, dtype=np.float32)).round(2)
    array([[0.6, 0.8]], dtype=float32)
    """
    if features.shape[1:] != weights.shape[1:]:
        raise ModelError(
            f"Image features of shape {features.shape} cannot be compared with class weights of shape {weights.shape}: "
            "the vectors must be equally long. Use an encoder that sees images and texts in one space."
        )
    cosines, classes = np.empty((len(features), len(weights)), np.float32), _round_to_step(weights).T
    rows = max(1, CELLS // max(1, *weights.shape))
    for start in range(0, len(features), rows):
        cosines[start : start + rows] = unit_vectors(features[start : start + rows]) @ classes
    return cosines


def normalize(vectors: Floats) -> Floats:
    """Divide vectors (..., d) by their length, in float32; a vector of zeros stays one.

    Source: the normalisation of every embedding in Radford et al. 2021, figure 3.

    >>> normalize(np.array([[3.0, 4.0], [0.0, 0.0]], np.float32)).round(2)
    array([[0.6, 0.8],
           [0. , 0. ]], dtype=float32)
    """
    rows = np.ascontiguousarray(vectors)  # the memory layout would change the order of sums
    lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
    return np.asarray(rows / np.maximum(lengths, np.float32(1e-12)), dtype=np.float32)


def unit_vectors(vectors: Floats) -> NDArray[np.float64]:
    """Return vectors (..., d) divided by their length, whose products with one another float64 holds exactly.

    Every number is a multiple of 2⁻²⁵, so that a product of two is a multiple of 2⁻⁵⁰. Any sum of the products of two
    unit vectors is one too, and below 2: float64 holds it without rounding. A cosine therefore does not depend on the
    order in which a processor, a thread, a device or a block of rows adds the products up. It is less than 3 · 10⁻⁸ √d
    from the cosine of the vectors in float32.

    >>> unit_vectors(np.array([[3.0, 4.0]], np.float32)) * 2**25
    array([[20132660., 26843546.]])
    """
    return _round_to_step(normalize(vectors))


def _round_to_step(vectors: Floats) -> NDArray[np.float64]:
    """Round numbers to multiples of 2⁻²⁵, in float64.

    >>> _round_to_step(np.array([2**-25 + 2**-30], np.float32)) * 2**25
    array([1.])
    """
    steps = vectors.astype(np.float64)
    steps /= STEP
    np.rint(steps, out=steps)
    steps *= STEP
    return steps


def check_weights(model: Encoder, weights: Floats) -> None:
    """Raise ModelError if class weights contain NaN or infinity."""
    if not np.isfinite(weights).all():
        raise ModelError(
            f"{model.identity.name} gives NaN for some class names in {model.identity.dtype}. "
            f"{precision_advice(model.declared_options, model.identity.dtype)}."
        )

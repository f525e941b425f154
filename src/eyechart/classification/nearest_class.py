"""Open world: an answer in free words is taken for the class whose name lies nearest in a text embedding space.

Source: arXiv 2603.06578, section 2.3, Task 1. Its CW+ is the same mapping, for those closed-world answers alone that
are not in the prompt's list.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from eyechart.inference.class_weights import EncodeTexts, class_weights, scores
from eyechart.models.types import Floats

BARE = ("{c}",)
TIE = 1e-6
_PROMPTS = 8192  # encoded at a time, so that 50,000 answers under 80 templates fit in memory


@dataclass(frozen=True)
class Space:
    """Class names in a text embedding space: a unit vector (names, d) each, and the class that has the name."""

    encode_texts: EncodeTexts
    templates: tuple[str, ...]
    weights: Floats
    classes: NDArray[np.int64]


class Nearest(NamedTuple):
    """For each answer the nearest class, -1 where it is blank, and the cosine in -1..1, NaN there; both (n,)."""

    classes: NDArray[np.int64]
    cosines: Floats


def space(
    encode_texts: EncodeTexts,
    names: Sequence[str],
    templates: Sequence[str] = BARE,
    answer_templates: Sequence[str] | None = None,
) -> Space:
    """Embed the class names: the normalised mean over `templates`, with the slot `{c}`, of each name's unit vectors.

    `encode_texts` gives features of shape (texts, d). Answers will go into the same templates, so that a class's own
    name has cosine 1, or into `answer_templates`. Of classes with one name, the first has it.

    Raises ValueError without names or templates, ModelError where the encoder gives another number of vectors.

    Source: arXiv 2603.06578, section 2.3 and Table 18, with templates and without; that its answers are templated as
    its names are is our reading.

    >>> lengths = lambda texts: np.array([[len(text), 1] for text in texts], np.float32)
    >>> space(lengths, ["a", "bb", "a"]).classes
    array([0, 1])
    """
    first = {name: index for index, name in reversed([*enumerate(names)])}
    unique = sorted(first, key=first.__getitem__)
    weights = class_weights(encode_texts, unique, templates)
    answered = tuple(templates if answer_templates is None else answer_templates)
    return Space(encode_texts, answered, weights, np.array([first[name] for name in unique], np.int64))


def nearest(known: Space, answers: Sequence[str]) -> Nearest:
    """Map each of n answers to the class whose name is nearest by cosine.

    Cosines less than 1e-6 below the largest are ties, and the first class wins, so that neither the order of answers
    nor an encoder's batches matter. Different answers are encoded once; white space around them is dropped.

    Raises ModelError where the encoder gives another number or length of vectors.

    Source: arXiv 2603.06578, section 2.3, Task 1.

    >>> letters = lambda texts: np.array([[text.count(each) for each in "abc"] for text in texts], np.float32)
    >>> nearest(space(letters, ["abc", "cab", "a"]), ["a cab", " ", "aaab"]).classes
    array([ 0, -1,  2])
    """
    texts = list(dict.fromkeys(answer.strip() for answer in answers if answer.strip()))
    found = dict(zip(texts, _mapped(known, texts), strict=True))
    pairs = [found.get(answer.strip(), (-1, np.nan)) for answer in answers]
    return Nearest(np.array([each for each, _ in pairs], np.int64), np.array([each for _, each in pairs], np.float32))


def _mapped(known: Space, texts: Sequence[str]) -> Iterator[tuple[int, float]]:
    step = max(1, _PROMPTS // len(known.templates))
    for start in range(0, len(texts), step):
        vectors = class_weights(known.encode_texts, texts[start : start + step], known.templates)
        near = scores(vectors, known.weights)
        best = near.max(axis=1)
        chosen = (near >= best[:, None] - TIE).argmax(axis=1)
        yield from zip(known.classes[chosen].tolist(), best.tolist(), strict=True)

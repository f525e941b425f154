"""Map free text to classes: the class whose name is nearest in a text embedding space, or that occurs in the text.

Source: arXiv 2603.06578, section 2.3, Task 1. CW+ applies the same mapping to those closed-world answers that are
not in the prompt's list.
"""

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from eyechart.classification.answers.out_of_prompt import normalise_text
from eyechart.data.labels.class_names import load_templates
from eyechart.inference.requests.class_weights import EncodeFunction, class_weights, cosine_similarity
from eyechart.models.types import Floats
from eyechart.parsers.text import lowercase_words, undenied_words
from eyechart.protocol.context import Context
from eyechart.protocol.text_encoders import text_encoder, text_features

BARE = ("{c}",)
_TIE = 1e-6
_PROMPTS = 8192  # encoded at a time, so that 50,000 answers under 80 templates fit in memory
Words = tuple[str, ...]


@dataclass(frozen=True)
class ClassEmbeddings:
    """Class names in a text embedding space: unit vectors (names, d), and the class of each name."""

    encode: EncodeFunction
    templates: tuple[str, ...]
    weights: Floats
    classes: NDArray[np.int64]


class _NearestClasses(NamedTuple):
    """The nearest class of each answer (n,), -1 for a blank one, and its cosine (n,), NaN for a blank one."""

    classes: NDArray[np.int64]
    cosines: Floats


def embed_class_names(
    encode: EncodeFunction,
    names: Sequence[str],
    templates: Sequence[str] = BARE,
    answer_templates: Sequence[str] | None = None,
) -> ClassEmbeddings:
    """Return embeddings of class names: for each, the normalised mean of its unit vectors over `templates` with `{c}`.

    `encode` gives features of shape (texts, d). Answers will go into the same templates, so that a class's own
    name has cosine 1, or into `answer_templates`. Of classes with one name, the first has it.

    Raises ValueError without names or templates, ModelError where the encoder gives another number of vectors.

    Source: arXiv 2603.06578, section 2.3 and Table 18, with templates and without; that its answers are templated as
    its names are is our reading.

    >>> lengths = lambda texts: np.array([[len(text), 1] for text in texts], np.float32)
    >>> embed_class_names(lengths, ["a", "bb", "a"]).classes
    array([0, 1])
    """
    first = {name: index for index, name in reversed([*enumerate(names)])}
    unique = sorted(first, key=first.__getitem__)
    weights = class_weights(encode, unique, templates)
    answered = tuple(templates if answer_templates is None else answer_templates)
    return ClassEmbeddings(encode, answered, weights, np.array([first[name] for name in unique], np.int64))


def nearest_classes(embeddings: ClassEmbeddings, answers: Sequence[str]) -> _NearestClasses:
    """Map each of n answers to the class whose name is nearest by cosine.

    Cosines less than 1e-6 below the largest are ties, and the first class wins, so that neither the order of answers
    nor an encoder's batches matter. Different answers are encoded once; white space around them is dropped.

    Raises ModelError where the encoder gives another number or length of vectors.

    Source: arXiv 2603.06578, section 2.3, Task 1.

    >>> letters = lambda texts: np.array([[text.count(letter) for letter in "abc"] for text in texts], np.float32)
    >>> nearest_classes(embed_class_names(letters, ["abc", "cab", "a"]), ["a cab", " ", "aaab"]).classes
    array([ 0, -1,  2])
    """
    texts = list(dict.fromkeys(answer.strip() for answer in answers if answer.strip()))
    nearest = dict(zip(texts, _nearest(embeddings, texts), strict=True))
    pairs = [nearest.get(answer.strip(), (-1, np.nan)) for answer in answers]
    return _NearestClasses(
        np.array([index for index, _ in pairs], np.int64), np.array([cosine for _, cosine in pairs], np.float32)
    )


def _nearest(embeddings: ClassEmbeddings, texts: Sequence[str]) -> Iterator[tuple[int, float]]:
    step = max(1, _PROMPTS // len(embeddings.templates))
    for start in range(0, len(texts), step):
        vectors = class_weights(embeddings.encode, texts[start : start + step], embeddings.templates)
        cosines = cosine_similarity(vectors, embeddings.weights)
        best = cosines.max(axis=1)
        selected = (cosines >= best[:, None] - _TIE).argmax(axis=1)
        yield from zip(embeddings.classes[selected].tolist(), best.tolist(), strict=True)


def included_classes(
    answers: Sequence[str], names: Sequence[str], *, whole_words: bool = True
) -> list[tuple[int, ...]]:
    """Return for each answer the classes whose names occur in it, longest name first, then by index.

    With `whole_words` a name's words must follow one another in the answer, punctuation aside; without, its letters
    must, as the baseline has it, so that "caterpillar" contains "cat". Case does not count.

    Source: Zhang et al. 2024; `whole_words` is our own default.

    >>> included_classes(["A coffee mug, not a cup."], ["mug", "coffee mug", "cup"])
    [(1, 0, 2)]
    >>> included_classes(["caterpillar"], ["cat"]), included_classes(["caterpillar"], ["cat"], whole_words=False)
    ([()], [(0,)])
    """
    find = _by_words if whole_words else _by_letters
    order = sorted(range(len(names)), key=lambda index: (-len(normalise_text(names[index])), index))
    rank = {index: position for position, index in enumerate(order)}
    return [tuple(sorted(classes, key=rank.__getitem__)) for classes in find(answers, names)]


def map_by_inclusion(answers: Sequence[str], names: Sequence[str], *, whole_words: bool = True) -> NDArray[np.int64]:
    """Map each of n answers to the class whose name is in it, (n,), -1 where there is none or more than one.

    Names that are denied ("not a dog") do not count. A name that is a part of a longer one in the answer is no second
    name. Of classes with one name, the first has it.

    Source: as `included_classes`. That an answer with two names has no class is our own rule: the baseline asks for one
    class at a time.

    >>> said = ["A coffee mug", "I see a fish", "A mug or a cup", "A mug, not a coffee cup", "It isn't a mug"]
    >>> map_by_inclusion(said, ["mug", "coffee mug", "cup"])
    array([ 1, -1, -1,  0, -1])
    """
    if whole_words:
        words = {word for name in names for word in lowercase_words(name)}
        answers = [_without_denied(answer, words) for answer in answers]
    included = included_classes(answers, names, whole_words=whole_words)
    return np.array([_only_class(classes, names, whole_words=whole_words) for classes in included], np.int64)


def _without_denied(answer: str, known: Container[str]) -> str:
    """Return an answer without the words of names that are denied; `known` are the words of all names."""
    kept, denied = list[str](), False
    for word, affirmed in undenied_words(answer):
        denied = word in known and (denied or not affirmed)
        kept += ["."] if denied else [word]
    return " ".join(kept)


def _only_class(classes: Sequence[int], names: Sequence[str], *, whole_words: bool) -> int:
    """Return the first of classes, whose name is the longest, if it contains the names of all others, else -1."""

    def spelling(index: int) -> str:
        return f" {' '.join(lowercase_words(names[index]))} " if whole_words else normalise_text(names[index])

    if not classes:
        return -1
    longest = spelling(classes[0])
    return classes[0] if all(spelling(other) in longest for other in classes[1:]) else -1


def _by_letters(answers: Sequence[str], names: Sequence[str]) -> list[set[int]]:
    lowered = [(index, normalise_text(name)) for index, name in enumerate(names) if normalise_text(name)]
    return [{index for index, name in lowered if name in answer.lower()} for answer in answers]


def _by_words(answers: Sequence[str], names: Sequence[str]) -> list[set[int]]:
    classes: dict[Words, list[int]] = {}
    for index, name in enumerate(names):
        classes.setdefault(tuple(lowercase_words(name)), []).append(index)
    classes.pop((), None)
    longest = max(map(len, classes), default=0)
    return [_spans(lowercase_words(answer), classes, longest) for answer in answers]


def _spans(answer_words: Sequence[str], classes: Mapping[Words, Sequence[int]], longest: int) -> set[int]:
    spans = (
        tuple(answer_words[start : start + length])
        for start in range(len(answer_words))
        for length in range(1, longest + 1)
    )
    return {index for span in spans for index in classes.get(span, ())}


def map_to_classes(context: Context, answers: Sequence[str]) -> list[int]:
    """Return the class of each answer by the option `mapping`, -1 for a blank one or if it includes no name, or two."""
    if context.options["mapping"] == "inclusion":
        indices = map_by_inclusion(answers, context.candidate_names)
    elif not answers:
        text_encoder(context)  # records the encoder of the case
        return []
    else:
        indices = nearest_classes(_class_embeddings(context, context.candidate_names), answers).classes
    classes: list[int] = np.array([*context.candidate_classes, -1], np.int64)[indices].tolist()
    return classes


def _class_embeddings(context: Context, names: Sequence[str]) -> ClassEmbeddings:
    """Return the class names in the space of the option `text_encoder`."""
    name = context.options["text_templates"]
    formats = BARE if name == "none" else load_templates(name).formats
    encoder = text_encoder(context)

    def encode(texts: Sequence[str]) -> Floats:
        return text_features(context, encoder, texts)

    return embed_class_names(encode, names, formats)

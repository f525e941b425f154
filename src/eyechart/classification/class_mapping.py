"""Answers in free words as classes: the class whose name is nearest in a text embedding space, or that is in the words.

Source: arXiv 2603.06578, section 2.3, Task 1. Its CW+ is the same mapping, for those closed-world answers alone that
are not in the prompt's list.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from eyechart.classification.out_of_prompt import normalise_text
from eyechart.data.class_names import load_templates
from eyechart.errors import ModelError, SpecError
from eyechart.inference.arrays import read_or_compute
from eyechart.inference.class_weights import EncodeTexts, class_weights, cosine_similarity
from eyechart.inference.store import Key, Store
from eyechart.models.types import Floats, TextEncoder
from eyechart.parsers.abstention import lowercase_words
from eyechart.protocol.context import Context

BARE = ("{c}",)
TIE = 1e-6
_PROMPTS = 8192  # encoded at a time, so that 50,000 answers under 80 templates fit in memory
Words = tuple[str, ...]


@dataclass(frozen=True)
class ClassEmbeddings:
    """Class names in a text embedding space: a unit vector (names, d) each, and the class that has the name."""

    encode_texts: EncodeTexts
    templates: tuple[str, ...]
    weights: Floats
    classes: NDArray[np.int64]


class NearestClasses(NamedTuple):
    """For each answer the nearest class, -1 where it is blank, and the cosine in -1..1, NaN there; both (n,)."""

    classes: NDArray[np.int64]
    cosines: Floats


def embed_class_names(
    encode_texts: EncodeTexts,
    names: Sequence[str],
    templates: Sequence[str] = BARE,
    answer_templates: Sequence[str] | None = None,
) -> ClassEmbeddings:
    """Embed the class names: the normalised mean over `templates`, with the slot `{c}`, of each name's unit vectors.

    `encode_texts` gives features of shape (texts, d). Answers will go into the same templates, so that a class's own
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
    weights = class_weights(encode_texts, unique, templates)
    answered = tuple(templates if answer_templates is None else answer_templates)
    return ClassEmbeddings(encode_texts, answered, weights, np.array([first[name] for name in unique], np.int64))


def nearest_classes(known: ClassEmbeddings, answers: Sequence[str]) -> NearestClasses:
    """Map each of n answers to the class whose name is nearest by cosine.

    Cosines less than 1e-6 below the largest are ties, and the first class wins, so that neither the order of answers
    nor an encoder's batches matter. Different answers are encoded once; white space around them is dropped.

    Raises ModelError where the encoder gives another number or length of vectors.

    Source: arXiv 2603.06578, section 2.3, Task 1.

    >>> letters = lambda texts: np.array([[text.count(each) for each in "abc"] for text in texts], np.float32)
    >>> nearest_classes(embed_class_names(letters, ["abc", "cab", "a"]), ["a cab", " ", "aaab"]).classes
    array([ 0, -1,  2])
    """
    texts = list(dict.fromkeys(answer.strip() for answer in answers if answer.strip()))
    found = dict(zip(texts, _mapped(known, texts), strict=True))
    pairs = [found.get(answer.strip(), (-1, np.nan)) for answer in answers]
    return NearestClasses(
        np.array([each for each, _ in pairs], np.int64), np.array([each for _, each in pairs], np.float32)
    )


def _mapped(known: ClassEmbeddings, texts: Sequence[str]) -> Iterator[tuple[int, float]]:
    step = max(1, _PROMPTS // len(known.templates))
    for start in range(0, len(texts), step):
        vectors = class_weights(known.encode_texts, texts[start : start + step], known.templates)
        near = cosine_similarity(vectors, known.weights)
        best = near.max(axis=1)
        chosen = (near >= best[:, None] - TIE).argmax(axis=1)
        yield from zip(known.classes[chosen].tolist(), best.tolist(), strict=True)


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
    rank = {index: place for place, index in enumerate(order)}
    return [tuple(sorted(found, key=rank.__getitem__)) for found in find(answers, names)]


def map_by_inclusion(answers: Sequence[str], names: Sequence[str], *, whole_words: bool = True) -> NDArray[np.int64]:
    """Map each of n answers to the class with the longest name in it, (n,), -1 where there is none.

    Source: as `included`; that the longest name wins is our own rule, since the baseline asks for one class at a time.

    >>> map_by_inclusion(["A coffee mug", "I see a fish"], ["mug", "coffee mug"])
    array([ 1, -1])
    """
    found = included_classes(answers, names, whole_words=whole_words)
    return np.array([each[0] if each else -1 for each in found], np.int64)


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


def _spans(said: Sequence[str], classes: Mapping[Words, Sequence[int]], longest: int) -> set[int]:
    spans = (tuple(said[start : start + length]) for start in range(len(said)) for length in range(1, longest + 1))
    return {index for span in spans for index in classes.get(span, ())}


def map_to_classes(context: Context, answers: Sequence[str]) -> list[int]:
    """The class of each answer by the mapping that was chosen, -1 for an empty one or where nothing is included."""
    if context.options["mapping"] == "inclusion":
        found = map_by_inclusion(answers, context.candidate_names)
    elif not answers:
        text_encoder(context)  # who would have mapped is told all the same
        return []
    else:
        found = nearest_classes(class_embeddings(context, context.candidate_names), answers).classes
    classes: list[int] = np.array([*context.candidate_classes, -1], np.int64)[found].tolist()
    return classes


def class_embeddings(context: Context, names: Sequence[str]) -> ClassEmbeddings:
    """The class names in the space of the encoder that was chosen."""
    given = context.options["text_templates"]
    formats = BARE if given == "none" else load_templates(given).formats
    encoder = text_encoder(context)

    def encode(texts: Sequence[str]) -> Floats:
        return text_features(context.runner.store, encoder, texts)

    return embed_class_names(encode, names, formats)


def text_encoder(context: Context) -> TextEncoder:
    """The text encoder that was chosen."""
    encoder = context.get_model(context.options["text_encoder"])
    if not isinstance(encoder, TextEncoder):
        raise SpecError(f"{context.flag('text_encoder')} reads no texts. Use sentence[…], hf_clip[…] or open_clip[…].")
    context.extra_variant["text_encoder_weights"] = encoder.identity.weights_sha256[:8]
    return encoder


def text_features(store: Store, encoder: TextEncoder, texts: Sequence[str]) -> Floats:
    """Features of texts, asked for once."""
    asked = sha256(msgspec.json.encode(texts)).hexdigest()
    key = Key(kind="text_features", model=encoder.identity, prompts=asked, batch_size=encoder.batch_size)
    entry = store.entry(key)
    found = read_or_compute(entry, lambda: encoder.encode_texts(texts))
    if not np.isfinite(found).all():
        raise ModelError(
            f"{encoder.identity.name} gives NaN or infinity for some texts in {encoder.identity.dtype}. "
            "Try dtype=float32."
        )
    return found

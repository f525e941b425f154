"""Free words as classes: the nearest in a text embedding space, whose features are kept like any answer."""

from collections.abc import Sequence
from hashlib import sha256
from typing import cast

import msgspec
import numpy as np

from eyechart.classification.nearest_class import BARE, Space, nearest, space
from eyechart.classification.text_inclusion import by_inclusion
from eyechart.data.class_names import templates
from eyechart.errors import ModelError, SpecError
from eyechart.inference.arrays import computed
from eyechart.inference.store import Key, Store
from eyechart.models.types import Floats, TextEncoder
from eyechart.protocol.context import Sitting


def mapped(sitting: Sitting, answers: Sequence[str]) -> list[int]:
    """The class of each answer by the mapping that was chosen, -1 for an empty one or where nothing is included."""
    if sitting.chosen["mapping"] == "inclusion":
        found = by_inclusion(answers, sitting.listed)
    elif not answers:
        encoder_of(sitting)  # who would have mapped is told all the same
        return []
    else:
        found = nearest(answer_space(sitting, sitting.listed), answers).classes
    classes: list[int] = np.array([*sitting.offered, -1], np.int64)[found].tolist()
    return classes


def answer_space(sitting: Sitting, names: Sequence[str]) -> Space:
    """The class names in the space of the encoder that was chosen."""
    given = sitting.chosen["text_templates"]
    formats = BARE if given == "none" else templates(given).formats
    encoder = encoder_of(sitting)

    def encode(texts: Sequence[str]) -> Floats:
        return kept_texts(sitting.asker.store, encoder, texts)

    return space(encode, names, formats)


def encoder_of(sitting: Sitting) -> TextEncoder:
    """The text encoder that was chosen."""
    model = sitting.lend(sitting.chosen["encoder"])
    if not hasattr(model, "encode_texts"):
        raise SpecError(
            f"--eye-encoder={sitting.chosen['encoder']} reads no texts. Use sentence[…], hf_clip[…] or open_clip[…]."
        )
    encoder = cast(TextEncoder, model)
    sitting.helpers["encoder_weights"] = encoder.identity.weights_sha256[:8]
    return encoder


def kept_texts(store: Store, encoder: TextEncoder, texts: Sequence[str]) -> Floats:
    """Features of texts, asked for once."""
    asked = sha256(msgspec.json.encode(texts)).hexdigest()
    key = Key(question="text_features", model=encoder.identity, prompts=asked, batch_size=encoder.batch_size)
    entry = store.entry(key)
    found = computed(entry, lambda: encoder.encode_texts(texts))
    if not np.isfinite(found).all():
        raise ModelError(
            f"{encoder.identity.name} gives NaN or infinity for some texts in {encoder.identity.dtype}. "
            "Try dtype=float32."
        )
    return found

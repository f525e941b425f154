"""The text encoder of a protocol that compares answers with names by their meaning."""

from collections.abc import Sequence

import numpy as np

from eyechart.errors import ModelError, SpecError
from eyechart.inference.requests.row_requests import Encode
from eyechart.models.options import precision_advice
from eyechart.models.registry import may_offer
from eyechart.models.spec import parse_spec
from eyechart.models.types import Floats, TextEncoder
from eyechart.protocol.context import Context
from eyechart.protocol.options import Option

NO_TEXTS = "encodes no texts. Use sentence[…], hf_clip[…] or open_clip[…]."


def _check_text_encoder(value: str, _: str | None) -> None:
    """Refuse a model whose backend is not known or encodes no texts."""
    if not may_offer(parse_spec(value), {"text_encoder"}):
        raise SpecError(f"{value} {NO_TEXTS}")


TEXT_ENCODER = Option(
    "text_encoder", "model of the text embeddings, as backend[…]", "sentence[minilm]", check=_check_text_encoder
)


def text_encoder(context: Context) -> TextEncoder:
    """Return the text encoder of the option `text_encoder`. Raises SpecError for a model that encodes no texts."""
    encoder = context.get_model(context.options["text_encoder"])
    if not isinstance(encoder, TextEncoder):
        raise SpecError(f"{context.flag('text_encoder')} {NO_TEXTS}")
    context.extra_variant["text_encoder_weights"] = encoder.identity.weights_sha256[:8]
    return encoder


def text_features(context: Context, encoder: TextEncoder, texts: Sequence[str]) -> Floats:
    """Return features of texts (texts, d), from the store if they are in it. Raises ModelError for NaN or infinity."""
    features = context.runner.run(Encode(tuple(texts)), encoder)
    if not np.isfinite(features).all():
        raise ModelError(
            f"{encoder.identity.name} gives NaN or infinity for some texts in {encoder.identity.dtype}. "
            f"{precision_advice(encoder.declared_options, encoder.identity.dtype)}."
        )
    return features

"""The text encoder of a protocol: which may be one, that its weights are recorded, and that texts are read once."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from eyechart.errors import ModelError, SpecError
from eyechart.protocol.context import Context
from eyechart.protocol.text_encoders import TEXT_ENCODER, text_encoder, text_features


@pytest.fixture
def case(sit: Any, talker: Any) -> Callable[..., Context]:
    """A case whose text encoder is a model."""

    def case(encoder: object) -> Context:
        found: Context = sit(talker(lambda *_: ""), [0], "open_world", get_model={"sentence[minilm]": encoder}.get)
        return found

    return case


def test_the_encoder_is_that_of_the_option_and_its_weights_are_recorded(
    case: Callable[..., Context], letters: Any
) -> None:
    letters.identity = replace(letters.identity, weights_sha256="0123456789abcdef")
    context = case(letters)
    assert text_encoder(context) is letters
    assert context.extra_variant == {"text_encoder_weights": "01234567"}


def test_a_model_that_encodes_no_texts_is_refused(case: Callable[..., Context]) -> None:
    with pytest.raises(SpecError) as refused:
        text_encoder(case(object()))
    assert str(refused.value) == (
        "--eye-set=open_world.text_encoder=sentence[minilm] encodes no texts. Use sentence[…], hf_clip[…] or "
        "open_clip[…]."
    )


def test_texts_are_encoded_once_and_their_features_are_those_of_the_encoder(
    case: Callable[..., Context], letters: Any
) -> None:
    context, texts = case(letters), ["tac", "cat", "tac", ""]
    expected = letters.encode_texts(texts)
    letters.read.clear()
    first, second = (text_features(context, letters, texts) for _ in range(2))
    np.testing.assert_array_equal(first, expected)
    np.testing.assert_array_equal(second, expected)
    assert {*letters.read} == {*texts}
    assert letters.read.count("cat") == 1


def test_an_encoder_that_gives_no_number_is_refused(case: Callable[..., Context], letters: Any) -> None:
    with pytest.raises(ModelError) as refused:
        text_features(case(letters), letters, ["cat", "c~t"])
    assert str(refused.value) == "talker gives NaN or infinity for some texts in float32. Check the weights."


def test_the_option_takes_models_of_known_backends() -> None:
    assert TEXT_ENCODER.check is not None
    TEXT_ENCODER.check("hf_clip[a/b,x=1]", None)
    with pytest.raises(SpecError, match="the backend 'sentense', which is not known; did you mean sentence"):
        TEXT_ENCODER.check("sentense[minilm]", None)


@pytest.mark.parametrize("value", ["./words.txt", "timm[resnet50]", "openai[gpt]"])
def test_the_option_takes_no_model_that_encodes_no_texts(value: str) -> None:
    assert TEXT_ENCODER.check is not None
    with pytest.raises(SpecError) as refused:
        TEXT_ENCODER.check(value, None)
    assert str(refused.value) == f"{value} encodes no texts. Use sentence[…], hf_clip[…] or open_clip[…]."

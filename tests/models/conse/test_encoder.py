"""ConSE with the packaged weights: a real zero-shot encoder."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eyechart.data.labels.class_names import load_class_names
from eyechart.errors import ModelError, SpecError, VocabularyError
from eyechart.inference.requests.class_weights import class_weights, cosine_similarity
from eyechart.models.conse.encoder import ConSE, convex_combination
from eyechart.models.runtime.torchvision_repair import repair
from eyechart.models.spec import parse_spec
from eyechart.models.types import Encoder, Floats

pytestmark = pytest.mark.deep

repair()  # before any test imports timm itself
READ_LOW = "conse[text=sentence[dtype=bfloat16]]"


@pytest.fixture(scope="module")
def conse() -> ConSE:
    return ConSE(parse_spec("conse[]"))


@pytest.fixture(scope="module")
def features(conse: ConSE, exact: Any) -> Floats:
    prepared = [conse.prepare(image) for image in exact.images]
    return conse.encode_images(prepared)


@pytest.fixture(scope="module")
def similarities(conse: ConSE, features: Floats) -> Floats:
    """The cosines of images and class names."""
    return cosine_similarity(features, class_weights(conse.encode_texts, load_class_names("mill").names, ["{c}"]))


def test_it_is_an_encoder(conse: ConSE) -> None:
    assert isinstance(conse, Encoder)


def test_it_classifies_without_the_classifiers_head(similarities: Floats, exact: Any) -> None:
    assert exact.top(similarities, 1) > 0.75
    assert exact.top(similarities, 5) > 0.85


def log_loss(logits: Floats, labels: Any) -> float:
    logits = logits - logits.max(axis=1, keepdims=True)
    chosen = logits[np.arange(len(labels)), labels]
    return float(np.mean(np.log(np.exp(logits).sum(axis=1)) - chosen))


def test_its_scale_is_calibrated_on_photographs(conse: ConSE, similarities: Floats, exact: Any) -> None:
    losses = {scale: log_loss(scale * similarities, exact.labels) for scale in (5, 10, conse.logit_scale, 40, 100)}
    assert min(losses, key=losses.__getitem__) == conse.logit_scale == 20
    assert losses[100] > 4 * losses[20]


def test_another_scale_is_an_option_and_needs_no_weights() -> None:
    model = ConSE(parse_spec("conse[scale=12.5]"))
    assert (model.logit_scale, model.loads) == (12.5, 0)
    with pytest.raises(SpecError, match=r"has scale=-1\. Expected a number above 0"):
        ConSE(parse_spec("conse[scale=-1]"))


def test_its_weights_are_read_once(conse: ConSE, features: Floats) -> None:
    conse.encode_texts(["a cat"])
    assert conse.loads == 1
    assert ConSE(parse_spec("conse[]")).loads == 0


def test_one_certain_class_gives_its_own_embedding() -> None:
    logits = np.array([[0, 50, 0]], np.float32)
    np.testing.assert_allclose(convex_combination(logits, np.eye(3, dtype=np.float32), 2), [[0, 1, 0]], atol=1e-6)


def test_the_mean_is_convex_over_the_top_classes() -> None:
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(5, 20)).astype(np.float32)
    shares = convex_combination(logits, np.eye(20, dtype=np.float32), 4)
    np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=1e-6)
    assert ((shares > 0).sum(axis=1) == 4).all()
    assert (shares.argmax(axis=1) == logits.argmax(axis=1)).all()


def test_huge_logits_do_not_overflow() -> None:
    logits = np.array([[1e4, -1e4, 1e4]], np.float32)
    np.testing.assert_allclose(convex_combination(logits, np.eye(3, dtype=np.float32), 3), [[0.5, 0, 0.5]])


def test_texts_have_length_one_and_keep_their_order(conse: ConSE) -> None:
    texts = ["a very long sentence about a small dog in the snow", "dog", "cat", "dog"]
    found = conse.encode_texts(texts)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-6)
    np.testing.assert_array_equal(found[1], found[3])
    np.testing.assert_allclose(found[:1], conse.encode_texts(texts[:1]), atol=1e-5)


def test_any_text_encoder_will_do(conse: ConSE, exact: Any) -> None:
    other = ConSE(parse_spec("conse[text=open_clip[toybox-clip],top=1]"))
    found = other.encode_images([other.prepare(exact.images[0])])
    name = other.names.names[int(exact.labels[0])]
    assert found.shape == other.encode_texts([name]).shape != conse.encode_texts([name]).shape


def test_near_meanings_are_near(conse: ConSE) -> None:
    cat, kitten, lorry = conse.encode_texts(["a cat", "a kitten", "a lorry"])
    assert cat @ kitten > cat @ lorry


@pytest.mark.parametrize(
    "other", ["conse[top=5]", "conse[scale=30]", "conse[names=openai]", "conse[dtype=bfloat16]", READ_LOW]
)
def test_what_changes_answers_changes_the_identity(conse: ConSE, other: str) -> None:
    assert ConSE(parse_spec(other)).identity != conse.identity


def test_another_classifier_needs_its_own_names(tmp_path: Path, exact: Any) -> None:
    import timm
    import torch

    torch.save(timm.create_model("test_vit", num_classes=7).state_dict(), tmp_path / "seven.pth")
    spec = f"conse[classifier=timm[test_vit,num_classes=7,pretrained={tmp_path / 'seven.pth'}]]"
    model = ConSE(parse_spec(spec))
    with pytest.raises(VocabularyError, match="classifier has 7 classes, the class names 'mill' are 1000"):
        model.encode_images([model.prepare(exact.images[0])])


@pytest.mark.parametrize(
    ("part", "sentence"),
    [
        (
            "classifier=hf_clip[somewhere]",
            r"hf_clip\[somewhere\] is not a classifier\. Use one, such as class",
        ),
        ("text=timm[]", r"timm\[\] is not a text encoder\. Use one, such as text=sentence\[minilm\]"),
    ],
)
def test_a_part_that_cannot_do_its_work_is_refused(part: str, sentence: str) -> None:
    with pytest.raises(SpecError, match=sentence):
        ConSE(parse_spec(f"conse[{part}]"))


def test_a_missing_text_model_offline(empty_hub: Path) -> None:
    model = ConSE(parse_spec("conse[text=sentence[sentence-transformers/nothing]]"), offline=True)
    with pytest.raises(ModelError, match="--eye-offline forbids fetching it"):
        model.encode_texts(["a"])

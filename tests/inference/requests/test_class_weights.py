"""Zero-shot weights and scores: invariances that hold for every encoder."""

from collections.abc import Sequence
from hashlib import sha256

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from eyechart.errors import ModelError
from eyechart.inference.requests.class_weights import class_weights, cosine_similarity, fill_templates, normalize
from eyechart.models.types import Floats

WORDS = st.text(st.characters(codec="ascii"), min_size=1, max_size=8)
NAMES = st.lists(WORDS, min_size=1, max_size=5)
TEMPLATES = st.lists(WORDS.map(lambda text: f"{text} {{c}}.".replace("{c} {c}", "{c}")), min_size=1, max_size=4)
VECTORS = arrays(np.float32, (4, 3), elements=st.floats(-100, 100, width=32))


def encode(texts: Sequence[str]) -> Floats:
    """Features that depend on nothing but the text."""
    return np.array([list(sha256(text.encode()).digest()[:6]) for text in texts], np.float32) - 128


@given(NAMES, TEMPLATES)
def test_every_name_meets_every_template(names: list[str], templates: list[str]) -> None:
    found = fill_templates(names, templates)
    assert len(found) == len(names) * len(templates)
    at = len(templates) * (len(names) - 1)
    assert found[at:] == fill_templates(names[-1:], templates)


def test_braces_in_a_name_stay() -> None:
    assert fill_templates(["{x} {0} %s \\1"], ["a {c}."]) == ["a {x} {0} %s \\1."]


def test_a_template_needs_its_slot() -> None:
    with pytest.raises(ValueError, match="no slot"):
        fill_templates(["cat"], ["a photo of a {}."])


@given(NAMES, TEMPLATES)
def test_weights_are_unit_vectors_one_a_class(names: list[str], templates: list[str]) -> None:
    weights = class_weights(encode, names, templates)
    assert weights.shape == (len(names), 6)
    np.testing.assert_allclose(np.linalg.norm(weights, axis=1), 1, atol=1e-5)


@given(NAMES, TEMPLATES)
def test_the_order_of_templates_does_not_matter(names: list[str], templates: list[str]) -> None:
    turned = class_weights(encode, names, templates[::-1])
    np.testing.assert_allclose(class_weights(encode, names, templates), turned, atol=1e-5)


@given(NAMES, TEMPLATES)
def test_a_class_does_not_see_the_others(names: list[str], templates: list[str]) -> None:
    alone = [class_weights(encode, [name], templates)[0] for name in names]
    np.testing.assert_array_equal(class_weights(encode, names, templates), alone)


@given(NAMES, TEMPLATES, st.floats(0.01, 100))
def test_the_length_of_text_features_does_not_matter(names: list[str], templates: list[str], scale: float) -> None:
    scaled = class_weights(lambda texts: encode(texts) * np.float32(scale), names, templates)
    np.testing.assert_allclose(scaled, class_weights(encode, names, templates), atol=1e-5)


def test_all_texts_are_encoded_in_one_call() -> None:
    calls: list[int] = []
    class_weights(lambda texts: (calls.append(len(texts)), encode(texts))[1], ["a", "b"], ["{c}", "the {c}", "one {c}"])
    assert calls == [6]


def test_equal_texts_are_encoded_once() -> None:
    calls: list[list[str]] = []
    class_weights(lambda texts: (calls.append([*texts]), encode(texts))[1], ["a", "b", "a"], ["{c}", "{c}"])
    assert calls == [["a", "b"]]


@pytest.mark.deep
@given(VECTORS, VECTORS)
def test_scores_are_cosines(features: Floats, weights: Floats) -> None:
    found = cosine_similarity(features, normalize(weights))
    assert found.dtype == np.float32
    assert (np.abs(found) <= 1 + 1e-5).all()


@given(VECTORS, st.floats(0.01, 100))
def test_the_length_of_image_features_does_not_matter(features: Floats, scale: float) -> None:
    weights = normalize(np.arange(12, dtype=np.float32).reshape(4, 3) - 5)
    expected = cosine_similarity(features + 1, weights)
    np.testing.assert_allclose(cosine_similarity((features + 1) * np.float32(scale), weights), expected, atol=1e-3)


def test_ties_go_to_the_first_class() -> None:
    weights = np.array([[0, 1], [1, 0], [1, 0]], np.float32)
    assert cosine_similarity(np.array([[2, 0]], np.float32), weights).argmax() == 1


@pytest.mark.parametrize("classes", [2, 7, 33, 130, 1001])
@pytest.mark.parametrize("width", [3, 100, 768])
def test_equal_classes_have_equal_cosines_at_every_place(classes: int, width: int) -> None:
    """A kernel computes the columns of a block in one way and those at its edge in another."""
    rng = np.random.default_rng(classes + width)
    features, prompts = rng.normal(size=(9, width)).astype(np.float32), rng.normal(size=width).astype(np.float32)
    found = cosine_similarity(features, normalize(np.tile(prompts, (classes, 1))))
    np.testing.assert_array_equal(found, np.repeat(found[:, :1], classes, axis=1))
    np.testing.assert_array_equal(found.argmax(axis=1), 0)


@pytest.mark.parametrize("images", [2, 7, 33, 130])
def test_equal_images_have_equal_cosines_at_every_place_and_alone(images: int) -> None:
    rng = np.random.default_rng(images)
    image, weights = rng.normal(size=100).astype(np.float32), normalize(rng.normal(size=(9, 100)).astype(np.float32))
    alone = cosine_similarity(image[None], weights)
    found = cosine_similarity(np.tile(image, (images, 1)), weights)
    np.testing.assert_array_equal(found, np.repeat(alone, images, axis=0))


@given(st.integers(0, 2**32 - 1), st.integers(1, 200), st.integers(1, 500))
def test_cosines_are_those_of_whole_numbers_in_blocks_of_any_size(seed: int, width: int, cells: int) -> None:
    """No kernel, thread or block can round the products of whole numbers."""
    rng = np.random.default_rng(seed)
    features, weights = (normalize(rng.normal(size=(n, width)).astype(np.float32)) for n in (7, 11))
    steps = [np.rint(vectors.astype(np.float64) * 2**25).astype(np.int64) for vectors in (normalize(features), weights)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("eyechart.inference.requests.class_weights.CELLS", cells)
        found = cosine_similarity(features, weights)
    np.testing.assert_array_equal(found, ((steps[0] @ steps[1].T) / 2**50).astype(np.float32))


@given(st.integers(0, 2**32 - 1))
def test_a_kernel_that_adds_in_another_order_changes_nothing(seed: int) -> None:
    """Small whole numbers have the same lengths in every order of their sum, so that only the cosines could differ."""
    rng = np.random.default_rng(seed)
    features, weights = (rng.integers(-9, 10, size=(n, 60)).astype(np.float32) for n in (8, 20))
    order = rng.permutation(60)
    turned = cosine_similarity(features[:, order], normalize(weights)[:, order])
    np.testing.assert_array_equal(turned, cosine_similarity(features, normalize(weights)))


@given(st.integers(1, 300), st.integers(1, 9))
def test_a_length_does_not_depend_on_the_memory_layout(width: int, rows: int) -> None:
    vectors = np.random.default_rng(width).normal(size=(rows, width)).astype(np.float32)
    alone = np.concatenate([normalize(np.asfortranarray(vectors)[row : row + 1]) for row in range(rows)])
    np.testing.assert_array_equal(normalize(np.asfortranarray(vectors)), normalize(vectors))
    np.testing.assert_array_equal(alone, normalize(vectors))


def test_names_that_are_equal_are_one_vector_though_an_encoder_sees_its_place() -> None:
    """An encoder in batches gives a text other last bits at another place."""

    def encode_by_place(texts: Sequence[str]) -> Floats:
        return encode(texts) + np.arange(len(texts), dtype=np.float32)[:, None]

    weights = class_weights(encode_by_place, ["crane", "dog", "crane"], ["a {c}.", "the {c}.", "a {c}."])
    np.testing.assert_array_equal(weights[0], weights[2])


def test_nan_stays_nan() -> None:
    features = np.array([[np.nan, 1], [1, 0]], np.float32)
    assert np.isnan(cosine_similarity(features, np.eye(2, dtype=np.float32))).any(axis=1).tolist() == [True, False]


def test_other_dimensions_are_refused() -> None:
    with pytest.raises(ModelError, match="must be equally long"):
        cosine_similarity(np.ones((2, 3), np.float32), np.ones((2, 4), np.float32))


def test_an_encoder_that_drops_texts_is_refused() -> None:
    with pytest.raises(ModelError, match=r"shape \(1, 6\) for 2 texts"):
        class_weights(lambda texts: encode(texts[:-1]), ["a", "b"], ["{c}"])


@pytest.mark.parametrize(("names", "templates"), [([], ["{c}"]), (["cat"], [])])
def test_nothing_to_ask_is_refused(names: list[str], templates: list[str]) -> None:
    with pytest.raises(ValueError, match="needs class names and templates"):
        class_weights(encode, names, templates)

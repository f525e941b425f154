"""k nearest neighbours: what is asked for, and the whole way on real features."""

from typing import Any

import numpy as np
import pytest

from eyechart.classification.answers.class_predictions import ClassPredictions
from eyechart.classification.protocols.knn import KnnModel, knn_scores
from eyechart.data.images import decode_image
from eyechart.data.readers.imagenet_sample import open_sample
from eyechart.errors import DataError, SpecError
from eyechart.models.spec import parse_spec
from eyechart.models.types import Neighbours


def test_it_offers_neighbours() -> None:
    model = KnnModel(parse_spec("knn[timm[],k=5,weights=cosine,support=imagenet/train]"))
    assert isinstance(model, Neighbours)
    assert (model.k, model.weights, model.support_split) == (5, "cosine", ("imagenet", "train"))


def test_the_defaults_are_the_published_row() -> None:
    model = KnnModel(parse_spec("knn[]"))
    assert (model.k, model.weights, model.encoder.name) == (11, "uniform", "tf_efficientnet_lite0")


def test_the_identity_is_the_encoders_and_the_vote() -> None:
    one, other = KnnModel(parse_spec("knn[k=5]")).identity, KnnModel(parse_spec("knn[k=11]")).identity
    assert one.weights_sha256 == other.weights_sha256 == KnnModel(parse_spec("knn[]")).encoder.identity.weights_sha256
    assert one != other


@pytest.mark.deep
def test_near_pictures_find_their_class() -> None:
    model, split = KnnModel(parse_spec("knn[timm[],k=1]")), open_sample("sample-near")
    images = [decode_image(data, str(row)) for row, data in split.source.read(range(20))]
    labels = np.array([row.label for row in split.index[:20]], np.int64)
    seen = model.encoder.encode_images([model.encoder.prepare(image) for image in images])
    found = knn_scores(seen + 1e-4, seen, labels, 1000, model.k)
    assert found.argmax(axis=1).tolist() == labels.tolist()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("knn[weights=softmax]", "Expected uniform or cosine"),
        ("knn[k=0]", "whole number of at least 1"),
        ("knn[neighbors=3]", "does not know"),
    ],
)
def test_what_cannot_be_asked(text: str, sentence: str) -> None:
    with pytest.raises(SpecError, match=sentence):
        KnnModel(parse_spec(text))


@pytest.mark.parametrize(
    ("labels", "options", "kind"),
    [
        ([0, 5], {}, DataError),
        ([-1, 0], {}, DataError),
        ([0], {}, DataError),
        ([0, 1], {"k": 0}, ValueError),
        ([0, 1], {"weights": "other"}, ValueError),
    ],
)
def test_unusable_supports_are_refused(labels: list[int], options: Any, kind: type[Exception]) -> None:
    support = np.eye(2, dtype=np.float32)
    with pytest.raises(kind):
        knn_scores(support, support, np.array(labels, np.int64), 2, **options)


def test_probabilities_are_shares_of_the_votes_and_0_without_one() -> None:
    scores = np.array([[2, -np.inf, 1], [np.nan, np.nan, np.nan]], np.float32)
    logits = ClassPredictions(("a", "b"), scores, {1: "broken"}, {}, votes=True).logits
    assert logits is not None
    assert np.exp(logits[0] - np.logaddexp.reduce(logits[0])).tolist() == pytest.approx([2 / 3, 0, 1 / 3])
    assert np.isnan(logits[1]).all()

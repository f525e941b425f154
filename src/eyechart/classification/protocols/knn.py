"""k nearest neighbours in an encoder's space: `knn[ENCODER,k=11,support=imagenet/sample-near,weights=uniform]`.

The encoder is any image encoder, such as `knn[timm[vit_large_patch16_dinov3]]`; the support split has the labels. The
features of both splits are stored, so that another k needs no inference.
"""

from dataclasses import replace
from functools import cached_property
from typing import Annotated, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from eyechart.classification.answers.class_predictions import ClassPredictions, Targets, make_predictions
from eyechart.classification.metrics.binary_estimates import binary_scores
from eyechart.classification.metrics.class_estimates import (
    CORRECTNESS,
    label_agreement,
    mean_per_class_recall,
    proper_scores,
    top1,
    top5,
)
from eyechart.classification.protocols.helpers.nearest import SelectedRows, Vectors, find_nearest
from eyechart.classification.protocols.helpers.support_split import (
    EncoderWithSupport,
    check_same_classes,
    labelled_images,
    support_variant,
)
from eyechart.data.dataset.dataset import Dataset
from eyechart.errors import DataError
from eyechart.inference.requests.row_requests import Encode
from eyechart.inference.runner.runner import Runner
from eyechart.models.options import Count, ModelOptions, described
from eyechart.models.spec import ModelSpec
from eyechart.models.types import Floats, Identity, Neighbours
from eyechart.protocol.base import Example, Protocol
from eyechart.protocol.context import Context

Weights = Literal["uniform", "cosine"]
_CELLS = 2**22  # votes that are counted at a time


class _KnnOptions(ModelOptions):
    """The options of `knn[…]`."""

    encoder: Annotated[str, described("image encoder, also as the first argument", type="model")] = "timm[]"
    k: Annotated[Count, described("number of neighbours that vote")] = 11
    support: Annotated[str, described("split with the labelled images, as benchmark/split", type="benchmark/split")] = (
        "imagenet/sample-near"
    )
    weights: Annotated[Weights, described("uniform counts the votes, cosine adds up their similarities")] = "uniform"


class KnnModel(EncoderWithSupport, Neighbours):
    """An image encoder with a support split, whose labelled images vote."""

    declared_options = _KnnOptions

    def __init__(self, spec: ModelSpec, *, device: str = "cpu", offline: bool = False) -> None:
        options = _KnnOptions.read(spec)
        super().__init__(spec, options.encoder, options.support, device=device, offline=offline)
        self.k = options.k
        self.weights = options.weights
        self.device = device

    @cached_property
    def identity(self) -> Identity:
        """The identity of the encoder, with the settings of the vote."""
        vote = {"k": self.k, "weights": self.weights, "support": "/".join(self.support_split)}
        return self.identify("knn", f"k={self.k}", vote=vote)


class KNearestNeighbours(Protocol[ClassPredictions]):
    """The k nearest images of a labelled split vote for the class of an image."""

    name = "knn"
    example = Example("imagenet/sample-near/near", ("acc1 all",))
    summary = "The class of the nearest training images in the model's features."
    order = 7
    task_type = "knn_classification"
    score_name = "votes"
    requires = ("neighbours",)
    benchmarks = ("imagenet", "*")
    metrics = (top1, top5, mean_per_class_recall, label_agreement, proper_scores, binary_scores)
    steps = CORRECTNESS

    def unavailable(self, context: Context) -> str:
        """Return that a split cannot be its own support, "" if it is another split."""
        model = context.neighbours
        split = (context.dataset.benchmark, context.dataset.split)
        same = split == model.support_split
        return f"{'/'.join(split)} is the support split: every image would vote for itself" if same else ""

    def predict(self, context: Context) -> ClassPredictions:
        """Return the votes of the support split."""
        model = context.neighbours
        support = context.open_whole_split(*model.support_split)
        return replace(
            knn_predictions(context.runner, model, context.dataset, support), targets=Targets.from_context(context)
        )


def knn_predictions(runner: Runner, model: Neighbours, dataset: Dataset, support: Dataset) -> ClassPredictions:
    """Return votes of the nearest images of a support split. Raises DataError for one with other classes."""
    check_same_classes(support, dataset)
    support_features, features = (runner.run(Encode(), model.encoder, split) for split in (support, dataset))
    usable, labels = labelled_images(support, support_features.errors)
    scores = np.full((len(dataset), dataset.classes), np.nan, np.float32)
    rows = [row for row in range(len(dataset)) if row not in features.errors]
    if rows:
        queries = SelectedRows(features.values, np.array(rows, np.int64))
        voters = SelectedRows(support_features.values, usable)
        scores[rows] = knn_scores(queries, voters, labels, dataset.classes, model.k, model.weights, model.device)
    variant = {"k": str(model.k), "support": f"{support.benchmark}/{support.split}", "weights": model.weights}
    predictions = make_predictions(dataset, scores, features, variant | support_variant(support, usable))
    return replace(predictions, votes=True)


def knn_scores(
    queries: Vectors,
    support: Vectors,
    labels: NDArray[np.int64],
    classes: int,
    k: int = 11,
    weights: str = "uniform",
    device: str = "cpu",
) -> Floats:
    """Return each class's votes among the k nearest supports by cosine, of shape (n, classes).

    `queries` has shape (n, d), `support` (m, d) and `labels` (m,), classes from 0. `uniform` counts votes; ties
    are decided by the similarity of the voters (less than one vote in total), then by the class index. `cosine` adds
    similarities instead. A class without a vote has -inf. Of equally near supports the first ones vote; with m < k all
    vote. `device` is torch's name of the device that finds them; it changes no score.

    Raises DataError for labels outside 0..classes-1, a support of another length, an empty support; ValueError for
    k < 1 or unknown weights.

    Source: k = 11 by cosine is the k-NN row for DINOv3 in arXiv 2603.06578; weighting by similarity follows Wu et al.
    2018, "Unsupervised Feature Learning via Non-Parametric Instance Discrimination", section 3.4, without temperature.

    >>> support = np.array([[1, 0], [0.9, 0.1], [0, 1]], np.float32)
    >>> votes = knn_scores(np.array([[1, 0]], np.float32), support, np.array([2, 0, 1]), classes=3, k=3)
    >>> votes.round().tolist(), votes.argmax()
    ([[1.0, 1.0, 1.0]], np.int64(2))
    """
    _check(support, labels, classes, k, weights)
    nearest = find_nearest(queries, support, min(k, len(labels)), device)
    scores, rows = np.zeros((len(queries), classes), np.float32), max(1, _CELLS // classes)
    for start in range(0, len(queries), rows):
        some = slice(start, start + rows)
        scores[some] = _votes(nearest.cosines[some], labels[nearest.indices[some]], classes, weights)
    return scores


def _check(support: Vectors, labels: NDArray[np.int64], classes: int, k: int, weights: str) -> None:
    if k < 1 or weights not in get_args(Weights):
        raise ValueError(f"k-NN needs k of at least 1 and weights uniform or cosine; got k={k}, weights={weights}.")
    if not len(support) or len(support) != len(labels):
        raise DataError(
            f"The support split gives {len(support)} features and {len(labels)} labels; use labelled images."
        )
    if labels.min() < 0 or labels.max() >= classes:
        raise DataError(f"The support split has labels {labels.min()} to {labels.max()}, expected 0 to {classes - 1}.")


def _votes(cosines: NDArray[np.float64], labels: NDArray[np.int64], classes: int, weights: str) -> Floats:
    n, k = cosines.shape
    steps = 2.0 ** (51 - k.bit_length())  # in 1: sums of k cosines in whole steps are exact in any order of the voters
    counts, sums = np.zeros((n, classes)), np.zeros((n, classes))
    at = (np.arange(n)[:, None], labels)
    np.add.at(counts, at, 1)
    np.add.at(sums, at, np.rint(cosines * steps))
    similarity = sums / steps
    # the second term decides ties only: cosines lie in -1..1, so k of these add up to less than half a vote
    votes = similarity if weights == "cosine" else counts + (similarity + counts) / (4 * k + 2)
    return np.where(counts > 0, votes, -np.inf).astype(np.float32)

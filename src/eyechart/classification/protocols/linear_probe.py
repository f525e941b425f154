"""A linear probe of an encoder: `linear_probe[ENCODER,support=imagenet/sample-near]`.

Logistic regression on the features of a labelled split, with the strength of its penalty chosen by the sweep of CLIP
(Radford et al. 2021, arXiv 2103.00020, appendix A.3). The features are stored, so that another fit needs no inference.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from eyechart.classification.answers.class_predictions import ClassPredictions, Targets, make_predictions
from eyechart.classification.metrics.binary_estimates import binary_scores
from eyechart.classification.metrics.class_estimates import (
    CORRECTNESS,
    confidence,
    label_agreement,
    mean_per_class_recall,
    proper_scores,
    top1,
    top5,
)
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
from eyechart.messages.plurals import count_of
from eyechart.models.options import Fraction, ModelOptions, Positive, described
from eyechart.models.spec import ModelSpec
from eyechart.models.types import Floats, Identity, Probe
from eyechart.protocol.base import Protocol
from eyechart.protocol.context import Context
from eyechart.statistics.least_probability import LEAST

_PER_DECADE = 8  # steps of the exponent of C
_FIRST = range(-6 * _PER_DECADE, 6 * _PER_DECADE + 1, 2 * _PER_DECADE)  # 1e-6, 1e-4, … 1e6
_ITERATIONS = 1000
Ints = NDArray[np.int64]


class _ProbeOptions(ModelOptions):
    """The options of `linear_probe[…]`."""

    encoder: Annotated[str, described("image encoder, also as the first argument", type="model")] = "timm[]"
    support: Annotated[
        str, described("split with the labelled images of the fit, as benchmark/split", type="benchmark/split")
    ] = "imagenet/sample-near"
    validation: Annotated[Fraction, described("share of each class's images that choose C")] = 0.2
    C: Annotated[Positive | None, described("inverse strength of the penalty", "chosen by the sweep")] = None


class LinearProbe(EncoderWithSupport, Probe):
    """An image encoder with a support split, on whose features a linear classifier is fitted."""

    declared_options = _ProbeOptions

    def __init__(self, spec: ModelSpec, *, device: str = "cpu", offline: bool = False) -> None:
        options = _ProbeOptions.read(spec)
        super().__init__(spec, options.encoder, options.support, device=device, offline=offline)
        self.validation, self.c = options.validation, options.C

    @cached_property
    def identity(self) -> Identity:
        """The identity of the encoder, with the settings of the fit."""
        fit = {"support": "/".join(self.support_split), "validation": self.validation, "C": self.c}
        return self.identify("linear_probe", "probe", fit=fit)


class LinearProbing(Protocol[ClassPredictions]):
    """A logistic regression on the features of a labelled split classifies an image."""

    name = "linear_probe"
    summary = "Logistic regression on the model's features of labelled images."
    order = 7
    task_type = "linear_probe_classification"
    score_name = "logit"
    source = "arXiv 2103.00020, appendix A.3"
    requires = ("probe",)
    benchmarks = ("imagenet", "toybox", "*")
    metrics = (top1, top5, mean_per_class_recall, confidence, label_agreement, proper_scores, binary_scores)
    steps = CORRECTNESS

    def unavailable(self, context: Context) -> str:
        """Return that a split cannot be its own support, "" if it is another split."""
        split = (context.dataset.benchmark, context.dataset.split)
        same = split == context.probe.support_split
        return f"{'/'.join(split)} is the support split: the fit would be tested on its own images" if same else ""

    def predict(self, context: Context) -> ClassPredictions:
        """Fit the classifier on the support split, and classify every image."""
        model = context.probe
        support = context.open_whole_split(*model.support_split)
        predictions = probe_predictions(context.runner, model, context.dataset, support)
        return replace(predictions, targets=Targets.from_context(context))


def probe_predictions(runner: Runner, model: Probe, dataset: Dataset, support: Dataset) -> ClassPredictions:
    """Return the logits of a classifier that is fitted on the features of a support split.

    Raises DataError for a support split without two classes, or with classes that the data set does not have.
    """
    check_same_classes(support, dataset)
    support_features, features = (runner.run(Encode(), model.encoder, split) for split in (support, dataset))
    usable, labels = labelled_images(support, support_features.errors)
    _check_labels(labels, support)
    scores = np.full((len(dataset), dataset.classes), np.nan, np.float32)
    rows = np.array([row for row in range(len(dataset)) if row not in features.errors], np.int64)
    variant = {
        "support": f"{support.benchmark}/{support.split}",
        **support_variant(support, usable),
        "classes_n": str(len(np.unique(labels))),
    }
    notes: tuple[str, ...] = ()
    if rows.size:
        fitted = fit_probe(support_features.values[usable], labels, model.c, model.validation, runner.seed)
        scores[rows] = -np.inf
        scores[np.ix_(rows, fitted.classes)] = fitted.logits(features.values[rows])
        variant |= {"C": f"{fitted.c:.6g}", "C_from": fitted.source, "seed": str(runner.seed)}
        if not fitted.converged:
            notes = (f"The fit of the linear probe did not converge in {_ITERATIONS:,} iterations.",)
    predictions = make_predictions(dataset, scores, features, variant)
    return replace(predictions, calibrated=True, batch_notes=(*predictions.batch_notes, *notes))


def _check_labels(labels: Ints, support: Dataset) -> None:
    name, found = f"{support.benchmark}/{support.split}", np.unique(labels)
    if len(found) < 2:
        raise DataError(
            f"The support split {name} has labelled images of {count_of(len(found), 'class', 'classes')}. A linear "
            "probe needs two or more: use another split as support=benchmark/split."
        )


@dataclass(frozen=True)
class _FittedProbe:
    """A logistic regression; `source` says how C was chosen, and `classes` are the support's."""

    model: Any
    c: float
    source: str
    converged: bool

    @property
    def classes(self) -> Ints:
        """The classes that it can answer."""
        return np.asarray(self.model.classes_, np.int64)

    def logits(self, features: Floats) -> Floats:
        """Return the logits (n, classes), whose softmax are the probabilities."""
        decision = self.model.decision_function(features)
        columns = decision if decision.ndim == 2 else np.stack([np.zeros_like(decision), decision], axis=1)
        return np.asarray(columns, np.float32)


def fit_probe(
    features: Floats, labels: Ints, c: float | None = None, validation: float = 0.2, seed: int = 0
) -> _FittedProbe:
    """Fit scikit-learn's logistic regression on features (n, d) with labels (n,).

    Without C (`c`, the inverse strength of the penalty) it is chosen by the accuracy on a random share `validation` of
    each class, drawn by the seed, of fits on the other images. The sweep is CLIP's: from C = 1e-6, 1e-4, … 1e6 on, the
    interval around the best C is halved until there are 8 steps per decade; of equally accurate fits the one with
    the better log score. The final fit has all images.

    Raises DataError where no class has two images, of which one could choose C.
    """
    if c is not None:
        model, converged = _fit(features, labels, c)
        return _FittedProbe(model, c, "given", converged)
    held = _draw_validation(labels, validation, seed)
    if not held.any():
        raise DataError(
            "No class of the support split has two images, so that none can choose C. Write C=1, or another number, "
            "in the specification of the linear probe."
        )

    def quality(step: int) -> tuple[float, float]:
        model, _ = _fit(features[~held], labels[~held], 10 ** (step / _PER_DECADE))
        right = model.predict(features[held]) == labels[held]
        columns = np.searchsorted(model.classes_, labels[held])
        likely = model.predict_proba(features[held])[np.arange(len(columns)), columns]
        return float(right.mean()), float(np.log(np.maximum(likely, LEAST)).mean())

    best = float(10 ** (_sweep(quality) / _PER_DECADE))
    model, converged = _fit(features, labels, best)
    return _FittedProbe(model, best, f"sweep over {int(held.sum())} of {count_of(len(labels), 'image')}", converged)


def _sweep(quality: Callable[[int], tuple[float, float]]) -> int:
    """Return the step of the exponent with the best quality, by halving the interval around the best one.

    >>> _sweep(lambda step: (-abs(step - 13), 0))
    13
    """
    known = {step: quality(step) for step in _FIRST}
    width = _FIRST.step
    while width > 1:
        width //= 2
        best = max(known, key=lambda step: known[step])
        for step in (best - width, best + width):
            if _FIRST[0] <= step <= _FIRST[-1] and step not in known:
                known[step] = quality(step)
    return max(known, key=lambda step: known[step])


def _draw_validation(labels: Ints, share: float, seed: int) -> NDArray[np.bool_]:
    """Return the mask of the images that choose C: a share of each class, at least one of two and never all."""
    random, held = np.random.default_rng(seed), np.zeros(len(labels), bool)
    for label in np.unique(labels):
        rows = random.permutation(np.flatnonzero(labels == label))
        held[rows[: min(len(rows) - 1, max(1, round(share * len(rows))))]] = True
    return held


def _fit(features: Floats, labels: Ints, c: float) -> tuple[Any, bool]:
    """Return the fitted model, and whether it converged."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = LogisticRegression(C=c, max_iter=_ITERATIONS).fit(features, labels)
    return model, bool((model.n_iter_ < _ITERATIONS).all())

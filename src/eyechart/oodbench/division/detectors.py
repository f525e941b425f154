"""Logits of detectors for every image and category, from encoders, classifiers and image–text matchers."""

from hashlib import sha256

import numpy as np

from eyechart.data.dataset.dataset import Dataset
from eyechart.data.labels.class_names import load_templates
from eyechart.errors import ModelError, SpecError
from eyechart.inference.requests.class_weights import ClassPrompts, cosine_similarity, fill_templates
from eyechart.inference.requests.image_bytes import image_name
from eyechart.inference.requests.row_requests import Classify, ClassWeights, Encode, LogitScale, Match
from eyechart.inference.runner.runner import Runner
from eyechart.inference.store.arrays import CachedArray, all_failed
from eyechart.models.types import Classifier, Encoder, Floats, Matcher, Model
from eyechart.oodbench.division.division_options import NO_DETECTOR
from eyechart.oodbench.division.pairs import Detector, DetectorOutput


def run_detector(runner: Runner, model: Model, spec: str, dataset: Dataset, templates_by: str) -> DetectorOutput:
    """Return a detector's logits for every image and category of the data set."""
    chosen = load_templates(templates_by)
    wording = ClassPrompts(dataset.names, chosen.formats, "split", f"{chosen.name} ({chosen.sha256[:8]})")
    if isinstance(model, Matcher):
        kept, logits = _matcher_logits(runner, model, dataset, wording)
    elif isinstance(model, Encoder):
        kept, logits = _encoder_logits(runner, model, dataset, wording)
    elif isinstance(model, Classifier):
        kept = runner.run(Classify(), model, dataset, lambda width: check_class_count(width, dataset, spec))
        logits = kept.values
    else:
        raise SpecError(f"{spec} {NO_DETECTOR}")
    if all_failed(kept):
        logits = np.full((len(dataset), dataset.classes), np.nan, np.float32)
    check_class_count(logits.shape[1], dataset, spec)
    digest = sha256(np.ascontiguousarray(logits, "<f4").tobytes()).hexdigest()
    errors = {**_nonfinite_errors(logits, dataset, spec), **kept.errors}
    return DetectorOutput(Detector(spec, wording.templates_name, digest), logits, errors)


def _nonfinite_errors(logits: Floats, dataset: Dataset, spec: str) -> dict[int, str]:
    """Return an error message for every image with NaN or infinity among its logits."""
    odd = ~np.isfinite(logits)
    return {
        row: f"{image_name(dataset, row)}: {spec} gave NaN or infinity for {odd[row].sum():,} of {dataset.classes:,} "
        f"categories, the first '{dataset.names[odd[row].argmax()]}'. Check the weights, and use float32."
        for row in np.flatnonzero(odd.any(axis=1)).tolist()
    }


def check_class_count(width: int, dataset: Dataset, spec: str) -> None:
    """Raise ModelError if the number of logits is not the number of categories."""
    if width != dataset.classes:
        raise ModelError(
            f"The detector {spec} has {width:,} classes, but {dataset.benchmark}/{dataset.split} "
            f"has {dataset.classes:,} categories. Use an encoder, a matcher, or a classifier of these categories."
        )


def _encoder_logits(
    runner: Runner, model: Encoder, dataset: Dataset, wording: ClassPrompts
) -> tuple[CachedArray, Floats]:
    """Return an encoder's features and logits: cosine similarities times the model's logit scale."""
    cached = runner.run(Encode(), model, dataset)
    weights = runner.run(ClassWeights(wording.names, wording.templates), model)
    if all_failed(cached):
        return cached, cached.values
    return cached, cosine_similarity(cached.values, weights) * runner.run(LogitScale(), model)[0, 0]


def _matcher_logits(
    runner: Runner, model: Matcher, dataset: Dataset, wording: ClassPrompts
) -> tuple[CachedArray, Floats]:
    """Return a matcher's scores and logits: the mean of the matching head's logits over each category's prompts."""
    texts = fill_templates(wording.names, wording.templates)
    kept = runner.run(Match(tuple(texts)), model, dataset)
    if all_failed(kept):
        return kept, kept.values
    by_name = kept.values.reshape(len(dataset), len(wording.names), len(wording.templates))
    return kept, by_name.mean(axis=2).astype(np.float32)

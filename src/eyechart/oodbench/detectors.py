"""Logits of detectors for every image and category, from encoders, classifiers and image–text matchers."""

from collections.abc import Sequence
from hashlib import sha256
from typing import Any

import numpy as np

from eyechart.data.class_names import load_templates
from eyechart.data.dataset import Dataset
from eyechart.errors import ModelError, SpecError
from eyechart.inference.arrays import CachedArray, all_failed
from eyechart.inference.class_weights import ClassPrompts, cosine_similarity, fill_templates
from eyechart.inference.image_runner import image_name
from eyechart.inference.runner import Runner
from eyechart.models.types import Classifier, Encoder, Floats, Matcher, Model
from eyechart.oodbench.division import Detector, DetectorOutput


def run_detector(runner: Runner, model: Model, spec: str, dataset: Dataset, templates_by: str) -> DetectorOutput:
    """Return a detector's logits for every image and category of the data set."""
    chosen = load_templates(templates_by)
    wording = ClassPrompts(dataset.names, chosen.formats, "split", f"{chosen.name} ({chosen.sha256[:8]})")
    if isinstance(model, Matcher):
        kept, logits = matcher_logits(runner, model, dataset, wording)
    elif isinstance(model, Encoder):
        kept, logits = encoder_logits(runner, model, dataset, wording)
    elif isinstance(model, Classifier):

        def classify(images: Sequence[Any]) -> Floats:
            logits = np.asarray(model.classify(images))
            check_class_count(logits, dataset, spec)  # with the first batch, not after the last image
            return logits

        kept = runner.kept("class_logits", model, dataset, classify)
        logits = kept.values
    else:
        raise SpecError(f"{spec} is not a detector. Expected an encoder, a matcher, or a classifier of the categories.")
    if all_failed(kept):
        logits = np.full((len(dataset), dataset.classes), np.nan, np.float32)
    check_class_count(logits, dataset, spec)
    digest = sha256(np.ascontiguousarray(logits, "<f4").tobytes()).hexdigest()
    errors = {**nonfinite_errors(logits, dataset, spec), **kept.errors}
    return DetectorOutput(Detector(spec, wording.templates_name, digest), logits, errors)


def nonfinite_errors(logits: Floats, dataset: Dataset, spec: str) -> dict[int, str]:
    """Return an error message for every image with NaN or infinity among its logits."""
    odd = ~np.isfinite(logits)
    return {
        row: f"{image_name(dataset, row)}: {spec} gave NaN or infinity for {odd[row].sum():,} of {dataset.classes:,} "
        f"categories, the first '{dataset.names[odd[row].argmax()]}'. Try dtype=float32."
        for row in np.flatnonzero(odd.any(axis=1)).tolist()
    }


def check_class_count(logits: Floats, dataset: Dataset, spec: str) -> None:
    """Raise ModelError if the number of logits is not the number of categories."""
    if logits.shape[1] != dataset.classes:
        raise ModelError(
            f"The detector {spec} has {logits.shape[1]:,} classes, but {dataset.benchmark}/{dataset.split} "
            f"has {dataset.classes:,} categories. Use an encoder, a matcher, or a classifier of these categories."
        )


def encoder_logits(
    runner: Runner, model: Encoder, dataset: Dataset, wording: ClassPrompts
) -> tuple[CachedArray, Floats]:
    """Return an encoder's features and logits: cosine similarities times the model's logit scale."""
    cached, weights = runner.features(model, dataset), runner.weights(model, wording)
    logits = cached.values if all_failed(cached) else cosine_similarity(cached.values, weights) * runner.scale(model)
    return cached, logits


def matcher_logits(
    runner: Runner, model: Matcher, dataset: Dataset, wording: ClassPrompts
) -> tuple[CachedArray, Floats]:
    """Return a matcher's scores and logits: the mean of the matching head's logits over each category's prompts."""
    texts = fill_templates(wording.names, wording.templates)
    texts_sha256 = sha256("\n".join(texts).encode()).hexdigest()

    def ask(images: Sequence[Any]) -> Floats:
        return model.match(images, texts)

    kept = runner.kept("match", model, dataset, ask, texts_sha256)
    if all_failed(kept):
        return kept, kept.values
    by_name = kept.values.reshape(len(dataset), len(wording.names), len(wording.templates))
    return kept, by_name.mean(axis=2).astype(np.float32)

"""Zero-shot classification: the class whose prompts are most similar to the image in the space of an encoder.

Radford et al. 2021, "Learning Transferable Visual Models From Natural Language Supervision", section 3.1.2.
"""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from eyechart.classification.answers.class_predictions import ClassPredictions, Targets, make_predictions
from eyechart.classification.metrics.binary_estimates import binary_scores
from eyechart.classification.metrics.class_estimates import (
    CORRECTNESS,
    label_agreement,
    mean_average_precision,
    mean_per_class_recall,
    proper_scores,
    top1,
    top5,
)
from eyechart.data.dataset.dataset import Dataset
from eyechart.data.labels.class_names import data_templates, load_templates
from eyechart.inference.requests.class_weights import ClassPrompts, check_weights, cosine_similarity
from eyechart.inference.requests.row_requests import ClassWeights, Encode, LogitScale
from eyechart.inference.runner.runner import Runner
from eyechart.inference.store.arrays import all_failed
from eyechart.models.spec import ModelSpec
from eyechart.models.types import Encoder
from eyechart.protocol.base import Example, Protocol
from eyechart.protocol.context import Context
from eyechart.results.records import WHOLE, Metric, Reported


class ZeroShot(Protocol[ClassPredictions]):
    """The predicted class is the one whose prompt embedding is most similar to the image embedding."""

    name = "zero_shot"
    example = Example("toybox/sample-cutouts/open_clip[toybox-clip]", ("acc1 all",))
    summary = "The class whose text, in a prompt such as “a photo of a …”, is nearest to the image."
    order = 6
    task_type = "zero_shot_classification"
    shots = "0"
    score_name = "cosine"
    source = "arXiv 2103.00020"
    requires = ("encoder",)
    benchmarks = ("imagenet", "toybox", "*")
    metrics = (top1, top5, mean_per_class_recall, mean_average_precision, label_agreement, proper_scores, binary_scores)
    steps = CORRECTNESS

    def predict(self, context: Context) -> ClassPredictions:
        """Predict the class of every image by cosine similarity."""
        model = context.encoder
        own = None if context.templates else data_templates(context.dataset)
        chosen = own or load_templates(context.templates or model.templates)
        source = f"{chosen.name} ({chosen.sha256[:8]})"
        wording = ClassPrompts(context.names, chosen.formats, context.names_source, source)
        predictions = zero_shot(context.runner, model, context.dataset, wording)
        return replace(predictions, targets=Targets.from_context(context))

    def reported(self, split: str, model: ModelSpec, numbers: Sequence[Metric]) -> Reported | None:
        """Return the published accuracy of the model, None if there is none."""
        return _published_result(split, model, numbers)


def zero_shot(runner: Runner, model: Encoder, dataset: Dataset, wording: ClassPrompts) -> ClassPredictions:
    """Return the cosine similarity of every image with every class."""
    features = runner.run(Encode(), model, dataset)
    weights = runner.run(ClassWeights(wording.names, wording.templates), model)
    check_weights(model, weights)
    scores = features.values if all_failed(features) else cosine_similarity(features.values, weights)
    variant = {"names": wording.names_source, "templates": wording.templates_name}
    scale = float(runner.run(LogitScale(), model)[0, 0])
    return replace(make_predictions(dataset, scores, features, variant), scale=scale)


@cache
def _published_top1() -> Mapping[tuple[str, str, str], tuple[float, str]]:
    """Return the published top-1 accuracy and its source by (split, model, pretrained tag)."""
    with (Path(__file__).with_name("published.csv")).open(encoding="utf-8", newline="") as file:
        return {
            (row["split"], row["model"], row["pretrained"]): (float(row["top1"]), row["source"])
            for row in csv.DictReader(file)
        }


def _published_result(split: str, model: ModelSpec, metrics: Sequence[Metric]) -> Reported | None:
    """Return the published value for this model and split with our difference from it; None if there is none."""
    if model.backend != "open_clip" or not model.arguments:
        return None
    tag = model.options.get("pretrained", "")
    published = next(
        (row for name in spellings(model.arguments[0], tag) if (row := _published_top1().get((split, name, tag)))), None
    )
    if published is None:
        return None
    value, source = published
    ours = next((metric.value for metric in metrics if metric.name == "acc1" and metric.subset_text == WHOLE), None)
    return Reported(value=value, source=source, delta=None if ours is None else ours - value)


def spellings(name: str, tag: str) -> tuple[str, ...]:
    """Return the names of a model: OpenAI's weights always use quick GELU, with or without it in the name.

    >>> spellings("ViT-B-32", "openai")
    ('ViT-B-32', 'ViT-B-32-quickgelu')
    """
    plain = name.removesuffix("-quickgelu")
    return (plain, f"{plain}-quickgelu") if tag == "openai" else (name,)

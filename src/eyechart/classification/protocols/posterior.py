"""The exact posterior of a language model over class names, and the name with the highest probability."""

import json

import numpy as np

from eyechart.classification.answers.class_predictions import ClassPredictions, Targets
from eyechart.classification.answers.image_batches import (
    AnswerCollector,
    closed_world_prompt,
    format_class_list,
    request_parts,
)
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
from eyechart.classification.protocols.helpers.lists_classes import ListsClasses
from eyechart.errors import ModelError, SpecError
from eyechart.inference.requests.row_requests import ScoreChoices
from eyechart.inference.store.arrays import CachedArray
from eyechart.models.registry import SCORERS, scoring_obstacle
from eyechart.models.types import Scorer, Usage
from eyechart.protocol.base import Example
from eyechart.protocol.context import Context, missing_scores_reason
from eyechart.protocol.options import PROMPT
from eyechart.protocol.prompts import Prompt


class Posterior(ListsClasses[ClassPredictions]):
    """The log-probability of every class name as the complete answer to the prompt of the closed world."""

    name = "posterior"
    example = Example("toybox/sample-cutouts/hf[toybox-mllm]", ("acc1 all", "ece all"))
    summary = "The probability of every class name as the complete answer to the prompt of the closed world."
    score_name = "log p"
    requires = ("scorer",)
    options = (PROMPT,)
    benchmarks = ("imagenet", "toybox", "*")
    metrics = (top1, top5, mean_per_class_recall, confidence, label_agreement, proper_scores, binary_scores)
    steps = CORRECTNESS

    def unavailable(self, context: Context) -> str:
        """Return why the model has no log-probabilities, "" if it has them."""
        return missing_scores_reason(context)

    def predict(self, context: Context) -> ClassPredictions:
        """Score every class name, given the image and the prompt."""
        prompt = context.select_prompt(closed_world_prompt())
        cached = score_names(context, prompt)
        scores = np.full((len(context.dataset), context.dataset.classes), -np.inf, np.float32)
        scores[:, list(context.candidate_classes)] = cached.values if cached.values.shape[1] else np.nan
        scores[list(cached.errors)] = np.nan
        return ClassPredictions(
            keys=context.dataset.keys,
            scores=scores,
            errors=cached.errors,
            variant=context.variant(prompt, "none"),
            batch_notes=cached.notes,
            targets=Targets.from_context(context),
            calibrated=True,
        )


def predict_constrained(context: Context) -> ClassPredictions:
    """Return predictions of the closed world with the most probable name as answer; none is out of the prompt."""
    if context.images_per_request > 1:
        raise SpecError(
            f"{context.flag('answer')} needs one image per request, not {context.images_per_request}. "
            f"Use {context.flag('images_per_request', '1')}."
        )
    if context.options.get("epochs", "1") != "1":
        raise SpecError(
            f"{context.flag('answer')} computes the same answers in every epoch. Use {context.flag('epochs', '1')}."
        )
    prompt = context.select_prompt(closed_world_prompt())
    cached, collector = score_names(context, prompt, best=True), AnswerCollector(len(context.dataset))
    collector.errors.update(cached.errors)
    log_probabilities = np.full(collector.size, np.nan)
    for row in range(collector.size):
        collector.set_position(row, row, 0)
        if row not in cached.errors:
            index, log_probabilities[row] = int(cached.values[row, 0]), cached.values[row, 1]
            collector.completions[row], collector.classes[row] = (
                context.candidate_names[index],
                context.candidate_classes[index],
            )
    collector.strict_classes = collector.classes
    return collector.to_predictions(
        context,
        Usage(),
        context.variant(prompt, "none"),
        ("",) * collector.size,
        log_probabilities=log_probabilities,
    )


def score_names(context: Context, prompt: Prompt, *, best: bool = False) -> CachedArray:
    """Return for each image the log-probabilities of all names, or the index of the best name and its own."""
    model = context.model
    if not isinstance(model, Scorer):
        raise ModelError(
            scoring_obstacle(model.made_from)
            if model.made_from
            else f"{model.identity.name} has no log-probabilities of given answers. {SCORERS}"
        )
    text = prompt.fill(class_list=format_class_list(context.candidate_names))
    choices = tuple(_format_answer(prompt, name) for name in context.candidate_names)
    parts = tuple(request_parts(text, [0], context.options.get("prompt_order", "image-first")))
    return context.runner.run(ScoreChoices(None, parts, choices, best=best), model, context.dataset)


def _format_answer(prompt: Prompt, name: str) -> str:
    """Return a name as the complete answer in the format of the prompt."""
    return json.dumps({"1": name}, ensure_ascii=False) if prompt.format == "json" else name

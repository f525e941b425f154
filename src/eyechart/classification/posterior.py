"""The exact posterior over class names of a language model, and the likeliest name of all."""

import json
from collections.abc import Sequence

import numpy as np

from eyechart.classification.image_batches import closed_world_prompt, format_class_list, request_parts, wants_json
from eyechart.classification.predictions import ClassPredictions, Targets
from eyechart.classification.text_answers import AnswerCollector
from eyechart.errors import ModelError, SpecError
from eyechart.inference.arrays import CachedArray
from eyechart.models.types import Floats, Request, Scorer, Usage
from eyechart.protocol.base import Protocol
from eyechart.protocol.context import Context, missing_scores_reason, score_each_image
from eyechart.protocol.options import PROMPT
from eyechart.protocol.prompts import Prompt


class Posterior(Protocol[ClassPredictions]):
    """The log-probability of every class name as the whole answer to the closed world's question."""

    name = "posterior"
    requires = ("scorer",)
    options = (PROMPT,)

    def unavailable(self, context: Context) -> str:
        """Return why the model has no log-probabilities."""
        return missing_scores_reason(context)

    def predict(self, context: Context) -> ClassPredictions:
        """Score every class name, given the image and the prompt."""
        asked = context.select_prompt(closed_world_prompt())
        found = score_names(context, asked, "posterior")
        scores = np.full((len(context.dataset), context.dataset.classes), -np.inf, np.float32)
        scores[:, list(context.candidate_classes)] = found.values if found.values.shape[1] else np.nan
        scores[list(found.errors)] = np.nan
        return ClassPredictions(
            keys=context.dataset.keys,
            scores=scores,
            errors=found.errors,
            variant=context.variant(asked, "none"),
            batch_notes=found.notes,
            targets=Targets.from_context(context),
            calibrated=True,
        )


def predict_constrained(context: Context) -> ClassPredictions:
    """Return predictions of the closed world whose answer is the likeliest name: nothing is out of the prompt."""
    if context.images_per_request > 1:
        raise SpecError(
            f"{context.flag('answer')} asks about one image at a time, not {context.images_per_request}. "
            f"Use {context.flag('images_per_request', '1')}."
        )
    if context.options.get("epochs", "1") != "1":
        raise SpecError(
            f"{context.flag('answer')} computes its answers, the same ones every time. "
            f"Use {context.flag('epochs', '1')}."
        )
    asked = context.select_prompt(closed_world_prompt())
    found, notes = score_names(context, asked, "constrained"), AnswerCollector(len(context.dataset))
    notes.errors.update(found.errors)
    for row in range(notes.size):
        notes.set_position(row, row, 0)
        if row not in found.errors:
            place = int(found.values[row, 0])
            notes.completions[row], notes.classes[row] = (
                context.candidate_names[place],
                context.candidate_classes[place],
            )
    notes.strict_classes = notes.classes
    return notes.to_predictions(context, Usage(), context.variant(asked, "none"), ("",) * notes.size)


def score_names(context: Context, asked: Prompt, question: str) -> CachedArray:
    """Numbers by image: all log-probabilities for `posterior`, the best place and its own for `constrained`."""
    model = context.model
    if not isinstance(model, Scorer):
        raise ModelError(
            f"{model.identity.name} does not tell how likely it would have said something. Use hf[…] or vllm[…]."
        )
    text = asked.fill(class_list=format_class_list(context.candidate_names))
    choices = [format_answer(asked, name) for name in context.candidate_names]
    asked_in = tuple(request_parts(text, [0], context.options.get("prompt_order", "image-first")))

    def best(requests: Sequence[Request]) -> Floats:
        return np.stack(model.best(requests, choices), axis=1).astype(np.float32)

    def score(requests: Sequence[Request]) -> Floats:
        return np.asarray(model.score(requests, choices))

    return score_each_image(context, question, asked_in, choices, score if question == "posterior" else best)


def format_answer(asked: Prompt, name: str) -> str:
    """A name as the whole answer that the prompt asks for."""
    return json.dumps({"1": name}, ensure_ascii=False) if wants_json(asked) else name

"""The exact posterior over class names of a language model, and the likeliest name of all."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from eyechart.classification.image_batches import class_list, closed_world_prompt, parts, wants_json
from eyechart.classification.scoring import Predictions
from eyechart.classification.text_answers import Notes
from eyechart.errors import ModelError, SpecError
from eyechart.inference.arrays import Answers
from eyechart.models.types import Floats, Request, Usage
from eyechart.protocol.context import Sitting, of_each_image
from eyechart.protocol.prompts import Prompt

SCORED = ("posterior", "species", "flat_list")
CONSTRAINED = ("closed_world", "closed_world_plus")


def unscored(protocol: str, chosen: Mapping[str, str], model: Any) -> str:
    """Return why a case that needs log-probabilities cannot be asked of a model, "" for all other cases."""
    needed = protocol in SCORED or (protocol in CONSTRAINED and chosen.get("answer") == "constrained")
    return str(getattr(model, "no_scores", "")) if needed else ""


def posterior(sitting: Sitting) -> Predictions:
    """Log-probabilities of every class name as the whole answer, given the image and the closed world's prompt."""
    asked = sitting.prompt(closed_world_prompt())
    found = likelihoods(sitting, asked, "posterior")
    scores = np.full((len(sitting.dataset), sitting.dataset.classes), -np.inf, np.float32)
    scores[:, list(sitting.offered)] = found.values if found.values.shape[1] else np.nan
    scores[list(found.errors)] = np.nan
    variant = sitting.variant(asked, "none")
    return Predictions(sitting.dataset.keys, scores, found.errors, variant, notes=found.notes)


def constrained(sitting: Sitting) -> Predictions:
    """Closed world with the likeliest name of the list as the answer: nothing is out of the prompt."""
    if sitting.images > 1:
        raise SpecError(
            f"--eye-answer=constrained asks about one image at a time, not {sitting.images}. "
            "Use --eye-images-per-request=1."
        )
    if sitting.chosen.get("evaluations", "1") != "1":
        raise SpecError(
            "--eye-answer=constrained computes its answers, the same ones every time. Use --eye-evaluations=1."
        )
    asked = sitting.prompt(closed_world_prompt())
    found, notes = likelihoods(sitting, asked, "constrained"), Notes(len(sitting.dataset))
    notes.errors.update(found.errors)
    for row in range(notes.size):
        notes.show(row, row, 0)
        if row not in found.errors:
            place = int(found.values[row, 0])
            notes.said[row], notes.found[row] = sitting.listed[place], sitting.offered[place]
    notes.strict = notes.found
    return notes.predictions(sitting, Usage(), sitting.variant(asked, "none"), ("",) * notes.size)


def likelihoods(sitting: Sitting, asked: Prompt, question: str) -> Answers:
    """Numbers by image: all log-probabilities for `posterior`, the best place and its own for `constrained`."""
    model = sitting.model
    if not hasattr(model, "score"):
        raise ModelError(
            f"{model.identity.name} does not tell how likely it would have said something. Use hf[…] or vllm[…]."
        )
    text = asked.fill(class_list=class_list(sitting.listed))
    choices = [answered(asked, name) for name in sitting.listed]
    asked_in = tuple(parts(text, [0], sitting.chosen.get("prefix", "paper")))

    def best(requests: Sequence[Request]) -> Floats:
        return np.stack(model.best(requests, choices), axis=1).astype(np.float32)

    def score(requests: Sequence[Request]) -> Floats:
        return np.asarray(model.score(requests, choices))

    return of_each_image(sitting, question, asked_in, choices, score if question == "posterior" else best)


def answered(asked: Prompt, name: str) -> str:
    """A name as the whole answer that the prompt asks for."""
    return json.dumps({"1": name}, ensure_ascii=False) if wants_json(asked) else name

"""Scores of every name for every image: cosines of an encoder, log-probabilities of a language model, or a replay."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eyechart.data.dataset.dataset import Dataset
from eyechart.data.labels.class_names import load_templates
from eyechart.errors import DataError, SpecError
from eyechart.inference.requests.class_weights import check_weights, cosine_similarity
from eyechart.inference.requests.row_requests import ClassWeights, Encode, LogitScale, ScoreChoices
from eyechart.inference.store.arrays import all_failed
from eyechart.models.types import Floats, Scorer
from eyechart.protocol.ask import ask
from eyechart.protocol.context import Context
from eyechart.protocol.options import OWN
from eyechart.protocol.prompts import get_prompt
from eyechart.realbirdid.data.observations import Observations, find_observations
from eyechart.realbirdid.data.taxonomy import common_names
from eyechart.realbirdid.protocols.helpers.bird_requests import image_requests
from eyechart.realbirdid.protocols.helpers.species_replay import ReplayedProbabilities, SpeciesReplay

TEMPLATES = "bird"
Bools = NDArray[np.bool_]
ReadScores = Callable[[int, int], Floats]
ToProbabilities = Callable[[Floats, Bools | None], Floats]
FAILED = -1  # the row of an image without an answer


def softmax(logits: Floats, allowed: Bools | None = None) -> Floats:
    """Return the softmax (n, names) of logits over the allowed names (n, names); NaN where no name is allowed.

    >>> softmax(np.zeros((1, 4), np.float32), np.array([[True, True, False, False]])).tolist()
    [[0.5, 0.5, 0.0, 0.0]]
    """
    masked = logits if allowed is None else np.where(allowed, logits, -np.inf)
    top = masked.max(axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        raised = np.exp(masked - top)
        probabilities: Floats = raised / raised.sum(axis=1, keepdims=True, dtype=np.float64).astype(np.float32)
    return probabilities


def conditional_probabilities(probabilities: Floats, allowed: Bools | None = None) -> Floats:
    """Return probabilities (n, names) conditional on the allowed names (n, names); NaN where no name is allowed.

    Where no allowed name has any probability, all of them are equally likely.

    >>> given = np.array([[0.5, 0.25, 0.25], [1, 0, 0]], np.float32)
    >>> conditional_probabilities(given, np.array([[False, True, True]] * 2)).tolist()
    [[0.0, 0.5, 0.5], [0.0, 0.5, 0.5]]
    """
    if allowed is None:
        return probabilities
    kept = np.where(allowed, probabilities, probabilities.dtype.type(0))
    silent = ~kept.any(axis=1)  # NaN stays NaN
    kept[silent] = allowed[silent]
    with np.errstate(invalid="ignore"):
        normalised: Floats = kept / kept.sum(axis=1, keepdims=True, dtype=np.float64)
    return normalised.astype(probabilities.dtype)


@dataclass(frozen=True)
class _NameScores:
    """Scores of every name: `read(start, stop)` returns (rows, names), NaN for an error.

    Scores are logits, log-probabilities or probabilities; `to_probabilities` converts them to probabilities.
    """

    read: ReadScores
    errors: Mapping[int, str]
    variant: Mapping[str, str]
    to_probabilities: ToProbabilities = softmax


def require_observations(dataset: Dataset) -> Observations:
    """Return the observations of a split; raises DataError for a split without any."""
    observations = find_observations(dataset)
    if observations is None:
        raise DataError(
            f"{dataset.benchmark}/{dataset.split} has no observations. Put birds.csv (or birds.parquet) and "
            "taxonomy.csv into its folder; README says what they hold."
        )
    return observations


def species_names(context: Context) -> tuple[str, ...]:
    """Return the species names of the prompts, scientific or common as the option says."""
    if context.options["species_names"] == "scientific":
        return context.names
    return common_names(require_observations(context.dataset).taxonomy)


def score_names(context: Context, names: Sequence[str]) -> _NameScores:
    """Return the scores of names for every image, by the capability of the model."""
    if isinstance(context.model, SpeciesReplay):
        return _replay_scores(context.model.probabilities(context.dataset))
    if isinstance(context.model, Scorer):
        return _score_with_language_model(context, names)
    return _score_with_encoder(context, names)


def _score_with_encoder(context: Context, names: Sequence[str]) -> _NameScores:
    """Return the cosines of an encoder, multiplied by its logit scale."""
    if context.options["prompt"] != OWN:
        raise SpecError(
            f"{context.flag('prompt')} is for models that answer in words; "
            f"{context.model.identity.name} compares. Give --eye-templates."
        )
    runner, model, template_set = context.runner, context.encoder, load_templates(context.templates or TEMPLATES)
    by = f"{template_set.name} ({template_set.sha256[:8]})"
    features = runner.run(Encode(), model, context.dataset)
    weights = runner.run(ClassWeights(tuple(names), template_set.formats), model)
    check_weights(model, weights)
    times: np.float32 = runner.run(LogitScale(), model)[0, 0]

    def read(start: int, stop: int) -> Floats:
        if all_failed(features):
            return np.full((stop - start, len(names)), np.nan, np.float32)
        return cosine_similarity(features.values[start:stop], weights) * times

    return _NameScores(read, features.errors, {"templates": by, "scale": f"{times:.6g}"})


def _score_with_language_model(context: Context, names: Sequence[str]) -> _NameScores:
    """Return the log-probabilities of a language model, of the shortest unique prefix of each name."""
    question = context.select_prompt(get_prompt("species"))
    request = ScoreChoices(None, (0, question.text), tuple(names), "unique")
    scores = context.runner.run(request, context.scorer, context.dataset)

    def read(start: int, stop: int) -> Floats:
        if all_failed(scores):
            return np.full((stop - start, len(names)), np.nan, np.float32)
        return scores.values[start:stop]

    variant = {"prompt": f"{question.name} ({question.sha256[:8]})", "parser_version": "none", "stop": "unique prefix"}
    return _NameScores(read, scores.errors, variant)


def _replay_scores(probabilities: ReplayedProbabilities) -> _NameScores:
    """Return the probabilities of a file."""

    def read(start: int, stop: int) -> Floats:
        return probabilities[start:stop]

    return _NameScores(read, probabilities.errors, {}, conditional_probabilities)


def candidate_mask(observed: Observations, start: int, stop: int) -> Bools:
    """Return the mask (rows, species) of the range lists; all False for images without a list or a location."""
    mask: Bools = observed.candidate_mask(start, stop) & observed.eligible[start:stop, None]
    return mask


def score_free_answers(context: Context, names: Sequence[str]) -> _NameScores:
    """Return the log-probabilities of names given a model's free answer to the question; equal answers are asked once.

    This is nlg2choice's retrieval (arXiv 2510.14885), as arXiv 2603.27033, section 5, uses it: the second step sees
    the text alone, not the image.

    As in `score_names`, a name counts up to its shortest unique prefix. The free answers are as in `free_form`.
    """
    question, second = context.select_prompt(get_prompt("species")), get_prompt("species_choice")
    responses = ask(
        context, image_requests(context, ((row, question.text) for row in range(len(context.dataset))))
    ).responses
    errors = {row: response.error for row, response in enumerate(responses) if response.error}
    listed = "\n".join(names)
    texts = {
        row: second.fill(said=response.text.strip(), class_list=listed)
        for row, response in enumerate(responses)
        if row not in errors
    }
    position = {text: index for index, text in enumerate(dict.fromkeys(texts.values()))}
    rows = np.array([position.get(texts.get(row, ""), FAILED) for row in range(len(responses))], np.int64)
    variant = {
        "prompt": f"{question.name} ({question.sha256[:8]})",
        "choice_prompt": f"{second.name} ({second.sha256[:8]})",
        "parser_version": "none",
        "stop": "unique prefix",
    }
    if not position:
        return _NameScores(lambda start, stop: np.full((stop - start, len(names)), np.nan, np.float32), errors, variant)
    scores = context.runner.run(ScoreChoices(tuple(position), (0,), tuple(names), "unique"), context.scorer)
    errors |= {row: scores.errors[index] for row, index in enumerate(rows.tolist()) if index in scores.errors}

    def read(start: int, stop: int) -> Floats:
        if all_failed(scores):
            return np.full((stop - start, len(names)), np.nan, np.float32)
        chosen = rows[start:stop]
        values: Floats = np.where(chosen[:, None] == FAILED, np.float32(np.nan), scores.values[chosen])
        return values

    return _NameScores(read, dict(sorted(errors.items())), variant)

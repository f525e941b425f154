"""nlg2choice's retrieval: a free answer about the image, then the log-probability of every name given that answer.

The second step sees the text alone, not the image. Source: arXiv 2510.14885, as arXiv 2603.27033, section 5, uses it.
"""

from collections.abc import Sequence

import numpy as np

from eyechart.inference.requests.row_requests import ScoreChoices
from eyechart.inference.store.arrays import all_failed
from eyechart.models.types import Floats
from eyechart.protocol.ask import ask
from eyechart.protocol.context import Context
from eyechart.protocol.prompts import get_prompt
from eyechart.realbirdid.protocols.bird_requests import image_requests
from eyechart.realbirdid.protocols.name_scores import NameScores

FAILED = -1


def score_free_answers(context: Context, names: Sequence[str]) -> NameScores:
    """Return the log-probabilities of names given a model's free answer to the question; equal answers are asked once.

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
        return NameScores(lambda start, stop: np.full((stop - start, len(names)), np.nan, np.float32), errors, variant)
    scores = context.runner.run(ScoreChoices(tuple(position), (0,), tuple(names), "unique"), context.scorer)
    errors |= {row: scores.errors[index] for row, index in enumerate(rows.tolist()) if index in scores.errors}

    def read(start: int, stop: int) -> Floats:
        if all_failed(scores):
            return np.full((stop - start, len(names)), np.nan, np.float32)
        chosen = rows[start:stop]
        values: Floats = np.where(chosen[:, None] == FAILED, np.float32(np.nan), scores.values[chosen])
        return values

    return NameScores(read, dict(sorted(errors.items())), variant)

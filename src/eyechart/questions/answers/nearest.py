"""Answers in sentences by their meaning: the given answer that is nearest in a text embedding space."""

from collections.abc import Sequence

from eyechart.inference.requests.class_weights import class_weights, cosine_similarity
from eyechart.models.types import Floats
from eyechart.parsers.no_image import lacks_image
from eyechart.parsers.text import answer_text
from eyechart.protocol.context import Context
from eyechart.protocol.text_encoders import text_encoder, text_features
from eyechart.questions.answers.kinds import TEXT
from eyechart.questions.answers.question_predictions import Answered
from eyechart.questions.answers.readings import UNREAD, Reading

BARE = ("{c}",)


def read_nearest(context: Context, answers: Sequence[Answered], kinds: Sequence[str]) -> tuple[Answered, ...]:
    """Return the answers, with those in sentences read as the nearest of all answers of the table to such questions.

    An error, and an answer without words or that there is no image, stays as it is.
    """
    encoder = text_encoder(context)

    def encode(texts: Sequence[str]) -> Floats:
        return text_features(context, encoder, texts)

    asked = [number for number, answer in enumerate(answers) if kinds[answer.row] == TEXT and _has_words(answer)]
    given = [text for answer in answers if kinds[answer.row] == TEXT for text in answer.question.answers]
    candidates, found = [*dict.fromkeys(given)], [*answers]
    if asked:
        texts = [answers[number].response.strip() for number in asked]
        cosines = cosine_similarity(class_weights(encode, texts, BARE), class_weights(encode, candidates, BARE))
        for number, best in zip(asked, cosines.argmax(axis=1).tolist(), strict=True):
            nearest = candidates[best]
            reading = Reading(nearest, float(nearest in answers[number].question.answers))
            found[number] = answers[number]._replace(reading=reading)
    return tuple(found)


def _has_words(answer: Answered) -> bool:
    """Return whether there is an answer to compare; a truncated one without a complete line has none."""
    unread = answer.truncated or (answer.reading == UNREAD and not answer.response.strip())
    return not answer.error and not unread and not lacks_image(answer_text(answer.response))

"""Requests that show images and ask for a name each: how they are laid out, and how replies are told apart by image."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from eyechart.classification.batch_prompts import answer_keys, answer_schema, batches, parts
from eyechart.errors import ModelError, SpecError
from eyechart.inference.requests import Question, Questions
from eyechart.inference.responses import Reply
from eyechart.parsers import json_answers
from eyechart.parsers.reading import Reading
from eyechart.parsers.text import after_thinking
from eyechart.parsers.truncation import read_complete_name
from eyechart.protocol.context import Sitting
from eyechart.protocol.prompts import Prompt

TOKENS_AN_IMAGE, TOKENS_AROUND = 48, 16  # the longest of ImageNet's names takes about 30 tokens
BRACES = frozenset("{｛")  # JSON was meant, and could not be read


@dataclass(frozen=True)
class Told:
    """What was said of one image: under the strict reading and the lenient one; None where nothing was read.

    `truncated` says that the reply ended at the token limit before a JSON value for this image was complete; `lenient`
    then has a complete first line, if there is one.
    """

    row: int
    request: int
    place: int
    strict: str | None
    lenient: str | None
    whole: str
    error: str = ""
    truncated: bool = False


def wants_json(prompt: Prompt) -> bool:
    """Whether a prompt asks for one JSON object of answers by key."""
    return '"1"' in prompt.text and "JSON" in prompt.text


def enforced(sitting: Sitting) -> bool:
    """Whether the engine holds answers to a schema; asked of a model that cannot, it is refused."""
    wanted = sitting.chosen["structure"] == "enforced"
    if wanted and not sitting.model.structured:
        raise ModelError(
            f"--eye-structure=enforced needs an engine that holds answers to a schema, and "
            f"{sitting.model.identity.backend} does not. Use vllm[…] or openai[…], or --eye-structure=parsed."
        )
    return wanted


def questions(sitting: Sitting, name: str, prompt: Prompt, text: str, evaluation: int = 0) -> Questions:
    """Lay the images of a split out among requests."""
    chosen, dataset = sitting.chosen, sitting.dataset
    if chosen["reading"] == "mill":
        raise SpecError("--eye-reading=mill reads letters, and here the answer is a name. Use lenient or authors.")
    by_schema = enforced(sitting)
    if sitting.images > 1 and not (wants_json(prompt) or by_schema):
        raise SpecError(
            f"The prompt '{prompt.name}' does not ask for JSON, so the answers to {sitting.images} images could not be "
            "told apart. Use --eye-images-per-request=1, or a prompt that asks for JSON by key."
        )
    try:
        shared = batches(dataset.keys, sitting.labels, sitting.images, chosen["order"], sitting.asker.seed)
    except ValueError as error:
        raise SpecError(f"--eye-images-per-request={sitting.images}: {error}") from error
    asked = [
        Question(
            parts(text, rows, chosen["prefix"]),
            TOKENS_AROUND + TOKENS_AN_IMAGE * len(rows),
            answer_schema(len(rows)) if by_schema else None,
        )
        for rows in shared
    ]
    return Questions(name, tuple(asked), evaluation)


def told(asked: Questions, said: Sequence[Reply], *, json: bool) -> Iterator[Told]:
    """Tell the answers of every reply apart, image by image."""
    for request, (question, reply) in enumerate(zip(asked.asked, said, strict=True)):
        keys = answer_keys(len(question.rows))
        read = json_answers.read(reply.text, keys) if json else None
        spoken = after_thinking(reply.text) if reply.finished else read_complete_name(reply.text)
        plain = reply.text if reply.finished else spoken
        for place, (row, key) in enumerate(zip(question.rows, keys, strict=True)):
            strict, lenient = by_key(read, key) if read else (plain, spoken)
            cut = not reply.finished and (read is None or lenient is None)
            if read and read.lenient is None and len(keys) == 1 and not BRACES.intersection(after_thinking(reply.text)):
                lenient = spoken  # one image needs no key to tell whose answer this is
            yield Told(row, request, place, filled(strict), filled(lenient), reply.text, reply.error, cut)


def by_key(read: Reading[json_answers.Answers], key: str) -> tuple[str | None, str | None]:
    """One image's answer under the two readings."""
    strict, lenient = ((each or {}).get(key) for each in (read.strict, read.lenient))
    return strict, lenient


def filled(text: str | None) -> str | None:
    """Nothing said is nothing read."""
    return text if text and text.strip() else None

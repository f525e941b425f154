"""Map free text to one of several choices: by constrained decoding with the same model, or by matching phrases.

It is the second step of nlg2choice (arXiv 2603.27033, section 5): a text, a question about it, constrained decoding.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Protocol

from eyechart.data.labels.class_names import check_unique
from eyechart.errors import ModelError
from eyechart.inference.requests.text_requests import ANSWER_KEY, AnswerFormat, TextRequest, choice_schema
from eyechart.inference.store.responses import Response
from eyechart.models.types import Generator, Model, Scorer, Usage
from eyechart.parsers import class_name, json_answers
from eyechart.parsers.no_image import says_no_image
from eyechart.parsers.thinking import remove_thinking
from eyechart.parsers.truncation import read_complete_name
from eyechart.protocol.ask import ask, is_replay
from eyechart.protocol.context import Context, usual_token_limit
from eyechart.protocol.prompts import Prompt

VERSION = 2
UNPARSED = -1
TOKENS = 96  # the longest name, its quotes and the braces around it


class _ChoiceParser(Protocol):
    """Parse choices without a model; returns `UNPARSED` where there is none."""

    def parse_exact(self, text: str) -> int:
        """Return the choice of a text that is only a choice, so that no request is needed."""

    def parse(self, text: str) -> int:
        """Return the choice of a text by the names and phrases that occur in it."""


@dataclass(frozen=True)
class ExtractionResult:
    """The choice index of each response (n), `UNPARSED` if none, and errors and truncated responses by their index.

    An error comes from the request, else from its extraction; a response is truncated if it, or its extraction,
    reached the token limit before it answered.
    """

    indices: Sequence[int]
    errors: Mapping[int, str]
    usage: Usage = field(default_factory=Usage)
    requests: int = 0
    truncated: frozenset[int] = frozenset()


def extract_choices(
    context: Context,
    answers: Sequence[Response],
    template: Prompt,
    choices: Sequence[str],
    reader: _ChoiceParser,
    **slots: str,
) -> ExtractionResult:
    """Return the choice of each answer; equal texts share one request, and texts that are a choice need none.

    Thinking is removed; an empty text, and one that says that there is no image, have no choice. Of a truncated answer
    a first line that is a choice is read. `slots` are the slots of the prompt other than `said`.
    """
    texts = [answer.text if answer.finished else _complete_line(answer.text, reader) for answer in answers]
    stripped = ["" if says_no_image(text) else remove_thinking(text).strip() for text in texts]
    failed = {index: answer.error for index, answer in enumerate(answers) if answer.error}
    cut = {
        index
        for index, (answer, text) in enumerate(zip(answers, texts, strict=True))
        if not (answer.finished or answer.error or text)
    }
    known = [*dict.fromkeys(filter(None, stripped))]
    if _uses_text_matching(context):
        choice_by_text = {text: reader.parse(text) for text in known}
        indices = [choice_by_text.get(text, UNPARSED) for text in stripped]
        return ExtractionResult(indices, failed, truncated=frozenset(cut))
    choice_by_text = {text: reader.parse_exact(text) for text in known}
    open_ = [text for text in known if choice_by_text[text] == UNPARSED]
    responses, usage = request_choices(context, [template.fill(said=text, **slots) for text in open_], choices)
    response_by_text = dict(zip(open_, responses, strict=True))
    choice_by_text |= {
        text: UNPARSED if response.error else _parse_response(response, choices)
        for text, response in response_by_text.items()
    }
    indices = [choice_by_text.get(text, UNPARSED) for text in stripped]
    second = {index: response_by_text[text] for index, text in enumerate(stripped) if text in response_by_text}
    failed = {index: response.error for index, response in second.items() if response.error} | failed
    cut |= {
        index
        for index, response in second.items()
        if not (response.finished or response.error) and indices[index] == UNPARSED
    }
    return ExtractionResult(indices, dict(sorted(failed.items())), usage, len(open_), frozenset(cut))


def _complete_line(text: str, reader: _ChoiceParser) -> str:
    """Return the first line of a truncated response if it is only a choice, else ""."""
    line = read_complete_name(text)
    return line if line and reader.parse_exact(line) != UNPARSED else ""


def _uses_text_matching(context: Context) -> bool:
    """Return whether choices are extracted by text matching: requested by option, replayed text, or a model without
    log-probabilities and structured output.
    """
    return (
        context.options["extraction"] == "inclusion" or is_replay(context) or bool(_why_unable_to_choose(context.model))
    )


def _why_unable_to_choose(model: Model) -> str:
    """Return why a scorer cannot give log-probabilities, "" for all other models."""
    structured = isinstance(model, Generator) and model.structured
    return model.scoring_obstacle if isinstance(model, Scorer) and not structured else ""


def extraction_variant(
    context: Context, first: Prompt | None, second: Prompt, choices: Sequence[str]
) -> dict[str, str]:
    """Return the variant of the record: options, prompts, and the method and version of the extraction."""
    parser, method = f"inclusion {VERSION}", {"extraction": "inclusion"}
    if context.options["extraction"] != "inclusion" and (why := _why_unable_to_choose(context.model)):
        method["extraction_reason"] = why
    if not _uses_text_matching(context):
        how = "constrained" if isinstance(context.model, Scorer) else f"json_answers {json_answers.VERSION}"
        parser = f"class_name {class_name.VERSION}, {how}, {len(choices)} choices"
        method = {"extraction": "choice", "extraction_prompt": f"{second.name} ({second.sha256[:8]})"}
    variant = context.variant(first or second, parser) | method
    return variant if first else {name: value for name, value in variant.items() if name != "prompt"}


def request_choices(context: Context, texts: Sequence[str], choices: Sequence[str]) -> tuple[Sequence[Response], Usage]:
    """Return the model's choice for each text, and the token usage; the requests have no images."""
    check_unique(choices)
    model = context.generator
    if isinstance(model, Scorer) and not model.scoring_obstacle:
        form: AnswerFormat = tuple(choices)
    elif model.structured:
        form = choice_schema(choices)
    else:
        raise ModelError(
            f"{model.identity.name} can neither choose among answers nor keep to a schema. Use hf[…], vllm[…] or "
            f"openai[…], or {context.flag('extraction', 'inclusion')}."
        )
    limit = usual_token_limit(model, TOKENS)
    result = ask(context, [TextRequest((text,), limit, form) for text in texts])
    return result.responses, result.usage


def _parse_response(response: Response, choices: Sequence[str]) -> int:
    """Return the index of a response's choice; a truncated response must contain a complete JSON value or line."""
    if response.finished:
        return _parse_choice(response.text, choices)
    text = (json_answers.parse(response.text, (ANSWER_KEY,)).lenient or {}).get(ANSWER_KEY) or read_complete_name(
        response.text
    )
    return _parse_choice(text, choices) if text else UNPARSED


def _parse_choice(text: str, choices: Sequence[str]) -> int:
    """Return the index of the choice in a text, plain or in JSON; servers may violate a schema with many choices."""
    exact = choice_indices(tuple(choices)).get(text)
    if exact is not None:
        return exact
    value = (json_answers.parse(text, (ANSWER_KEY,)).lenient or {}).get(ANSWER_KEY) or ""
    index = class_name.parse(value or text, choices).lenient
    return UNPARSED if index is None else index


@lru_cache(maxsize=8)
def choice_indices(choices: tuple[str, ...]) -> Mapping[str, int]:
    """Return the index of each choice."""
    return {name: index for index, name in enumerate(choices)}

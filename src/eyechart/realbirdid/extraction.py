"""Map free text to one of several choices: by constrained decoding with the same model, or by matching phrases.

It is the second step of nlg2choice (arXiv 2603.27033, section 5): a text, a question about it, constrained decoding.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from itertools import chain, islice
from typing import Any, Protocol

import msgspec

from eyechart.data.class_names import check_unique
from eyechart.errors import ModelError, RequestError
from eyechart.inference.request_runner import run_requests
from eyechart.inference.requests import Generate, RequestTemplate, SharedRequests
from eyechart.inference.responses import Response
from eyechart.inference.store import Key
from eyechart.models.types import Answer, Generator, Identity, Model, Request, Scorer, Usage
from eyechart.parsers import class_name, json_answers
from eyechart.parsers.text import remove_thinking
from eyechart.parsers.truncation import read_complete_name
from eyechart.protocol.context import Context, is_replay
from eyechart.protocol.prompts import Prompt

VERSION = 1
UNPARSED = -1
ANSWER_KEY = "answer"
MAX_TOKENS = 96  # the longest name, its quotes and the braces around it
BATCHES_PER_CHUNK = 16  # batches that are chosen for at once, and lost where a run is stopped
HASH_DIGITS = 15  # hexadecimal ones of a text's sha256 that make its place, which JSON can hold as an integer


class ChoiceParser(Protocol):
    """Parse choices without a model; returns `UNPARSED` where there is none."""

    def parse_exact(self, text: str) -> int:
        """Return the choice of a text that is only a choice, so that no request is needed."""

    def parse(self, text: str) -> int:
        """Return the choice of a text by the names and phrases that occur in it."""


@dataclass(frozen=True)
class ExtractionResult:
    """The choice index of each text (n), `UNPARSED` if none, and errors and truncated responses by text index."""

    indices: Sequence[int]
    errors: Mapping[int, str]
    usage: Usage = field(default_factory=Usage)
    requests: int = 0
    truncated: frozenset[int] = frozenset()


class ChoiceGenerator(Generator):
    """Adapt a scorer to the generator interface: the response is the choice with the highest probability."""

    def __init__(self, model: Scorer, choices: Sequence[str]) -> None:
        self.model, self.choices, self.batch_size = model, choices, model.batch_size

    @property
    def identity(self) -> Identity:
        """The identity of the model."""
        return self.model.identity

    @property
    def loads(self) -> int:  # type: ignore[override]  # those of the model
        """How often the model's weights were loaded."""
        return self.model.loads

    def generate(
        self,
        requests: Iterable[Request],
        max_tokens: int,  # noqa: ARG002
        schema: Mapping[str, Any] | None = None,  # noqa: ARG002
    ) -> Iterator[tuple[int, Answer]]:
        """Give the likeliest choices, chunk by chunk."""
        left: Iterator[tuple[int, Request]] = enumerate(requests)
        while some := [*islice(left, BATCHES_PER_CHUNK * self.batch_size)]:
            try:
                best, _ = self.model.best([request for _, request in some], self.choices)
            except RequestError as error:
                yield from ((some[at][0], Answer("", (), False, error=why)) for at, why in error.errors.items())
                left = chain([pending for at, pending in enumerate(some) if at not in error.errors], left)
                continue
            for (place, _), choice in zip(some, best.tolist(), strict=True):
                yield place, Answer(self.choices[choice], (), True)


def extract_choices(
    context: Context, texts: Sequence[str], template: Prompt, choices: Sequence[str], reader: ChoiceParser, **slots: str
) -> ExtractionResult:
    """Return the choice of each text; equal texts share one request, and texts that are a choice need none.

    Thinking is removed, and an empty text has no choice. `slots` are the slots of the prompt other than `said`.
    """
    stripped = [remove_thinking(text).strip() for text in texts]
    known = [*dict.fromkeys(filter(None, stripped))]
    if uses_text_matching(context):
        choice_by_text = {text: reader.parse(text) for text in known}
        return ExtractionResult([choice_by_text.get(text, UNPARSED) for text in stripped], {})
    choice_by_text = {text: reader.parse_exact(text) for text in known}
    open_ = [text for text in known if choice_by_text[text] == UNPARSED]
    responses, usage = request_choices(context, [template.fill(said=text, **slots) for text in open_], choices)
    response_by_text = dict(zip(open_, responses, strict=True))
    choice_by_text |= {
        text: UNPARSED if reply.error else parse_response(reply, choices) for text, reply in response_by_text.items()
    }
    cut = {
        text
        for text, reply in response_by_text.items()
        if not reply.finished and not reply.error and choice_by_text[text] == UNPARSED
    }
    errors = {
        place: response_by_text[text].error
        for place, text in enumerate(stripped)
        if text in response_by_text and response_by_text[text].error
    }
    return ExtractionResult(
        [choice_by_text.get(text, UNPARSED) for text in stripped], errors, usage, len(open_), indices_of(stripped, cut)
    )


def indices_of(texts: Sequence[str], subset: Collection[str]) -> frozenset[int]:
    """Return the indices of the texts that are in the subset."""
    return frozenset(place for place, text in enumerate(texts) if text in subset)


def complete_texts(responses: Sequence[Response], reader: ChoiceParser) -> list[str]:
    """Return the text of each response; of a truncated one only a first line that is a choice, else ""."""
    return [reply.text if reply.finished else complete_line(reply.text, reader) for reply in responses]


def complete_line(text: str, reader: ChoiceParser) -> str:
    """Return the first line of a truncated response if it is only a choice, else ""."""
    line = read_complete_name(text)
    return line if line and reader.parse_exact(line) != UNPARSED else ""


def truncated_responses(
    responses: Sequence[Response], reader: ChoiceParser, extraction: ExtractionResult
) -> frozenset[int]:
    """Return the indices of responses that, or whose extraction, reached the token limit before they answered."""
    cut = [
        place
        for place, reply in enumerate(responses)
        if not reply.finished and not reply.error and not complete_line(reply.text, reader)
    ]
    return extraction.truncated | {*cut}


def uses_text_matching(context: Context) -> bool:
    """Return whether choices are extracted by text matching: requested by option, replayed text, or a model without
    log-probabilities and structured output.
    """
    return (
        context.options["extraction"] == "inclusion" or is_replay(context) or bool(why_unable_to_choose(context.model))
    )


def why_unable_to_choose(model: Model) -> str:
    """Return why a scorer cannot give log-probabilities, "" for all other models."""
    structured = isinstance(model, Generator) and model.structured
    return model.scoring_obstacle if isinstance(model, Scorer) and not structured else ""


def extraction_variant(
    context: Context, first: Prompt | None, second: Prompt, choices: Sequence[str]
) -> dict[str, str]:
    """Return the variant of the record: options, prompts, and the method and version of the extraction."""
    parser, method = f"inclusion {VERSION}", {"extraction": "inclusion"}
    if context.options["extraction"] != "inclusion" and (why := why_unable_to_choose(context.model)):
        method["extraction_reason"] = why
    if not uses_text_matching(context):
        how = "constrained" if isinstance(context.model, Scorer) else f"json_answers {json_answers.VERSION}"
        parser = f"class_name {class_name.VERSION}, {how}, {len(choices)} choices"
        method = {"extraction": "choice", "extraction_prompt": f"{second.name} ({second.sha256[:8]})"}
    variant = context.variant(first or second, parser) | method
    return variant if first else {name: value for name, value in variant.items() if name != "prompt"}


def request_choices(context: Context, texts: Sequence[str], choices: Sequence[str]) -> tuple[Sequence[Response], Usage]:
    """Return the response to each extraction prompt, from the store where possible; images and limit have no effect."""
    check_unique(choices)
    model, runner, schema = context.generator, context.runner, None
    if isinstance(model, Scorer):
        model = ChoiceGenerator(model, choices)
    elif model.structured:
        schema = answer_schema(choices)
    else:
        raise ModelError(
            f"{model.identity.name} can neither choose among answers nor keep to a schema. Use hf[…], vllm[…] or "
            f"openai[…], or {context.flag('extraction', 'inclusion')}."
        )
    how = "schema" if schema else "best"
    book = SharedRequests(sha256(msgspec.json.encode([how, choices])).hexdigest(), tuple(map(request_index, texts)))
    questions = Generate(
        "extraction", tuple(RequestTemplate((text,), MAX_TOKENS, schema) for text in texts), shared=book
    )
    key = Key(
        kind=questions.name,
        model=model.identity,
        prompts=questions.sha256,
        decoding=questions.decoding,
        seed=runner.seed,
    )
    result = run_requests(runner.store, key, context.dataset, model, questions, runner.progress)
    return result.responses, result.usage


def request_index(text: str) -> int:
    """Return the index under which the response to a text is stored, a hash of the text."""
    return int(sha256(text.encode()).hexdigest()[:HASH_DIGITS], 16)


def answer_schema(choices: Sequence[str]) -> Mapping[str, Any]:
    """Return the JSON schema of an answer that is one of the choices."""
    return {
        "type": "object",
        "properties": {ANSWER_KEY: {"type": "string", "enum": [*choices]}},
        "required": [ANSWER_KEY],
        "additionalProperties": False,
    }


def parse_response(reply: Response, choices: Sequence[str]) -> int:
    """Return the index of a response's choice; a truncated response must contain a complete JSON value or line."""
    if reply.finished:
        return parse_choice(reply.text, choices)
    text = (json_answers.parse(reply.text, (ANSWER_KEY,)).lenient or {}).get(ANSWER_KEY) or read_complete_name(
        reply.text
    )
    return parse_choice(text, choices) if text else UNPARSED


def parse_choice(text: str, choices: Sequence[str]) -> int:
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
    return {name: place for place, name in enumerate(choices)}

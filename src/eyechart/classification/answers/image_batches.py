"""Requests with one or several images that ask for the class name of each, and the answers image by image.

Source: arXiv 2603.06578, section 2.3 and Tables 11 to 14 and 20.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from eyechart.classification.answers.class_predictions import ClassPredictions, Targets
from eyechart.classification.answers.image_answers import UNRANKED, TextPredictions
from eyechart.errors import ModelError, SpecError
from eyechart.inference.requests.text_requests import TextRequest
from eyechart.inference.store.responses import Response
from eyechart.models.types import Usage
from eyechart.parsers import json_answers
from eyechart.parsers.no_image import says_no_image
from eyechart.parsers.text import ParseResult, answer_text
from eyechart.parsers.thinking import remove_thinking
from eyechart.parsers.truncation import read_complete_lines, read_complete_name
from eyechart.protocol.context import Context
from eyechart.protocol.prompts import Prompt, get_prompt

_AnswerKind = Literal["name", "id"]
_Order = Literal["random", "same_class"]
_PromptOrder = Literal["image-first", "text-first"]
MOST_IMAGES = 50  # the largest number that the prompts mention
_TOKENS_A_NAME, _TOKENS_AROUND = 48, 16  # the longest of ImageNet's names takes about 30 tokens
_BRACES = frozenset("{｛")  # signs of JSON that could not be parsed


def closed_world_prompt(answer: str = "name", *, structured: bool = False) -> Prompt:
    """Return the prompt for answers by class `name` or `id`; `structured` if the engine enforces JSON by a schema.

    Raises ValueError for another kind of answer.

    Source: arXiv 2603.06578, Table 20: without instructions on JSON where "the desired output structure is enforced
    directly via the API" (B.1). Elsewhere the authors' prompt asks for JSON in words, which may say that the output is
    structured automatically although nothing enforces it. The wording for ids is our own, since Table 14's is
    unpublished.

    >>> closed_world_prompt().source, closed_world_prompt("id", structured=True).name
    ('arXiv 2603.06578, Table 20, LLaVA-OV, InternVL3.5 and Qwen3-VL', 'closed_world_id')
    """
    _check_choice("answer", answer, get_args(_AnswerKind))
    prompt = get_prompt("closed_world")
    if answer == "id":
        prompt = prompt.alternative("id")
    return prompt if structured else prompt.alternative("json")


def format_class_list(names: Sequence[str], answer: str = "name") -> str:
    """Return the classes in the order of their indices, one per line: names, or indices with names.

    Raises ValueError without names and for another kind of answer.

    Source: arXiv 2603.06578, Table 20, and for ids the example in the caption of Table 14.

    >>> print(format_class_list(["tench", "goldfish"], "id"))
    0 – "tench"
    1 – "goldfish"
    """
    _check_choice("answer", answer, get_args(_AnswerKind))
    if not names:
        raise ValueError("A closed world needs class names; got none.")
    if answer == "name":
        return "\n".join(names)
    return "\n".join(f'{index} – "{name}"' for index, name in enumerate(names))


def make_batches(
    keys: Sequence[str], classes: Sequence[int], size: int = 1, order: str = "random", seed: int = 42
) -> list[tuple[int, ...]]:
    """Return batches of up to `size` rows, each row in one batch.

    `keys` are the n samples' keys and `classes` their n original labels, -1 for none. `random` mixes the classes;
    `same_class` keeps each request within one class, and asks about an image without a class alone. The order depends
    only on seed and keys, so that requests of different sizes show the images in the same order (Table 13).

    Raises ValueError for a size outside 1..50, an unknown order, or unequal lengths.

    Source: arXiv 2603.06578, Tables 11 to 13; the paper's own order is not published.

    >>> make_batches(["a", "b", "c", "d", "e"], [0, 1, 0, 1, 0], size=2)
    [(3, 1), (4, 0), (2,)]
    >>> make_batches(["a", "b", "c", "d", "e"], [0, 1, 0, 0, 1], size=2, order="same_class")
    [(3, 0), (2,), (1, 4)]
    """
    _check_choice("order", order, get_args(_Order))
    if not 1 <= size <= MOST_IMAGES:
        raise ValueError(f"A request shows 1 to {MOST_IMAGES} images, as its prompt says; got {size}.")
    if len(keys) != len(classes):
        raise ValueError(f"Every sample has a key and a label; got {len(keys)} keys and {len(classes)} labels.")
    drawn = sorted(range(len(keys)), key=lambda row: _rank(seed, keys[row]))
    runs = [drawn] if order == "random" else _by_class(drawn, classes)
    return [tuple(run[start : start + size]) for run in runs for start in range(0, len(run), size)]


def request_parts(text: str, rows: Sequence[int], prompt_order: str = "image-first") -> tuple[str | int, ...]:
    """Return the parts of a request: its text, and a row instead of each image.

    `text-first` begins with the text, the same for all requests, so that an engine computes the class list once.

    Raises ValueError without rows or for an unknown order.

    Source: own definition; the paper does not say where its images stand.

    >>> request_parts("Which?", [7, 3]), request_parts("Which?", [7, 3], "text-first")
    ((7, 3, 'Which?'), ('Which?', 7, 3))
    """
    _check_choice("prompt_order", prompt_order, get_args(_PromptOrder))
    if not rows:
        raise ValueError("A request needs an image; got none.")
    return (*rows, text) if prompt_order == "image-first" else (text, *rows)


def _answer_keys(count: int) -> tuple[str, ...]:
    """Return the keys of the JSON answer to a request of `count` images.

    Source: arXiv 2603.06578, Table 20.

    >>> _answer_keys(3)
    ('1', '2', '3')
    """
    return tuple(str(number) for number in range(1, count + 1))


def _answer_schema(count: int, choices: Sequence[str] | None = None) -> Mapping[str, Any]:
    """Return the JSON schema of the answer to a request of `count` images: one text per key, one of `choices` if given.

    Without choices an answer may be outside the class list, as in the paper.

    Source: arXiv 2603.06578, B.1: the "output structure is enforced directly via the API".

    >>> _answer_schema(1)["properties"], _answer_schema(2, ["a", "b"])["required"]
    ({'1': {'type': 'string'}}, ['1', '2'])
    """
    value = {"type": "string"} if choices is None else {"type": "string", "enum": [*choices]}
    keys = _answer_keys(count)
    return {
        "type": "object",
        "properties": {key: dict(value) for key in keys},
        "required": [*keys],
        "additionalProperties": False,
    }


def _rank(seed: int, key: str) -> bytes:
    return sha256(f"{seed}|closed_world|{key}".encode()).digest()


def _by_class(drawn: Sequence[int], classes: Sequence[int]) -> list[list[int]]:
    runs: dict[int, list[int]] = {}
    for row in drawn:
        runs.setdefault(int(classes[row]) if classes[row] >= 0 else -1 - row, []).append(row)
    return list(runs.values())


def _check_choice(parameter: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        raise ValueError(f"The {parameter!r} parameter must be one of {', '.join(known)}. Got {value!r} instead.")


@dataclass(frozen=True)
class ParsedAnswer:
    """The answer to one image under the strict and the lenient parser, None where nothing was parsed.

    `truncated` is set if the response ended at the token limit before a JSON value for this image was complete;
    `lenient` is then a complete first line, if there is one.
    """

    row: int
    request: int
    position: int
    strict: str | None
    lenient: str | None
    completion: str
    error: str = ""
    truncated: bool = False


def uses_schema(context: Context) -> bool:
    """Return whether the engine enforces a schema. Raises ModelError if the model cannot."""
    enforced = context.options.get("structured_output") == "enforced"
    if enforced and not context.generator.structured:
        if context.generator.thinks:
            raise ModelError(
                f"{context.flag('structured_output')} leaves no room for thinking, and {context.spec or 'the model'} "
                f"thinks before it answers. Give it thinking=off, or use {context.flag('structured_output', 'parsed')}."
            )
        raise ModelError(
            f"{context.flag('structured_output')} needs an engine that enforces a schema, and "
            f"{context.model.identity.backend} does not. Use vllm[…] or openai[…], or "
            f"{context.flag('structured_output', 'parsed')}."
        )
    return enforced


def build_requests(context: Context, prompt: Prompt, text: str, epoch: int = 0, *, names: int = 1) -> list[TextRequest]:
    """Return the requests for all images of a split, by the options of requests that the protocol has.

    An answer has room for so many `names` of each image. Raises SpecError for options that cannot be combined.
    """
    options, dataset = context.options, context.dataset
    by_schema = uses_schema(context)
    if context.images_per_request > 1 and not (prompt.format == "json" or by_schema):
        raise SpecError(
            f"The prompt '{prompt.name}' does not ask for JSON: the answers to {context.images_per_request} images "
            f"cannot be separated. Use {context.flag('images_per_request', '1')}, or a prompt that asks for JSON by "
            'key and has format = "json" in its file.'
        )
    order = options.get("image_order", "random")
    try:
        batches = make_batches(dataset.keys, context.labels, context.images_per_request, order, context.runner.seed)
    except ValueError as error:
        raise SpecError(f"{context.flag('images_per_request')}: {error}") from error
    schemas = {size: _answer_schema(size) if by_schema else None for size in {*map(len, batches)}}
    return [
        TextRequest(
            request_parts(text, rows, options.get("prompt_order", "image-first")),
            context.token_limit(_TOKENS_AROUND + _TOKENS_A_NAME * names * len(rows)),
            schemas[len(rows)],
            epoch,
        )
        for rows in batches
    ]


def split_by_image(
    requests: Sequence[TextRequest], responses: Sequence[Response], *, json: bool, names: int = 1
) -> Iterator[ParsedAnswer]:
    """Yield the answer to each image, parsed from the response to its request.

    The answer to one image needs no key: it may be the whole text, or the only answer of an object such as
    `{"answer": "zebra"}`. An answer that there is no image is unparsed. Of a truncated answer of several `names`, one
    on each line, all complete lines are left.
    """
    read_complete = read_complete_lines if names > 1 else read_complete_name
    for number, (request, response) in enumerate(zip(requests, responses, strict=True)):
        keys = _answer_keys(len(request.images))
        parsed = json_answers.parse(response.text, keys) if json else None
        text = remove_thinking(response.text) if response.finished else read_complete(response.text)
        plain = response.text if response.finished else text
        for position, (row, key) in enumerate(zip(request.images, keys, strict=True)):
            strict, lenient = _answers_for_key(parsed, key) if parsed else (plain, text)
            cut = not response.finished and (parsed is None or lenient is None)
            if len(keys) == 1 and (parsed is None or parsed.lenient is None):
                lenient = json_answers.unwrap(text, json_answers.NAMES)
                lenient = "" if parsed and lenient == text and _BRACES.intersection(answer_text(text)) else lenient
            lenient = "" if lenient and says_no_image(lenient) else lenient
            yield ParsedAnswer(
                row,
                number,
                position,
                _none_if_blank(strict),
                _none_if_blank(lenient),
                response.display_text,
                response.error,
                cut,
            )


def _answers_for_key(result: ParseResult[json_answers.Answers], key: str) -> tuple[str | None, str | None]:
    """Return the strict and the lenient answer under a key, None where there is none."""
    strict, lenient = ((answers or {}).get(key) for answers in (result.strict, result.lenient))
    return strict, lenient


def _none_if_blank(text: str | None) -> str | None:
    """Return the text, None if it is blank.

    >>> _none_if_blank("cat"), _none_if_blank(" "), _none_if_blank(None)
    ('cat', None, None)
    """
    return text if text and text.strip() else None


@dataclass
class AnswerCollector:
    """Collects the answer of each image while responses are parsed; rows without a request stay blank."""

    size: int
    completions: list[str] = field(init=False)
    strict_classes: list[int] = field(init=False)
    classes: list[int] = field(init=False)
    requests: list[int] = field(init=False)
    positions: list[int] = field(init=False)
    errors: dict[int, str] = field(default_factory=dict)
    unparsed: set[int] = field(default_factory=set)
    truncated: set[int] = field(default_factory=set)
    ranked: dict[int, Sequence[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.completions = [""] * self.size
        self.strict_classes, self.classes, self.requests, self.positions = ([-1] * self.size for _ in range(4))

    def set_position(self, row: int, request: int, position: int) -> None:
        """Set the request of an image and its position in it."""
        self.requests[row], self.positions[row] = request, position

    def set_ranked(self, row: int, classes: Sequence[int]) -> None:
        """Set the classes that an answer ranks, the best first, -1 for a name that is no class.

        An answer without a name is unparsed.
        """
        self.ranked[row], self.classes[row] = classes, classes[0] if classes else -1
        if not classes:
            self.unparsed.add(row)

    def to_predictions(
        self,
        context: Context,
        usage: Usage,
        variant: Mapping[str, str],
        out: tuple[str, ...] | None = None,
        **more: Any,
    ) -> ClassPredictions:
        """Return the predictions of the collected answers."""
        texts = TextPredictions(
            tuple(self.completions),
            np.array(self.classes, np.int64),
            np.array(self.strict_classes, np.int64),
            np.array(self.requests, np.int64),
            np.array(self.positions, np.int64),
            usage,
            out,
            cost=context.model.cost(usage),
            ranked=self._ranked_classes() if self.ranked else None,
            **more,
        )
        skipped = frozenset(row for row in range(self.size) if self.requests[row] < 0)
        return ClassPredictions(
            context.dataset.keys,
            np.zeros((self.size, 0), np.float32),
            self.errors,
            variant,
            frozenset(self.unparsed),
            skipped,
            texts,
            truncated=frozenset(self.truncated),
            targets=Targets.from_context(context),
        )

    def _ranked_classes(self) -> NDArray[np.int64]:
        """Return the ranked classes (n, ranks) of all images."""
        ranked = np.full((self.size, max(map(len, self.ranked.values()))), UNRANKED, np.int64)
        for row, classes in self.ranked.items():
            ranked[row, : len(classes)] = classes
        return ranked

"""Closed world: the prompt lists the classes; an answer is correct, wrong, out of the prompt, or unparsed.

If a response ended at the token limit, only a complete name counts: a JSON value with its closing quotation mark, as in
`{"1": "tabby cat"`, or, without JSON, a whole line that is a name of the list. Other names are truncated.
"""

from collections.abc import Callable
from typing import ClassVar

from eyechart.classification.answers.class_predictions import (
    Classification,
    ClassPredictions,
    EpochPredictions,
    Targets,
)
from eyechart.classification.answers.image_batches import (
    AnswerCollector,
    ParsedAnswer,
    build_requests,
    closed_world_prompt,
    format_class_list,
    split_by_image,
)
from eyechart.classification.answers.out_of_prompt import match_exactly, out_of_prompt_kinds
from eyechart.classification.metrics.class_estimates import (
    CORRECTNESS,
    answer_log_probability,
    label_agreement,
    mean_per_class_recall,
    out_of_prompt,
    strict_top1,
    top1,
)
from eyechart.classification.protocols.helpers.lists_classes import ListsClasses
from eyechart.classification.protocols.helpers.text_options import (
    ANSWER,
    EPOCHS,
    REQUEST_OPTIONS,
    is_valid,
    unused_options,
)
from eyechart.classification.protocols.posterior import predict_constrained
from eyechart.data.imagenet.classes import has_imagenet_classes
from eyechart.data.labels.class_names import load_class_names
from eyechart.models.types import Usage
from eyechart.parsers import class_name, compat, json_answers, number
from eyechart.protocol.ask import ask
from eyechart.protocol.base import Example
from eyechart.protocol.context import Context, missing_scores_reason
from eyechart.protocol.options import Option, OptionValues
from eyechart.protocol.prompts import Prompt

NONE = -1


def collect(context: Context, collector: AnswerCollector, parsed: ParsedAnswer) -> None:
    """Add the answer of one image, with the class that it names."""
    collector.set_position(parsed.row, parsed.request, parsed.position)
    text = parsed.strict if context.options["parser"] == "strict" else parsed.lenient
    collector.completions[parsed.row] = parsed.completion if text is None else text
    if parsed.error:
        collector.errors[parsed.row] = parsed.error
        return
    if text is None:
        collector.unparsed.add(parsed.row)
    collector.strict_classes[parsed.row] = _to_class(context, parsed.strict, "strict")
    collector.classes[parsed.row] = _to_class(context, text, context.options["parser"])
    if parsed.truncated and collector.classes[parsed.row] == NONE:
        collector.unparsed.add(parsed.row)
        collector.truncated.add(parsed.row)


def _to_class(context: Context, text: str | None, parser: str) -> int:
    """Return the class that a text names under a parser, -1 for none."""
    if text is None:
        return NONE
    index = _parse_id(context, text, parser) if context.options["answer"] == "id" else parse_name(context, text, parser)
    return NONE if index is None else context.candidate_classes[index]


def parse_name(context: Context, text: str, parser: str) -> int | None:
    """Return the index of a name in the list, None if it is not listed; the first of equal names."""
    if parser == "authors":
        return compat.parse_authors_name(text, context.candidate_names)
    result = class_name.parse(text, context.candidate_names)
    index = result.strict if parser == "strict" else result.lenient
    if index is None:
        exact = int(match_exactly([text], context.candidate_names)[0])
        return exact if exact >= 0 else None
    return index


def _parse_id(context: Context, text: str, parser: str) -> int | None:
    """Return the index that a number states, None if it is not listed; the lenient parser accepts a name, too."""
    result = number.parse(text)
    index = result.strict if parser != "lenient" else result.lenient
    if index is None:
        return parse_name(context, text, parser) if parser == "lenient" else None
    return index if 0 <= index < len(context.candidate_names) else None


class ClosedWorld(ListsClasses[Classification]):
    """The prompt lists all class names. An answer that is none of them is out of the prompt and counts as wrong."""

    name = "closed_world"
    example = Example("toybox/sample-cutouts/hf[toybox-mllm]", ("acc1 all", "oop all"))
    prompts: ClassVar[tuple[str, ...]] = (
        "closed_world",
        "closed_world_json",
        "closed_world_id",
        "closed_world_id_json",
    )
    summary = "The model sees the image and the list of all class names, and answers with one of them in text."
    short_name = "CW"
    order = 1
    options: ClassVar[tuple[Option, ...]] = (ANSWER, *REQUEST_OPTIONS, EPOCHS)
    source = "arXiv 2603.06578"
    requires = ("generator",)
    replays = "closed_world"
    benchmarks = ("imagenet", "toybox", "*")
    metrics = (top1, strict_top1, mean_per_class_recall, out_of_prompt, label_agreement, answer_log_probability)
    steps: ClassVar[tuple[Callable[..., object], ...]] = (build_requests, split_by_image, collect, *CORRECTNESS)

    def unused_options(self, options: OptionValues, *, replayed: bool) -> set[str]:
        """Return the options that have no effect together with the others."""
        return unused_options(options, replayed=replayed)

    def is_valid(self, options: OptionValues) -> bool:
        """Return whether the options can be combined."""
        return is_valid(options)

    def unavailable(self, context: Context) -> str:
        """Return why the model cannot score names, "" if it can or need not."""
        return missing_scores_reason(context) if context.options["answer"] == "constrained" else ""

    def predict(self, context: Context) -> Classification:
        """Predict the class of every image, in as many epochs as requested."""
        if context.options["answer"] == "constrained":
            return predict_constrained(context)
        times = int(context.options["epochs"])
        epochs = tuple(_predict_epoch(context, number) for number in range(times))
        renamed = {"acc1": "repeated_acc", "oop": "repeated_oop"}
        return epochs[0] if times == 1 else EpochPredictions(epochs, renamed, Targets.from_context(context))


def _predict_epoch(context: Context, number: int) -> ClassPredictions:
    """Return the predictions of one epoch."""
    prompt, collector, usage = ask_and_parse(context, number)
    return collector.to_predictions(
        context, usage, prompt_variant(context, prompt), find_out_of_prompt(context, collector)
    )


def ask_and_parse(context: Context, epoch: int) -> tuple[Prompt, AnswerCollector, Usage]:
    """Send the requests of an epoch that have no stored response, and return the prompt, parsed answers and usage."""
    answer = context.options["answer"]
    own = closed_world_prompt(answer, structured=context.options["structured_output"] == "enforced")
    prompt = context.select_prompt(own)
    requests = build_requests(
        context,
        prompt,
        prompt.fill(class_list=format_class_list(context.candidate_names, answer)),
        epoch,
    )
    responses, collector = ask(context, requests), AnswerCollector(len(context.dataset))
    for parsed in split_by_image(requests, responses.responses, json=_is_json(context, prompt)):
        collect(context, collector, parsed)
    return prompt, collector, responses.usage


def _is_json(context: Context, prompt: Prompt) -> bool:
    """Return whether responses are JSON."""
    return prompt.format == "json" or context.options["structured_output"] == "enforced"


def find_out_of_prompt(context: Context, collector: AnswerCollector) -> tuple[str, ...]:
    """Return for each image the kind of an answer that is out of the prompt, "" for other answers."""
    kinds = [""] * collector.size
    outside = [
        row
        for row in range(collector.size)
        if collector.requests[row] >= 0
        and collector.classes[row] < 0
        and row not in collector.errors
        and row not in collector.unparsed
    ]
    known = load_class_names("openai").names if has_imagenet_classes(context.dataset) else ()
    listed = (
        match_exactly([collector.completions[row] for row in outside], context.candidate_names) >= 0
    )  # the parser did not accept it
    unlisted = [row for row, is_listed in zip(outside, listed.tolist(), strict=True) if not is_listed]
    unlisted_kinds = out_of_prompt_kinds(
        [collector.completions[row] for row in unlisted], context.candidate_names, known
    )
    for row, kind in [*((row, "Wrong") for row in outside), *zip(unlisted, unlisted_kinds, strict=True)]:
        kinds[row] = kind
    return tuple(kinds)


def prompt_variant(context: Context, prompt: Prompt) -> dict[str, str]:
    """Return the options, the prompt, and the parsers with their versions."""
    versions = [("class_name", class_name.VERSION)]
    if context.options["answer"] == "id":
        versions = [("number", number.VERSION), *versions]
    if _is_json(context, prompt):
        versions = [("json_answers", json_answers.VERSION), *versions]
    return context.variant(prompt, ", ".join(f"{name} {version}" for name, version in versions))

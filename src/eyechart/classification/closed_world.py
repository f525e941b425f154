"""Closed world: the class list stands in the prompt, and an answer is right, wrong, out of the prompt, or not read.

Of a reply that ended at the token limit, a name counts if its JSON value or its line was complete; without JSON it must
also be a name of the list. A name that is cut in the middle is truncated.
"""

from eyechart.classification.class_mapping import mapped
from eyechart.classification.image_batches import Told, class_list, closed_world_prompt, questions, told, wants_json
from eyechart.classification.out_of_prompt import kinds, named
from eyechart.classification.posterior import constrained
from eyechart.classification.scoring import Predictions, Repeated
from eyechart.classification.text_answers import Notes
from eyechart.data.class_names import class_names
from eyechart.data.imagenet_names import has_imagenet_classes
from eyechart.models.types import Usage
from eyechart.parsers import class_name, compat, json_answers, number
from eyechart.protocol.context import Sitting, ask, replayed
from eyechart.protocol.prompts import Prompt

NONE = -1


def closed_world(sitting: Sitting) -> Predictions | Repeated:
    """Every image with the class list, answers as they are: one out of the prompt is no class."""
    if sitting.chosen["answer"] == "constrained":
        return constrained(sitting)
    times = int(sitting.chosen["evaluations"])
    rounds = tuple(evaluation(sitting, number) for number in range(times))
    return rounds[0] if times == 1 else Repeated(rounds, {"acc1": "repeated_acc", "oop": "repeated_oop"})


def evaluation(sitting: Sitting, number: int) -> Predictions:
    """One round of the closed world."""
    asked, notes, usage = listen(sitting, number)
    return notes.predictions(sitting, usage, variant(sitting, asked), out_of_prompt(sitting, notes))


def closed_world_plus(sitting: Sitting) -> Predictions:
    """CW+: the closed world's own answers, those out of the prompt mapped to the nearest class."""
    if sitting.chosen["answer"] == "constrained":
        return constrained(sitting)
    asked, notes, usage = listen(sitting, 0)
    out = out_of_prompt(sitting, notes)
    rows = [row for row, kind in enumerate(out) if kind]
    for row, place in zip(rows, mapped(sitting, [notes.said[row] for row in rows]), strict=True):
        notes.found[row] = place
    return notes.predictions(sitting, usage, variant(sitting, asked), out, mapped=True)


def listen(sitting: Sitting, evaluation: int) -> tuple[Prompt, Notes, Usage]:
    """Ask, or take the kept replies, and read them."""
    answer = sitting.chosen["answer"]
    own = closed_world_prompt(answer, structured=sitting.chosen["structure"] == "enforced")
    asked = sitting.prompt(own)
    put = questions(
        sitting, "closed_world", asked, asked.fill(class_list=class_list(sitting.listed, answer)), evaluation
    )
    replies, notes = ask(sitting, put), Notes(len(sitting.dataset))
    for one in told(put, replies.said, json=is_json(sitting, asked)):
        note(sitting, notes, one)
    return asked, notes, replies.usage


def is_json(sitting: Sitting, asked: Prompt) -> bool:
    """Whether replies are JSON."""
    return not replayed(sitting) and (wants_json(asked) or sitting.chosen["structure"] == "enforced")


def note(sitting: Sitting, notes: Notes, one: Told) -> None:
    """Read one image's answer as a class."""
    notes.show(one.row, one.request, one.place)
    text = one.strict if sitting.chosen["reading"] == "strict" else one.lenient
    notes.said[one.row] = one.whole if text is None else text
    if one.error:
        notes.errors[one.row] = one.error
        return
    if text is None:
        notes.unparsed.add(one.row)
    notes.strict[one.row] = placed(sitting, one.strict, "strict")
    notes.found[one.row] = placed(sitting, text, sitting.chosen["reading"])
    if one.truncated and notes.found[one.row] == NONE:
        notes.unparsed.add(one.row)
        notes.truncated.add(one.row)


def placed(sitting: Sitting, text: str | None, reading: str) -> int:
    """The class that a text names under a reading, -1 for none."""
    if text is None:
        return NONE
    place = by_id(sitting, text, reading) if sitting.chosen["answer"] == "id" else by_name(sitting, text, reading)
    return NONE if place is None else sitting.offered[place]


def by_name(sitting: Sitting, text: str, reading: str) -> int | None:
    """The place in the list of a name; of two classes with one name the first has it."""
    if reading == "authors":
        return compat.authors_name(text, sitting.listed)
    found = class_name.read(text, sitting.listed)
    exact = int(named([text], sitting.listed)[0])
    read = found.strict if reading == "strict" else found.lenient
    return read if read is not None else exact if exact >= 0 else None


def by_id(sitting: Sitting, text: str, reading: str) -> int | None:
    """The place in the list of a number; to a lenient reader a name says it as well."""
    found = number.read(text)
    read = found.strict if reading != "lenient" else found.lenient
    if read is None:
        return by_name(sitting, text, reading) if reading == "lenient" else None
    return read if 0 <= read < len(sitting.listed) else None


def out_of_prompt(sitting: Sitting, notes: Notes) -> tuple[str, ...]:
    """The kind of each answer that was read and is no class of the list, "" for all others."""
    found = [""] * notes.size
    outside = [
        row
        for row in range(notes.size)
        if notes.requests[row] >= 0 and notes.found[row] < 0 and row not in notes.errors and row not in notes.unparsed
    ]
    known = class_names("openai").names if has_imagenet_classes(sitting.dataset) else ()
    listed = named([notes.said[row] for row in outside], sitting.listed) >= 0  # by a reading that did not take it
    unlisted = [row for row, each in zip(outside, listed.tolist(), strict=True) if not each]
    sorted_out = kinds([notes.said[row] for row in unlisted], sitting.listed, known)
    for row, kind in [*((row, "Wrong") for row in outside), *zip(unlisted, sorted_out, strict=True)]:
        found[row] = kind
    return tuple(found)


def variant(sitting: Sitting, asked: Prompt) -> dict[str, str]:
    """Every choice, the prompt, and the parsers with their versions."""
    versions = [("class_name", class_name.VERSION)]
    if sitting.chosen["answer"] == "id":
        versions = [("number", number.VERSION), *versions]
    if is_json(sitting, asked):
        versions = [("json_answers", json_answers.VERSION), *versions]
    return sitting.variant(asked, ", ".join(f"{name} {version}" for name, version in versions))

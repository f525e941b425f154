"""Open world: no list in the prompt; what is said is mapped to a class afterwards.

Of a reply that ended at the token limit, only a complete JSON value or a complete first line is mapped: a name that is
cut in the middle is truncated, since its beginning may name another class.
"""

from eyechart.classification.class_mapping import mapped
from eyechart.classification.image_batches import questions, told, wants_json
from eyechart.classification.scoring import Predictions
from eyechart.classification.text_answers import Notes
from eyechart.parsers import json_answers
from eyechart.protocol.context import Sitting, ask, replayed
from eyechart.protocol.prompts import prompt


def open_world(sitting: Sitting) -> Predictions:
    """Every image with a question for its most specific name, each answer taken for the nearest class."""
    held = sitting.chosen["structure"] == "enforced"
    asked = sitting.prompt(prompt("open_world" if held else "open_world_json"))
    json = not replayed(sitting) and (held or wants_json(asked))
    put = questions(sitting, "open_world", asked, asked.text)
    replies, notes = ask(sitting, put), Notes(len(sitting.dataset))
    heard, strict = [""] * notes.size, [""] * notes.size
    for one in told(put, replies.said, json=json):
        notes.show(one.row, one.request, one.place)
        text = one.strict if sitting.chosen["reading"] == "strict" else one.lenient
        notes.said[one.row] = one.whole if text is None else text
        heard[one.row], strict[one.row] = text or "", one.strict or ""
        if one.error:
            notes.errors[one.row] = one.error
        elif text is None:
            notes.unparsed.add(one.row)
            notes.truncated |= {one.row} if one.truncated else set()
    notes.found, notes.strict = places(sitting, heard, strict)
    parser = f"json_answers {json_answers.VERSION}" if json else "text"
    return notes.predictions(sitting, replies.usage, sitting.variant(asked, parser))


def places(sitting: Sitting, heard: list[str], strict: list[str]) -> tuple[list[int], list[int]]:
    """The classes of answers under the chosen reading and under the strict one; an empty one has none."""
    classes = mapped(sitting, [*heard, *strict])
    return classes[: len(heard)], classes[len(heard) :]

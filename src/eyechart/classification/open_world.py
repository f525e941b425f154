"""Open world: no list in the prompt; what is said is mapped to a class afterwards.

Of a reply that ended at the token limit, only a complete JSON value or a complete first line is mapped: a name that is
cut in the middle is truncated, since its beginning may name another class.
"""

from eyechart.classification.class_mapping import mapped
from eyechart.classification.image_batches import questions, told, wants_json
from eyechart.classification.options import MAPPED, SHOWN, go_together, unused
from eyechart.classification.predictions import ClassPredictions
from eyechart.classification.text_answers import Notes
from eyechart.parsers import json_answers
from eyechart.protocol.base import Protocol
from eyechart.protocol.context import Context, ask, replayed
from eyechart.protocol.options import OptionValues
from eyechart.protocol.prompts import prompt


class OpenWorld(Protocol[ClassPredictions]):
    """The prompt has no list of classes: an answer in free words is mapped to the nearest class."""

    name = "open_world"
    requires = ("generator",)
    replays = "open_world"
    options = (*SHOWN, *MAPPED)

    def unused(self, options: OptionValues, *, replayed: bool) -> set[str]:
        """Return the options that change nothing beside the others."""
        return unused(options, replayed=replayed)

    def go_together(self, options: OptionValues) -> bool:
        """Return whether a combination of options can be asked."""
        return go_together(options)

    def predict(self, context: Context) -> ClassPredictions:
        """Ask for the most specific name of every image, and map each answer to the nearest class."""
        held = context.options["structure"] == "enforced"
        asked = context.prompt(prompt("open_world" if held else "open_world_json"))
        json = not replayed(context) and (held or wants_json(asked))
        put = questions(context, "open_world", asked, asked.text)
        replies, notes = ask(context, put), Notes(len(context.dataset))
        heard, strict = [""] * notes.size, [""] * notes.size
        for one in told(put, replies.responses, json=json):
            notes.show(one.row, one.request, one.place)
            text = one.strict if context.options["reading"] == "strict" else one.lenient
            notes.said[one.row] = one.whole if text is None else text
            heard[one.row], strict[one.row] = text or "", one.strict or ""
            if one.error:
                notes.errors[one.row] = one.error
            elif text is None:
                notes.unparsed.add(one.row)
                notes.truncated |= {one.row} if one.truncated else set()
        notes.found, notes.strict = places(context, heard, strict)
        parser = f"json_answers {json_answers.VERSION}" if json else "text"
        return notes.predictions(context, replies.usage, context.variant(asked, parser))


def places(context: Context, heard: list[str], strict: list[str]) -> tuple[list[int], list[int]]:
    """The classes of answers under the chosen reading and under the strict one; an empty one has none."""
    classes = mapped(context, [*heard, *strict])
    return classes[: len(heard)], classes[len(heard) :]

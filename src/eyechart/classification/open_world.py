"""Open world: no list in the prompt; what is said is mapped to a class afterwards.

Of a reply that ended at the token limit, only a complete JSON value or a complete first line is mapped: a name that is
cut in the middle is truncated, since its beginning may name another class.
"""

from eyechart.classification.class_mapping import map_to_classes
from eyechart.classification.image_batches import build_requests, split_by_image, wants_json
from eyechart.classification.options import MAPPED, SHOWN, is_valid, unused_options
from eyechart.classification.predictions import ClassPredictions
from eyechart.classification.text_answers import AnswerCollector
from eyechart.parsers import json_answers
from eyechart.protocol.base import Protocol
from eyechart.protocol.context import Context, ask, is_replay
from eyechart.protocol.options import OptionValues
from eyechart.protocol.prompts import get_prompt


class OpenWorld(Protocol[ClassPredictions]):
    """The prompt has no list of classes: an answer in free words is mapped to the nearest class."""

    name = "open_world"
    requires = ("generator",)
    replays = "open_world"
    options = (*SHOWN, *MAPPED)

    def unused_options(self, options: OptionValues, *, replayed: bool) -> set[str]:
        """Return the options that change nothing beside the others."""
        return unused_options(options, replayed=replayed)

    def is_valid(self, options: OptionValues) -> bool:
        """Return whether a combination of options can be asked."""
        return is_valid(options)

    def predict(self, context: Context) -> ClassPredictions:
        """Ask for the most specific name of every image, and map each answer to the nearest class."""
        held = context.options["structured_output"] == "enforced"
        asked = context.select_prompt(get_prompt("open_world" if held else "open_world_json"))
        json = not is_replay(context) and (held or wants_json(asked))
        put = build_requests(context, "open_world", asked, asked.text)
        replies, notes = ask(context, put), AnswerCollector(len(context.dataset))
        heard, strict = [""] * notes.size, [""] * notes.size
        for one in split_by_image(put, replies.responses, json=json):
            notes.set_position(one.row, one.request, one.position)
            text = one.strict if context.options["parser"] == "strict" else one.lenient
            notes.completions[one.row] = one.completion if text is None else text
            heard[one.row], strict[one.row] = text or "", one.strict or ""
            if one.error:
                notes.errors[one.row] = one.error
            elif text is None:
                notes.unparsed.add(one.row)
                notes.truncated |= {one.row} if one.truncated else set()
        notes.classes, notes.strict_classes = map_readings(context, heard, strict)
        parser = f"json_answers {json_answers.VERSION}" if json else "text"
        return notes.to_predictions(context, replies.usage, context.variant(asked, parser))


def map_readings(context: Context, heard: list[str], strict: list[str]) -> tuple[list[int], list[int]]:
    """The classes of answers under the chosen reading and under the strict one; an empty one has none."""
    classes = map_to_classes(context, [*heard, *strict])
    return classes[: len(heard)], classes[len(heard) :]

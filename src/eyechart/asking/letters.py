"""Choosing among options by letter: Mill's draw of ten, and the 4-way settings of arXiv 2603.06578."""

from collections.abc import Mapping

from eyechart.asking.sitting import Notes, Sitting, ask
from eyechart.parsers import compat, letter
from eyechart.protocols.multiple_choice import Options, mill_options
from eyechart.protocols.prompt_files import Prompt, prompt
from eyechart.questions import Question, Questions
from eyechart.scoring import Predictions

MILL = "mill_mcq"
MILL_COUNT, MILL_TOKENS = 10, 32


def mcq(sitting: Sitting) -> Predictions:
    """Mill's ten options an image; images without an original label are not asked about."""
    count = min(MILL_COUNT, sitting.dataset.classes)
    drawn = {
        row: mill_options(sitting.dataset.keys[row], label, sitting.dataset.classes, count, sitting.asker.seed)
        for row, label in enumerate(sitting.labels)
        if label >= 0
    }
    return among(sitting, drawn, "mcq", prompt(MILL), MILL_TOKENS)


def among(sitting: Sitting, drawn: Mapping[int, Options], name: str, asked: Prompt, max_tokens: int) -> Predictions:
    """Ask about every image with its options, and read letters as classes."""
    texts = {row: asked.fill(dynamic_choices=options.lines(sitting.names)) for row, options in drawn.items()}
    questions = Questions(name, tuple(Question((row, text), max_tokens) for row, text in texts.items()))
    replies, notes = ask(sitting, questions), Notes(len(sitting.dataset))
    for number, ((row, options), reply) in enumerate(zip(drawn.items(), replies.said, strict=True)):
        notes.show(row, number, 0)
        notes.said[row] = reply.text
        if reply.error:
            notes.errors[row] = reply.error
            continue
        notes.strict[row], notes.found[row] = read(sitting, reply.text, options)
        if notes.found[row] < 0:
            notes.unparsed.add(row)
    details = {"options": [";".join(map(str, drawn[row].classes)) if row in drawn else "" for row in range(notes.size)]}
    variant = sitting.variant(asked, parser(sitting.chosen["reading"]))
    return notes.predictions(sitting, replies.usage, variant, details=details)


def read(sitting: Sitting, text: str, options: Options) -> tuple[int, int]:
    """The class under the strict reading and under the chosen one, -1 for none."""
    offered = [sitting.names[place] for place in options.classes]
    reading = letter.read(text, offered)
    strict = -1 if reading.strict is None else options.classes[reading.strict]
    if sitting.chosen["reading"] == "mill":
        return strict, options.classes[compat.mill_letter(text, offered, sitting.asker.seed)]
    if sitting.chosen["reading"] != "lenient":  # the authors' scorer takes the letter alone
        return strict, strict
    return strict, -1 if reading.lenient is None else options.classes[reading.lenient]


def parser(reading: str) -> str:
    """The parser of letters with its version."""
    return f"compat {compat.VERSION}" if reading == "mill" else f"letter {letter.VERSION}"

"""Choosing among options by letter: Mill's draw of ten, and the 4-way settings of arXiv 2603.06578."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from eyechart.classification.distractor_sources import neighbours
from eyechart.classification.distractors import Neighbours
from eyechart.classification.letter_prompts import SETTINGS, Options, mill_options, options
from eyechart.classification.repeats import Repeated
from eyechart.classification.scoring import Predictions
from eyechart.classification.text_answers import Notes
from eyechart.data.dataset import ORIGINAL
from eyechart.errors import DataError
from eyechart.inference.requests import Question, Questions
from eyechart.parsers import compat, letter
from eyechart.parsers.truncation import read_complete_letter
from eyechart.protocol.context import Sitting, ask
from eyechart.protocol.options import SHORT
from eyechart.protocol.prompts import Prompt, prompt

MILL = "mill_mcq"
MILL_COUNT, MILL_TOKENS, TOKENS = 10, 32, 32


def mcq(sitting: Sitting) -> Predictions:
    """Mill's ten options an image; images without an original label are not asked about."""
    count = min(MILL_COUNT, sitting.dataset.classes)
    with enough(sitting):
        drawn = {
            row: mill_options(sitting.dataset.keys[row], label, sitting.dataset.classes, count, sitting.asker.seed)
            for row, label in enumerate(sitting.labels)
            if label >= 0
        }
    return among(sitting, drawn, "mcq", prompt(MILL), MILL_TOKENS)


@contextmanager
def enough(sitting: Sitting) -> Iterator[None]:
    """Say of which split there are too few classes to choose among."""
    try:
        yield
    except ValueError as error:
        raise DataError(f"{sitting.dataset.benchmark}/{sitting.dataset.split}: {error}") from error


def among(sitting: Sitting, drawn: Mapping[int, Options], name: str, asked: Prompt, max_tokens: int) -> Predictions:
    """Ask about every image with its options, and read letters as classes."""
    texts = {row: asked.fill(dynamic_choices=choice.lines(sitting.names)) for row, choice in drawn.items()}
    questions = Questions(name, tuple(Question((row, text), max_tokens) for row, text in texts.items()))
    replies, notes = ask(sitting, questions), Notes(len(sitting.dataset))
    for number, ((row, choice), reply) in enumerate(zip(drawn.items(), replies.said, strict=True)):
        notes.show(row, number, 0)
        notes.said[row] = reply.text
        if reply.error:
            notes.errors[row] = reply.error
            continue
        whole = reply.finished or sitting.chosen["reading"] == "mill"  # whose scorer reads what is there
        text = reply.text if whole else read_complete_letter(reply.text)
        notes.strict[row], notes.found[row] = read(sitting, text, choice)
        if notes.found[row] < 0:
            notes.unparsed.add(row)
            notes.truncated |= set() if whole else {row}
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


def multiple_choice(sitting: Sitting) -> Repeated:
    """The 4-way settings of arXiv 2603.06578, Table 19, with options and their order redrawn in every repeat."""
    asked = sitting.prompt(prompt("multiple_choice"))
    near = neighbours(sitting)
    rounds = tuple(
        among(sitting, offered(sitting, near, repeat), "multiple_choice", asked, TOKENS)
        for repeat in range(int(sitting.chosen["repeats"]))
    )
    return Repeated(rounds, {"acc1": "mc_acc"})


def offered(sitting: Sitting, near: Neighbours | None, repeat: int) -> dict[int, Options]:
    """The options of each image that the setting has a right one for."""
    setting = SHORT[sitting.chosen["setting"]]
    given = second(sitting)
    with enough(sitting):
        drawn = {
            row: options(
                setting,
                sitting.dataset.keys[row],
                original,
                given[row],
                sitting.dataset.classes,
                neighbours=near,
                repeat=repeat,
                seed=sitting.asker.seed,
            )
            for row, original in enumerate(sitting.labels)
            if original >= 0 or given[row]
        }
    return {row: found for row, found in drawn.items() if found is not None}


def second(sitting: Sitting) -> list[list[int]]:
    """The labels of the ground truth that stands for ReGT: the first that is not the original one."""
    truth = next((labels for labels in sitting.truths if labels.name != ORIGINAL), None)
    if truth is not None:
        return [[label for label in row if label >= 0] for row in truth.labels.tolist()]
    if "ReGT" in SETTINGS[SHORT[sitting.chosen["setting"]]].truths:
        raise DataError(
            f"--eye-setting={sitting.chosen['setting']} needs a second ground truth, and {sitting.dataset.benchmark}/"
            f"{sitting.dataset.split} has the original labels only. Give one with --eye-labels=ReGT=FILE."
        )
    return [[] for _ in sitting.labels]

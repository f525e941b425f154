"""Multiple choice by letter: the options of each image, their order, and the parsing of responses.

The 4-way settings of arXiv 2603.06578, Table 19. A letter is converted to the class of its option and scored like any
prediction; `mcq`, with options drawn as on Mill's page, shares this.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from random import Random
from string import ascii_uppercase
from typing import Literal

from eyechart.classification.answers.class_predictions import ClassPredictions, EpochPredictions, Targets
from eyechart.classification.answers.image_batches import AnswerCollector
from eyechart.classification.metrics.class_estimates import (
    CORRECTNESS,
    top1,
)
from eyechart.classification.protocols.helpers.distractors import Neighbours, hard_distractors
from eyechart.classification.protocols.helpers.text_options import (
    DISTRACTORS,
    LETTER_PARSER,
    REDRAWN_EPOCHS,
    SETTING,
    SHORT,
    unused_options,
)
from eyechart.errors import DataError
from eyechart.inference.requests.text_requests import TextRequest
from eyechart.parsers import compat, letter
from eyechart.parsers.truncation import read_complete_letter
from eyechart.protocol.ask import ask
from eyechart.protocol.base import Example, Protocol
from eyechart.protocol.context import Context
from eyechart.protocol.options import MAX_TOKENS, PROMPT, OptionValues
from eyechart.protocol.prompts import Prompt, get_prompt
from eyechart.protocol.text_encoders import TEXT_ENCODER

LETTERS = ascii_uppercase
_Hardness = Literal["random", "confusion", "text"]
ORIGINAL, SECOND = "original", "second"  # label sets of a data set: the one it comes with, and the first other one
TOKENS = 32


@dataclass(frozen=True)
class AnswerOptions:
    """The classes of the options in the order of their letters; `correct` are those that are not distractors."""

    classes: tuple[int, ...]
    correct: tuple[int, ...]

    @property
    def letters(self) -> str:
        """The letters of the correct options."""
        return "".join(LETTERS[self.classes.index(correct)] for correct in self.correct)

    def class_of(self, letter: str) -> int:
        """Return the class of a letter, -1 if no option has it.

        Source: own definition.

        >>> AnswerOptions((8, 3), (3,)).class_of("B"), AnswerOptions((8, 3), (3,)).class_of("C")
        (3, -1)
        """
        index = LETTERS.find(letter) if len(letter) == 1 else -1
        return self.classes[index] if 0 <= index < len(self.classes) else -1

    def to_text(self, names: Sequence[str]) -> str:
        """Return the options, one per line, as `A) name`.

        Source: Mill's imagenet_mcq; arXiv 2603.06578 does not print its own.

        >>> print(AnswerOptions((1, 0), (0,)).to_text(["tench", "goldfish"]))
        A) goldfish
        B) tench
        """
        return "\n".join(f"{letter}) {names[index]}" for letter, index in zip(LETTERS, self.classes, strict=False))


@dataclass(frozen=True)
class _DistractorSetting:
    """The label sets of the correct options, ORIGINAL or SECOND, and the source of hard distractors."""

    label_sets: tuple[str, ...]
    hardness: _Hardness


SETTINGS: Mapping[str, _DistractorSetting] = {
    "ImGT + random": _DistractorSetting((ORIGINAL,), "random"),
    "ImGT + confEVA(ImGT)": _DistractorSetting((ORIGINAL,), "confusion"),
    "ImGT + confBERT(ImGT)": _DistractorSetting((ORIGINAL,), "text"),
    "ReGT + confEVA(ReGT)": _DistractorSetting((SECOND,), "confusion"),
    "ReGT + confBERT(ReGT)": _DistractorSetting((SECOND,), "text"),
    "ImGT + ReGT + random": _DistractorSetting((ORIGINAL, SECOND), "random"),
    "ImGT + ReGT + confEVA(ImGT,ReGT)": _DistractorSetting((ORIGINAL, SECOND), "confusion"),
}
CLOSED_WORLD = "ImGT + 999"  # the eighth row of Table 19, without letters: see closed_world


def draw_options(
    setting: str,
    key: str,
    original: int,
    labels: Collection[int],
    classes: int,
    *,
    neighbours: Neighbours | None = None,
    repeat: int = 0,
    seed: int = 42,
    count: int = 4,
    equivalents: Mapping[int, Collection[int]] | None = None,
) -> AnswerOptions | None:
    """Return the options of an image in one of `SETTINGS`; None if the setting has no correct option for it.

    `key` is the sample's key, `original` its ImGT class, -1 for none, `labels` its ReGT classes (-1 is ignored),
    `neighbours` each class's hard distractors, hardest first, for settings that are not random. The draw depends on
    seed, setting, key and repeat alone; the hard distractors are the same in every repeat.

    The ReGT option is drawn from the labels other than ImGT, where there are any; an image without labels offers its
    ImGT instead. No distractor is the ImGT or any label of the image, nor, given `equivalents`, a class equivalent to
    one of them. Two truths share the hard distractors evenly, an odd one going to ImGT; where the two are one class it
    keeps its own share, and the rest is random, as wherever hard distractors run out.

    Raises ValueError for an unknown setting, missing neighbours, a class that is not there, or too few classes.

    Source: arXiv 2603.06578, section 2.3, Task 2, and Table 19. Unstated there and chosen here: the hard distractors'
    rule (see `distractors`), the shares, that ImGT is no distractor in ReGT settings, and what images without labels
    offer. For the last two its numbers speak: the images that answer ImGT in a ReGT setting, beyond those of S+, are in
    all eight rows at most the 33 images without labels.

    >>> draw_options("ImGT + random", "s0000001", 7, [7, 9], 1000)
    AnswerOptions(classes=(665, 329, 722, 7), correct=(7,))
    >>> draw_options("ImGT + ReGT + random", "s0000001", 7, [7, 9], 1000).correct
    (7, 9)
    """
    rule = _rule(setting, neighbours)
    targets = sorted({label for label in labels if label != -1})
    check_options(count, classes, [*targets, *([original] if original != -1 else [])])
    random = Random(f"{seed}|multiple_choice|{setting}|{key}|{repeat}")
    correct = _draw_correct(rule.label_sets, original, targets, random)
    if not correct:
        return None
    excluded = _excluded({*targets, original}, equivalents or {})
    hard = _hard(correct, rule, count, excluded, neighbours) if neighbours is not None else []
    rest = [*range(classes)]  # a test of each class takes a quarter of the time of a case whose answers are stored
    for other in sorted({*excluded, *hard}.intersection(rest), reverse=True):
        del rest[other]
    drawn = [*correct, *hard, *_sample(rest, count - len(correct) - len(hard), random)]
    random.shuffle(drawn)
    return AnswerOptions(tuple(drawn), correct)


def _rule(setting: str, neighbours: Neighbours | None) -> _DistractorSetting:
    if setting not in SETTINGS:
        raise ValueError(f"There is no setting '{setting}' with letters; the settings are: {'; '.join(SETTINGS)}.")
    if (SETTINGS[setting].hardness == "random") != (neighbours is None):
        wanted = "no neighbours" if neighbours is not None else "neighbours: each class's hard distractors"
        raise ValueError(f"The setting '{setting}' takes {wanted}.")
    return SETTINGS[setting]


def check_options(count: int, classes: int, labels: Sequence[int]) -> None:
    """Check that `count` options can be drawn from `classes` classes. Raises ValueError if not, or for other labels.

    Source: own definition.

    >>> check_options(11, 10, [0])
    Traceback (most recent call last):
    ValueError: 11 options cannot be offered: give 2 to 10.
    """
    if not 2 <= count <= min(classes, len(LETTERS)):
        raise ValueError(f"{count} options cannot be offered: give 2 to {min(classes, len(LETTERS))}.")
    for label in labels:
        if not 0 <= label < classes:
            raise ValueError(f"The class {label} cannot be offered: the classes are 0 to {classes - 1}.")


def _draw_correct(label_sets: Sequence[str], original: int, labels: Sequence[int], random: Random) -> tuple[int, ...]:
    others = [label for label in labels if label != original] or [original]
    correct = [original if name == ORIGINAL else random.choice(others) for name in label_sets]
    return tuple(dict.fromkeys(correct)) if -1 not in correct else ()


def _excluded(labels: Collection[int], equivalents: Mapping[int, Collection[int]]) -> set[int]:
    return {index for label in labels for index in (label, *equivalents.get(label, ()))}


def _hard(
    correct: Sequence[int], rule: _DistractorSetting, count: int, excluded: Collection[int], neighbours: Neighbours
) -> list[int]:
    share, odd = divmod(count - len(rule.label_sets), len(rule.label_sets))
    hard: list[int] = []
    for position, anchor in enumerate(correct):
        near = (n for n in neighbours[anchor].tolist() if n not in excluded and n not in hard and n >= 0)
        hard += [*islice(near, share + (position < odd))]
    return hard


def _sample(rest: Sequence[int], count: int, random: Random) -> list[int]:
    if len(rest) < count:
        raise ValueError(f"{count} random distractors are wanted and {len(rest)} classes can be: offer fewer options.")
    return random.sample(rest, count)


@contextmanager
def name_split_in_errors(context: Context) -> Iterator[None]:
    """Convert a ValueError about the number of classes to a DataError that names the split."""
    try:
        yield
    except ValueError as error:
        raise DataError(f"{context.dataset.benchmark}/{context.dataset.split}: {error}") from error


def ask_for_letters(context: Context, drawn: Mapping[int, AnswerOptions], prompt: Prompt) -> ClassPredictions:
    """Request a letter for every image with options, and return the classes of the letters."""
    responses = ask(context, [*_letter_requests(context, drawn, prompt)])
    collector = AnswerCollector(len(context.dataset))
    for number, ((row, options), response) in enumerate(zip(drawn.items(), responses.responses, strict=True)):
        collector.set_position(row, number, 0)
        collector.completions[row] = response.display_text
        if response.error:
            collector.errors[row] = response.error
            continue
        complete = response.finished or (
            context.options["parser"] == "mill" and not response.is_all_thinking
        )  # Mill's scorer parses truncated responses, too
        text = response.text if complete else read_complete_letter(response.text)
        if not response.is_all_thinking:
            collector.strict_classes[row], collector.classes[row] = _parse_letter(context, text, options)
        if collector.classes[row] < 0:
            collector.unparsed.add(row)
            collector.truncated |= set() if complete else {row}
    details = {
        "options": [";".join(map(str, drawn[row].classes)) if row in drawn else "" for row in range(collector.size)]
    }
    variant = context.variant(prompt, parser_version(context.options["parser"]))
    return collector.to_predictions(context, responses.usage, variant, details=details)


def _letter_requests(context: Context, drawn: Mapping[int, AnswerOptions], prompt: Prompt) -> Iterator[TextRequest]:
    """Yield the request for a letter of every image with options."""
    for row, options in drawn.items():
        text = prompt.fill(dynamic_choices=options.to_text(context.names))
        yield TextRequest((row, text), context.token_limit(TOKENS))


def _ask_by_image(context: Context, epochs: Iterable[Mapping[int, AnswerOptions]], prompt: Prompt) -> None:
    """Request the letters of all epochs at once, so that a model may read once what requests about an image share."""
    ask(context, [request for drawn in epochs for request in _letter_requests(context, drawn, prompt)])


def _parse_letter(context: Context, text: str, options: AnswerOptions) -> tuple[int, int]:
    """Return the class under the strict and under the selected parser, -1 for none."""
    names = [context.names[index] for index in options.classes]
    result = letter.parse(text, names)
    strict = -1 if result.strict is None else options.classes[result.strict]
    if context.options["parser"] == "mill":
        return strict, options.classes[compat.parse_mill_letter(text, names, context.runner.seed)]
    if context.options["parser"] != "lenient":  # the authors' scorer accepts a letter only
        return strict, strict
    return strict, -1 if result.lenient is None else options.classes[result.lenient]


def parser_version(parser: str) -> str:
    """Return the parser of letters with its version."""
    return f"compat {compat.VERSION}" if parser == "mill" else f"letter {letter.VERSION}"


class MultipleChoice(Protocol[EpochPredictions]):
    """The 4-way settings of arXiv 2603.06578, Table 19, with options and their order redrawn in every epoch."""

    name = "multiple_choice"
    example = Example("toybox/sample-cutouts/hf[toybox-mllm]@epochs=3", ("mc_acc all",))
    prompts = ("multiple_choice",)
    summary = "The model chooses among a few options, and one of them is correct."
    short_name = "MC"
    order = 4
    source = "arXiv 2603.06578, Table 19"
    requires = ("generator",)
    options = (SETTING, REDRAWN_EPOCHS, DISTRACTORS, TEXT_ENCODER, PROMPT, LETTER_PARSER, MAX_TOKENS)
    benchmarks = ("imagenet", "toybox", "*")
    metrics = (top1,)
    steps = (draw_options, ask_for_letters, *CORRECTNESS)

    def unused_options(self, options: OptionValues, *, replayed: bool) -> set[str]:
        """Return the options that have no effect together with the others."""
        return unused_options(options, replayed=replayed)

    def predict(self, context: Context) -> EpochPredictions:
        """Request a letter for every image in every epoch."""
        prompt = context.select_prompt(get_prompt("multiple_choice"))
        near = hard_distractors(context)
        drawn = [_draw_all_options(context, near, repeat) for repeat in range(int(context.options["epochs"]))]
        if len(drawn) > 1:
            _ask_by_image(context, drawn, prompt)
        epochs = tuple(ask_for_letters(context, options, prompt) for options in drawn)
        return EpochPredictions(epochs, {"acc1": "mc_acc"}, Targets.from_context(context))


def _draw_all_options(context: Context, near: Neighbours | None, repeat: int) -> dict[int, AnswerOptions]:
    """Return the options of each image that has a correct one in the setting."""
    setting = SHORT[context.options["setting"]]
    labels = _second_label_set(context)
    with name_split_in_errors(context):
        drawn = {
            row: draw_options(
                setting,
                context.dataset.keys[row],
                original,
                labels[row],
                context.dataset.classes,
                neighbours=near,
                repeat=repeat,
                seed=context.runner.seed,
            )
            for row, original in enumerate(context.labels)
            if original >= 0 or labels[row]
        }
    return {row: options for row, options in drawn.items() if options is not None}


def _second_label_set(context: Context) -> list[list[int]]:
    """Return the labels of the first label set that is not the original one, which is used as ReGT."""
    label_set = next((labels for labels in context.label_sets if not labels.original), None)
    if label_set is not None:
        return [[label for label in row if label >= 0] for row in label_set.labels.tolist()]
    if SECOND in SETTINGS[SHORT[context.options["setting"]]].label_sets:
        raise DataError(
            f"{context.flag('setting')} needs a second label set, and {context.dataset.benchmark}/"
            f"{context.dataset.split} has the original labels only. Give one with --eye-labels=NAME=FILE."
        )
    return [[] for _ in context.labels]

"""Mill's multiple choice: ten options with random distractors, drawn as on his page; the answer is one letter."""

from random import Random

from eyechart.classification.answers.class_predictions import ClassPredictions
from eyechart.classification.metrics.class_estimates import (
    CORRECTNESS,
    label_agreement,
    mean_per_class_recall,
    strict_top1,
    top1,
)
from eyechart.classification.protocols.helpers.text_options import LETTER_PARSER, REDRAW, unused_options
from eyechart.classification.protocols.multiple_choice import (
    AnswerOptions,
    ask_for_letters,
    check_options,
    name_split_in_errors,
)
from eyechart.protocol.base import Example, Protocol
from eyechart.protocol.context import Context
from eyechart.protocol.options import MAX_TOKENS, OptionValues
from eyechart.protocol.prompts import get_prompt

COUNT = 10


def draw_mill_options(
    key: str, label: int, classes: int, count: int = 10, seed: int = 42, redraw: int = 0
) -> AnswerOptions:
    """Return Mill's options: the label and `count` - 1 other classes, shuffled.

    `key` is the sample's key, `label` its class in 0..classes-1. `redraw` is 0 for the published draw, else the number
    of another draw of the same kind. Raises ValueError for another label, and for more options than there are classes
    or letters.

    Source: Mill, imagenet_mcq, with the same random draws.

    >>> draw_mill_options("s0000000", 0, 1000)
    AnswerOptions(classes=(0, 225, 747, 921, 110, 857, 237, 868, 125, 54), correct=(0,))
    """
    check_options(count, classes, [label])
    random = Random(f"{seed}|imagenet_mcq|{key}" + (f"|{redraw}" if redraw else ""))
    drawn = [*random.sample([other for other in range(classes) if other != label], count - 1), label]
    random.shuffle(drawn)
    return AnswerOptions(tuple(drawn), (label,))


class MillMCQ(Protocol[ClassPredictions]):
    """Mill's multiple choice: one letter of ten; images without an original label are skipped."""

    name = "mcq"
    example = Example("toybox/sample-cutouts/hf[toybox-mllm]", ("acc1 all",))
    prompts = ("mill_mcq",)
    summary = "The model chooses among options that look alike."
    short_name = "MCQ"
    order = 5
    task_type = "multiple_choice"
    shots = "0"
    own_task = True
    source = "Mill's ImageNet page"
    requires = ("generator",)
    replays = "mcq"
    options = (LETTER_PARSER, MAX_TOKENS, REDRAW)
    benchmarks = ("imagenet", "toybox", "*")
    metrics = (top1, strict_top1, mean_per_class_recall, label_agreement)
    steps = (draw_mill_options, ask_for_letters, *CORRECTNESS)

    def unused_options(self, options: OptionValues, *, replayed: bool) -> set[str]:
        """Return the options that have no effect together with the others."""
        return unused_options(options, replayed=replayed)

    def predict(self, context: Context) -> ClassPredictions:
        """Draw the options of every image and request a letter."""
        count, classes = min(COUNT, context.dataset.classes), context.dataset.classes
        redraw = int(context.options["redraw"])
        with name_split_in_errors(context):
            drawn = {
                row: draw_mill_options(context.dataset.keys[row], label, classes, count, context.runner.seed, redraw)
                for row, label in enumerate(context.labels)
                if label >= 0
            }
        return ask_for_letters(context, drawn, get_prompt("mill_mcq"))

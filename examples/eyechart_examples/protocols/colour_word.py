"""A protocol of your own: ask for the colour of a picture; the first class name in the response is the answer."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from eyechart.inference.requests.text_requests import TextRequest
from eyechart.protocol.ask import ask
from eyechart.protocol.base import Predictions, Protocol, Rows
from eyechart.protocol.context import Context
from eyechart.protocol.options import Option
from eyechart.protocol.prompts import Prompt
from eyechart.results.estimates import Estimate
from eyechart.results.metric_definitions import MetricDefinition
from eyechart.results.records import OutcomeCounts
from eyechart.results.sample_table import SHARED_COLUMNS, shared_cells
from eyechart.statistics.accuracy import correctness
from eyechart.statistics.intervals import wilson

PROMPT = Prompt("colour_word", "What colour is this picture? Answer with one word.", "own")
WORD_ACC = MetricDefinition(
    "word_acc", "The proportion of pictures whose colour is named first.", higher_is_better=True, range=(0.0, 1.0)
)
TOKENS = Option("tokens", "the maximum length of a response, in tokens", "16", least=1)


@dataclass(frozen=True)
class ColourAnswers(Predictions):
    """The response about each image, the class that it names, and whether it is correct under each label set.

    `classes` (n,) are -1 for a response that names no class. The values of `correct` (n,) are 1, 0, or NaN for an error
    and for an image that a label set does not annotate.
    """

    keys: tuple[str, ...]
    errors: Mapping[int, str]
    variant: Mapping[str, str]
    hashes: Mapping[str, str]
    texts: tuple[str, ...]
    classes: np.ndarray
    correct: Mapping[str, np.ndarray]
    names: tuple[str, ...]
    targets: tuple[str, ...]

    def label_hashes(self) -> Mapping[str, str]:
        """Return the sha256 of each label set."""
        return self.hashes

    def count_outcomes(self) -> OutcomeCounts:
        """Return the number of answers of each outcome under the first label set."""
        first = next(iter(self.correct.values()))
        wrong = first == 0
        return OutcomeCounts(
            correct=int((first == 1).sum()),
            wrong=int((wrong & (self.classes >= 0)).sum()),
            unparsed=int((wrong & (self.classes < 0)).sum()),
            error=len(self.errors),
        )

    def samples(self) -> Rows:
        """Yield a header, then one row per image; both begin with the columns that all protocols share."""
        yield [*SHARED_COLUMNS, "response", *(f"{name}.correct" for name in self.correct)]
        for row, key in enumerate(self.keys):
            outcomes = ["" if np.isnan(correct[row]) else int(correct[row]) for correct in self.correct.values()]
            shared = shared_cells(
                key=key,
                target=self.targets[row],
                prediction=self.names[self.classes[row]] if self.classes[row] >= 0 else "",
                correct=next(iter(self.correct.values()))[row],
                error=self.errors.get(row, ""),
            )
            yield [*shared, self.texts[row], *outcomes]


def word_accuracy(predictions: ColourAnswers) -> Iterator[Estimate]:
    """Yield the proportion of correct images under each label set."""
    for labels, correct in predictions.correct.items():
        known = correct[~np.isnan(correct)]
        value, interval = (float(known.mean()), wilson(int(known.sum()), len(known))) if len(known) else (None, None)
        yield Estimate(
            name=WORD_ACC.name,
            title=labels,
            labels=labels,
            value=value,
            n=len(known),
            interval=interval,
            method="wilson",
            correct=correct,
        )


class ColourWord(Protocol[ColourAnswers]):
    """The model names the colour of a picture in its own words."""

    name = "colour_word"
    summary = "The model names the colour of the picture in one word."
    requires = ("generator",)
    benchmarks = ("swatches",)
    metrics = (word_accuracy,)
    options = (TOKENS,)

    def predict(self, context: Context) -> ColourAnswers:
        """Send one request per image, and parse the responses."""
        tokens = int(context.options["tokens"])
        requests = [TextRequest((row, PROMPT.text), tokens) for row in range(len(context.dataset))]
        responses = ask(context, requests).responses
        texts = tuple(response.text for response in responses)
        classes = np.array([find_first_name(text, context.names) for text in texts])
        answered = np.array([not response.error for response in responses])
        return ColourAnswers(
            keys=context.dataset.keys,
            errors={row: response.error for row, response in enumerate(responses) if response.error},
            variant=context.variant(PROMPT, "first name 1"),
            hashes={labels.name: labels.sha256 for labels in context.label_sets},
            texts=texts,
            classes=classes,
            correct={
                labels.name: correctness(
                    classes[:, None], labels.labels, labels.annotated, empty=labels.empty, answered=answered
                )
                for labels in context.label_sets
            },
            names=context.names,
            targets=tuple(context.names[label] if label >= 0 else "" for label in context.labels),
        )


def find_first_name(text: str, names: tuple[str, ...]) -> int:
    """Return the class whose name comes first in a text, -1 for none."""
    positions = {text.lower().find(name): index for index, name in enumerate(names) if name in text.lower()}
    return positions[min(positions)] if positions else -1

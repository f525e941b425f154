"""A protocol of your own: ask what is in the picture, and take the first class name in the text as the answer."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from eyechart.estimates import Estimate
from eyechart.inference.request_batches import Generate, RequestTemplate
from eyechart.metrics.intervals import wilson
from eyechart.protocol.base import Predictions, Protocol, Rows
from eyechart.protocol.context import Context, ask
from eyechart.protocol.options import Option
from eyechart.records import OutcomeCounts

TOKENS = Option("tokens", "the longest answer, in tokens", "16", least=1)


@dataclass(frozen=True)
class Words(Predictions):
    """The text about each image, and the class that it names, -1 for none."""

    keys: tuple[str, ...]
    errors: Mapping[int, str]
    variant: Mapping[str, str]
    texts: tuple[str, ...]
    classes: np.ndarray
    targets: np.ndarray

    @property
    def correct(self) -> np.ndarray:
        """Whether each image is right (n,), NaN for an error."""
        failed = np.isin(np.arange(len(self.keys)), [*self.errors])
        return np.where(failed, np.nan, self.classes == self.targets)

    def label_hashes(self) -> dict[str, str]:
        """Return the fingerprint of the labels."""
        return {"ImGT": "".join(map(str, self.targets.tolist()))}

    def count_outcomes(self) -> OutcomeCounts:
        """Count the answers."""
        errors, right = len(self.errors), int((self.correct == 1).sum())
        unread = int((self.classes < 0).sum()) - errors
        return OutcomeCounts(
            correct=right, wrong=len(self.keys) - right - unread - errors, unparsed=unread, error=errors
        )

    def samples(self) -> Rows:
        """Yield every image with what was said of it."""
        yield ["key", "label", "text", "class"]
        for row in zip(self.keys, self.targets.tolist(), self.texts, self.classes.tolist(), strict=True):
            yield [*row]


class ColourWord(Protocol[Words]):
    """What colour is it, in the model's own words."""

    name = "colour_word"
    requires = ("generator",)
    options = (TOKENS,)

    def predict(self, context: Context) -> Words:
        """Ask about every image."""
        prompt = "What is in the picture? Answer with one word."
        tokens = int(context.options["tokens"])
        rows = range(len(context.dataset))
        replies = ask(
            context, Generate(self.name, tuple(RequestTemplate((row, prompt), tokens) for row in rows))
        ).responses
        texts = tuple(reply.text for reply in replies)
        return Words(
            keys=context.dataset.keys,
            errors={row: reply.error for row, reply in enumerate(replies) if reply.error},
            variant={**context.options, "prompt": prompt},
            texts=texts,
            classes=np.array([find_first_name(text, context.names) for text in texts]),
            targets=np.array(context.labels),
        )


def find_first_name(text: str, names: tuple[str, ...]) -> int:
    """Return the class whose name comes first in a text, -1 for none."""
    places = {text.lower().find(name): place for place, name in enumerate(names) if name in text.lower()}
    return places[min(places)] if places else -1


def word_accuracy(predictions: Words) -> Iterator[Estimate]:
    """Yield the share of images whose text names the right class."""
    correct = predictions.correct
    known = correct[~np.isnan(correct)]
    value, interval = (float(known.mean()), wilson(int(known.sum()), len(known))) if len(known) else (None, None)
    yield Estimate(
        name="word_acc", title="word", labels="ImGT", value=value, n=len(known), interval=interval, method="wilson",
        higher_is_better=True, correct=correct,
    )  # fmt: skip

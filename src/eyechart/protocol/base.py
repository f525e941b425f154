"""What a protocol is: it asks a model about a data set and says what the responses mean. Read this page first.

    Dataset → Protocol → requests → Runner → responses → Predictions → metrics → Estimates → record

A protocol is one class with one method, `predict`. Its predictions say what the record keeps of every sample. A metric
is a function from predictions to estimates. A benchmark function names the protocol and the metrics:

    @pytest.mark.eyechart("imagenet", protocol="closed_world")
    def test_closed_world(evaluate: Evaluate[ClassPredictions]) -> None:
        evaluate(top1, mean_per_class_recall)
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from eyechart.estimates import Estimate
from eyechart.protocol.context import Context
from eyechart.protocol.options import Option, OptionValues, RequestedValues
from eyechart.records import Metric as Number
from eyechart.records import OutcomeCounts, Reported, UsageRecord
from eyechart.spec import ModelSpec

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Rows = Iterator[list[Any]]


class Predictions(ABC):
    """What the responses of a model mean under a protocol: metrics are computed from it, and a record is made of it.

    A subclass is a frozen dataclass with what its metrics need. `keys` are the images in their order, `errors` are
    messages by the place of the image, and `variant` has every option, prompt and parser that the answers depend on.
    """

    keys: tuple[str, ...]
    errors: Mapping[int, str]
    variant: Mapping[str, str]

    @abstractmethod
    def label_hashes(self) -> Mapping[str, str]:
        """Return the sha256 of each ground truth by its name; the first one is the main one."""

    @abstractmethod
    def count_outcomes(self) -> OutcomeCounts:
        """Count the answers by what became of them."""

    @abstractmethod
    def samples(self) -> Rows:
        """Yield the sample table: a header, then one row for every sample."""

    def files(self) -> dict[str, Rows]:
        """Return further tables by name, such as curves and confusion matrices."""
        return {}

    def full_variant(self) -> dict[str, str]:
        """Return everything that the numbers depend on beside model and data, as the record has it."""
        return dict(self.variant)

    def describe_count(self) -> str:
        """Return how many answers were asked for and what was counted, such as "140 images"."""
        return f"{len(self.keys)} images"

    def error_messages(self) -> list[str]:
        """Return every error with the key of its image."""
        return [with_key(self.keys[image], error) for image, error in self.errors.items()]

    def answered_images(self) -> Floats:
        """Return for every image (n,) 1 if all answers about it came, 0 if one is an error, NaN if none was asked."""
        return answered_images(np.arange(len(self.keys)), self.errors, len(self.keys))

    def clusters(self) -> Ints | None:
        """Return the sampling unit of each image (n,), None where every image is one."""
        return None

    def usage_record(self) -> UsageRecord | None:
        """Return how many requests and tokens the answers took, None where there were no requests."""
        return None

    def notes(self) -> Iterator[str]:
        """Yield what a reader of the numbers must know about the answers."""
        yield from ()

    def data_notes(self) -> Iterator[str]:
        """Yield what a reader of the numbers must know about the data."""
        yield from ()


P = TypeVar("P", bound=Predictions)
Metric = Callable[[P], Iterable[Estimate] | Floats]  # values (n,) of the images: their mean is the estimate


class Protocol(ABC, Generic[P]):
    """One way to ask a model about a data set.

    `requires` are capabilities of models, of which one is enough. `replays` is what a file of words that were said
    elsewhere calls itself (`replay[…,of=…]`) where this protocol can read it. `options` are what can be chosen.
    """

    name: ClassVar[str]
    requires: ClassVar[tuple[str, ...]]
    replays: ClassVar[str] = ""
    options: ClassVar[tuple[Option, ...]] = ()

    def supports(self, capabilities: Collection[str]) -> bool:
        """Return whether a model with these capabilities can be asked."""
        return not {*self.requires, f"said:{self.replays}"}.isdisjoint(capabilities)

    def defaults(self) -> dict[str, str]:
        """Return every option at its default."""
        return {option.name: option.default for option in self.options}

    def expand_grid(self, given: RequestedValues, capabilities: Collection[str] = ()) -> Iterator[OptionValues]:
        """Yield every combination of the values that were given, no two of which ask the same of a model.

        Where some combinations cannot be, the others are left; where none can, all.
        """
        values = [given.get(option.name, (option.default,)) for option in self.options]
        names, defaults = [option.name for option in self.options], self.defaults()
        combinations = [dict(zip(names, each, strict=True)) for each in product(*values)]
        replayed = bool(self.replays) and f"said:{self.replays}" in capabilities
        settled = [
            each | {name: defaults[name] for name in self.unused_options(each, replayed=replayed) & {*names}}
            for each in combinations
        ]
        kept = [each for each in settled if self.is_valid(each)] or settled
        yield from {tuple(each.items()): each for each in kept}.values()

    def unused_options(self, options: OptionValues, *, replayed: bool) -> set[str]:  # noqa: ARG002
        """Return the options that change nothing beside the others; they are recorded at their defaults."""
        return set()

    def is_valid(self, options: OptionValues) -> bool:  # noqa: ARG002
        """Return whether a combination of options can be asked."""
        return True

    def warnings(self, given: RequestedValues) -> str:  # noqa: ARG002
        """Return which of the options that were given change nothing, as a sentence; "" where all do something."""
        return ""

    def case_suffix(self, options: OptionValues) -> str:
        """Return the options that are not at their defaults, as they stand in the name of a case."""
        defaults = self.defaults()
        return ",".join(f"{name}={value}" for name, value in sorted(options.items()) if value != defaults[name])

    def unavailable(self, context: Context) -> str:  # noqa: ARG002
        """Return why this case cannot be asked, "" where it can; the case is then skipped with this reason."""
        return ""

    @abstractmethod
    def predict(self, context: Context) -> P:
        """Send requests through `context.runner` and parse the responses.

        Raises AbsentError where data of the case are not there: the case is skipped, and fails under `--eye-strict`.
        """

    def reported(self, split: str, model: ModelSpec, numbers: Sequence[Number]) -> Reported | None:  # noqa: ARG002
        """Return what others published for this split and model."""
        return None


def answered_images(images: Ints, failed: Iterable[int], count: int) -> Floats:
    """Return whether each of `count` images was answered, of questions about `images` (q,) and the places that failed.

    >>> answered_images(np.array([0, 0, 2]), [1], 4)
    array([ 0., nan,  1., nan])
    """
    outcomes = np.full(count, np.nan)
    outcomes[images] = 1
    outcomes[images[[*failed]]] = 0
    return outcomes


def with_key(key: str, error: str) -> str:
    """Return an error with the key of its image, unless it names the image itself."""
    return error if key in error else f"{key}: {error}"


def truncation_note(count: int, asked: str) -> Iterator[str]:
    """Yield the note that answers ended at the token limit before they were complete; nothing where none did."""
    if count:
        yield f"{count} of {asked} ended at the token limit before they answered (truncated); they count as wrong."

"""The interface of protocols. A protocol asks a model about a data set and parses the responses. Read this file first.

    Dataset → Protocol → requests → Runner → responses → Predictions → metrics → Estimates → record

A protocol is a class with one required method, `predict`. Its predictions define the sample table of the record. A
metric is a function from predictions to estimates. The class names the benchmarks that it is for and its metrics, so
that a benchmark function only names the protocol:

    @pytest.mark.eyechart(protocol="closed_world")
    def test_closed_world(evaluate: Evaluate[Any]) -> None:
        evaluate()
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from eyechart.data.dataset.dataset import Dataset
from eyechart.models.spec import ModelSpec
from eyechart.protocol.context import Context
from eyechart.protocol.options import Option, OptionValues, RequestedValues
from eyechart.protocol.sample_view import SampleView
from eyechart.results.estimates import Estimate
from eyechart.results.records import Metric as MetricRecord
from eyechart.results.records import OutcomeCounts, Reported, UsageRecord

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Rows = Iterator[list[Any]]


class Predictions(ABC):
    """The parsed responses of a model under a protocol. Metrics and the record are computed from them.

    A subclass is a frozen dataclass with the fields that its metrics need. `keys` are the image keys in the data set's
    order, `errors` are messages by the index of the image, and `variant` has every option, prompt and parser that the
    answers depend on: `context.variant(prompt, parser_version)` collects them. The gate does not compare answers of
    two versions of a parser.
    """

    keys: tuple[str, ...]
    errors: Mapping[int, str]
    variant: Mapping[str, str]

    @abstractmethod
    def label_hashes(self) -> Mapping[str, str]:
        """Return the sha256 of each label set by its name; the first one is the primary one."""

    @abstractmethod
    def count_outcomes(self) -> OutcomeCounts:
        """Return the number of answers of each outcome."""

    @abstractmethod
    def samples(self) -> Rows:
        """Yield the sample table: a header that begins with `SHARED_COLUMNS`, then one row per sample.

        The cells of these columns come from `shared_cells` of `results.sample_table`.
        """

    def files(self) -> dict[str, Rows]:
        """Return further tables by name, such as curves or a confusion matrix, each with a header."""
        return {}

    @property
    def logits(self) -> NDArray[np.floating] | None:
        """The logits (n, classes) whose largest one is the answer, None if there are none."""
        return None

    def full_variant(self) -> dict[str, str]:
        """Return all settings that the metrics depend on, besides model and data, as the record stores them."""
        return dict(self.variant)

    def describe_count(self) -> str:
        """Return the number of requested answers with its unit, such as "140 images"."""
        return f"{len(self.keys)} images"

    def error_messages(self) -> list[str]:
        """Return every error message, with the key of its image."""
        return [with_key(self.keys[image], error) for image, error in self.errors.items()]

    def answered_images(self) -> Floats:
        """Return for each image (n,) 1 if all its answers were received, 0 for an error, NaN without a request."""
        return answered_images(np.arange(len(self.keys)), self.errors, len(self.keys))

    def with_thresholds(self, predict_other: "Callable[[], Predictions]", source: str) -> "Predictions":  # noqa: ARG002
        """Return these predictions with thresholds that are chosen on those of another split, if they have scores.

        Args:
            predict_other: Returns the predictions of the same model on the other split (`--eye-threshold-from`).
            source: The name and the fingerprint of the other split, for the record.
        """
        return self

    def clusters(self) -> Ints | None:
        """Return the cluster (sampling unit) of each image (n,), None where every image is its own."""
        return None

    def usage_record(self) -> UsageRecord | None:
        """Return the number of requests and tokens, None for answers without requests."""
        return None

    def notes(self) -> Iterator[str]:
        """Yield notes about the answers that a reader of the metrics needs."""
        yield from ()

    def data_notes(self) -> Iterator[str]:
        """Yield notes about the data that a reader of the metrics needs."""
        yield from ()


P = TypeVar("P", bound=Predictions)
Metric = Callable[[P], Iterable[Estimate] | Floats]  # values (n,) of the images: their mean is the estimate


@dataclass(frozen=True)
class Example:
    """A case that documents show: its name, and which of its numbers, each a name, a subset, and a level or prompt."""

    case: str
    numbers: tuple[str, ...]


class Protocol(ABC, Generic[P]):
    """A way to ask a model about a data set.

    `requires` are capabilities of models; one of them is sufficient. `replays` is the value of `of` in
    `replay[…,of=…]` by which a file of completions declares that it answers this protocol, "" if no file can.
    `options` are declared here and set with `--eye-set`. `source` is the publication that defines the protocol.
    `benchmarks` are the names of the benchmarks that it is for: a test function makes a case for each split of these
    unless it names others, and `eyechart.evaluate` chooses it for them. "*" stands for every benchmark that is not
    packaged, "FAMILY/*" for those whose splits are of a family (`SplitRef.family`), such as tables of questions.
    `metrics` are computed for every case; the first one is the primary one, which a sequential test is about.
    `steps` are the functions that make the requests, read the responses and decide what is correct, in this order:
    `eyechart explain` says where their code is.
    `prompts` are the names of the packaged prompts that it asks, for documents.
    `prompt_kinds` are the kinds of question that packaged prompts ask, by their names; a prompt that is not among them
    asks every kind. `example` is the case of packaged data that documents show.

    Tables, page and exports read the following. `summary` is a sentence about what the model is asked, and `short_name`
    what published tables call the protocol; "" for its name. `order` is its position among the protocols of a table;
    of equal ones, that of their names decides.
    `score_name` says by what number it ranks classes. `sample_view` says how the page shows its sample table;
    None for the columns that all tables share. `reference_labels`
    is the label set of its samples that the page shows first, if the data set has no original one. `sample_unit` is
    what the page calls a sample, "" for what the reader of its sample table says; `knows_images` says whether the
    page can show the images of its records. `task_type` and
    `shots` are the cells of Mill's aggregate.csv, where `own_task` makes the protocol a task beside the benchmark.
    """

    name: ClassVar[str]
    requires: ClassVar[tuple[str, ...]]
    replays: ClassVar[str] = ""
    options: ClassVar[tuple[Option, ...]] = ()
    source: ClassVar[str] = ""
    benchmarks: ClassVar[tuple[str, ...]] = ()
    metrics: "ClassVar[tuple[Metric[Any], ...]]" = ()
    steps: ClassVar[tuple[Callable[..., object], ...]] = ()
    prompts: ClassVar[tuple[str, ...]] = ()
    prompt_kinds: ClassVar[Mapping[str, str]] = {}
    example: ClassVar[Example | None] = None
    summary: ClassVar[str] = ""
    short_name: ClassVar[str] = ""
    order: ClassVar[int] = 0
    score_name: ClassVar[str] = "score"
    sample_view: ClassVar[SampleView | None] = None
    reference_labels: ClassVar[str] = ""
    sample_unit: ClassVar[str] = ""
    knows_images: ClassVar[bool] = True
    task_type: ClassVar[str] = ""
    shots: ClassVar[str] = ""
    own_task: ClassVar[bool] = False

    def supports(self, capabilities: Collection[str]) -> bool:
        """Return whether a model can run under this protocol.

        Args:
            capabilities: What the model offers, such as `generator`.
        """
        return not {*self.requires, f"said:{self.replays}"}.isdisjoint(capabilities)

    @property
    def answers_in_text(self) -> bool:
        """Whether the model answers in text."""
        return "generator" in self.requires

    def defaults(self) -> dict[str, str]:
        """Return the default value of every option."""
        return {option.name: option.default for option in self.options}

    def expand_grid(self, requested: RequestedValues, capabilities: Collection[str] = ()) -> Iterator[OptionValues]:
        """Yield every combination of the requested values, each once after unused options are set to their defaults.

        Invalid combinations are left out, unless all are invalid: then all are yielded, so that each reports its error.

        Args:
            requested: The requested values of options, by name; other options have their default.
            capabilities: What the model offers: a file of completions has fewer options.

        Yields:
            A value for every option, by name.
        """
        values = [requested.get(option.name, (option.default,)) for option in self.options]
        names, defaults = [option.name for option in self.options], self.defaults()
        combinations = [dict(zip(names, combination, strict=True)) for combination in product(*values)]
        replayed = bool(self.replays) and f"said:{self.replays}" in capabilities
        normalised = [
            options | {name: defaults[name] for name in self.unused_options(options, replayed=replayed) & {*names}}
            for options in combinations
        ]
        valid = [options for options in normalised if self.is_valid(options)] or normalised
        yield from {tuple(options.items()): options for options in valid}.values()

    def unused_options(self, options: OptionValues, *, replayed: bool) -> set[str]:  # noqa: ARG002
        """Return the options that have no effect together with the others; they are recorded at their defaults.

        Args:
            options: A value for every option, by name.
            replayed: Whether the answers come from a file.
        """
        return set()

    def is_valid(self, options: OptionValues) -> bool:  # noqa: ARG002
        """Return whether the options can be combined.

        Args:
            options: A value for every option, by name.
        """
        return True

    def warnings(self, requested: RequestedValues) -> str:  # noqa: ARG002
        """Return a sentence about requested options that have no effect, "" if all have one.

        Args:
            requested: The requested values of options, by name.
        """
        return ""

    def case_suffix(self, options: OptionValues) -> str:
        """Return the options that are not at their defaults, as the name of a case has them.

        Args:
            options: A value for every option, by name.
        """
        defaults = self.defaults()
        return ",".join(f"{name}={value}" for name, value in sorted(options.items()) if value != defaults[name])

    def unavailable(self, context: Context) -> str:  # noqa: ARG002
        """Return why this case must be skipped, "" if it can run.

        Args:
            context: The model, the data set and the options of the case.
        """
        return ""

    def open_in_memory(self, data: Any, benchmark: str, split: str) -> Dataset | None:  # noqa: ARG002
        """Return a data set of an object that a program holds, None if the protocol takes labelled images as all do.

        Args:
            data: The object, such as a data frame.
            benchmark: The name of the benchmark.
            split: The name of the split.
        """
        return None

    @abstractmethod
    def predict(self, context: Context) -> P:
        """Send requests through `context.runner` and parse the responses.

        Args:
            context: The model, the data set and the options of the case.

        Returns:
            The predictions: metrics are functions of them.

        Raises:
            AbsentError: If data of the case are missing: the case is skipped, and fails under `--eye-strict`.
        """

    def prompt_slots(self, text: str, variant: Mapping[str, str], dataset: Dataset | None) -> dict[str, str]:  # noqa: ARG002
        """Return the values of a prompt's slots that are the same for all images, so that a page can show them.

        Args:
            text: The prompt before its slots are filled.
            variant: The settings of the case, as its record has them.
            dataset: The data set of the case, None where it cannot be opened.

        Returns:
            The value of each slot that is known, by the name of the slot.
        """
        return {}

    def reported(self, split: str, model: ModelSpec, metrics: Sequence[MetricRecord]) -> Reported | None:  # noqa: ARG002
        """Return the published value for a split and a model, None if there is none.

        Args:
            split: The split, as `benchmark/split`.
            model: The specification of the model.
            metrics: The metrics of the record.
        """
        return None


def answered_images(images: Ints, failed: Iterable[int], count: int) -> Floats:
    """Return for each of `count` images (count,) 1 if it was answered, 0 if a request failed, NaN without a request.

    `images` (q,) is the image of each request, and `failed` are the indices of failed requests.

    >>> answered_images(np.array([0, 0, 2]), [1], 4)
    array([ 0., nan,  1., nan])
    """
    outcomes = np.full(count, np.nan)
    outcomes[images] = 1
    outcomes[images[[*failed]]] = 0
    return outcomes


def with_key(key: str, error: str) -> str:
    """Return an error message with the key of its image, unless it contains the key.

    >>> with_key("a.png", "cannot be decoded"), with_key("a.png", "a.png is empty")
    ('a.png: cannot be decoded', 'a.png is empty')
    """
    return error if key in error else f"{key}: {error}"


def truncation_note(count: int, total: str) -> Iterator[str]:
    """Yield a note if `count` answers of `total`, such as "140 images", ended at the token limit.

    >>> list(truncation_note(0, "140 images"))
    []
    """
    if count:
        yield f"{count} of {total} ended at the token limit before they answered (truncated); they count as wrong."

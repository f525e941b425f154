"""`evaluate`, the fixture of benchmark functions: predicts a case and computes metrics from its predictions."""

import typing
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Generic, cast

from eyechart.data.dataset.dataset import Dataset
from eyechart.data.dataset.limits import Limit
from eyechart.data.imagenet.classes import has_imagenet_classes
from eyechart.data.labels.class_names import VOCABULARIES, load_class_names
from eyechart.data.labels.equivalences import LabelPolicy, equivalent_pairs
from eyechart.errors import MissingAnswersError, ModelError, SpecError, UnavailableError
from eyechart.evaluation.case_result import CaseResult, StoredResults, results_path
from eyechart.evaluation.settings import Case, Settings
from eyechart.gate.sequential.stop_early import SequentialTest, block_sizes
from eyechart.inference.store.responses import AnswerCounts
from eyechart.models.description.identity import describe_identity, describe_late_files
from eyechart.models.runtime.phases import phase
from eyechart.protocol.base import Metric, P, Protocol
from eyechart.protocol.context import Context
from eyechart.protocol.prompts import is_eyechart_prompt
from eyechart.results.estimates import Estimate

PUBLISHED = "12"
PUBLISHED_WITH_DUPLICATES = ("openai", "kisel", "wordnet")


class _MakeContexts(typing.Protocol):
    """Makes the context of a case, with the model in memory."""

    def __call__(self, *, block: int | None = None) -> Iterator[Context]:
        """Yield the context on so many images in random order, None for all.

        There are several if the answers in the store may be those of several models.
        """


class Evaluate(Generic[P]):
    """Evaluates one case. A call computes the metrics of the protocol, and further metrics that are passed.

    The first call computes the predictions; later calls use them again. With a sequential test, the first metric of the
    protocol decides how many images are asked, or the first one that is passed if the protocol has none.
    """

    def __init__(
        self,
        case: Case,
        settings: Settings,
        protocol: Protocol[P],
        make_contexts: _MakeContexts,
        run: Path,
        new_loads: Callable[[], int] = lambda: 0,
        test: SequentialTest | None = None,
    ) -> None:
        self.case, self.settings, self.protocol, self.run = case, settings, protocol, run
        self.make_contexts, self.new_loads, self.test = make_contexts, new_loads, test
        self.result: CaseResult[P] | None = None

    def __call__(self, *metrics: Metric[P]) -> tuple[Estimate, ...]:
        """Compute the metrics of the protocol and those that are passed, each once, and add them to the record.

        Args:
            metrics: Functions from predictions to estimates, or to a value (n,) for each image, whose mean is then the
                estimate.

        Returns:
            The estimates of the metrics that are passed, in order; without any, those of the protocol.

        Raises:
            SpecError: If the protocol has no metrics, and none are passed.
            UnavailableError: If the case must be skipped.
            AbsentError: If data are missing.
        """
        known = (*self.protocol.metrics, *metrics)
        if not known:
            raise SpecError(
                f"The protocol {self.protocol.name} has no metrics, and none are passed. Give its class a tuple "
                "`metrics` of functions from predictions to estimates, or pass such functions: evaluate(my_metric) in "
                "a test, metrics=[my_metric] in eyechart.evaluate."
            )
        if self.result is None and self.test:
            self.result = self.ask_in_blocks(self.test, known[0])
        result = self.get_result()
        with phase("score"):
            estimates = result.add(known)
            return result.add(metrics) if metrics else estimates

    def ask_in_blocks(self, test: SequentialTest, primary: Metric[P]) -> CaseResult[P]:
        """Return the result on the first blocks of images that decide the test, or on all images.

        Args:
            test: The sequential test.
            primary: The metric that it is about.
        """
        size, loads = len(next(self.make_contexts()).dataset), 0
        for count in block_sizes(size):
            result = self.predict(next(self.make_contexts(block=count)), limit=None if count == size else count)
            result.loads = loads = loads + result.loads
            result.add([primary])
            evidence = result.make_evidence(result.estimates, {})
            result.computed.clear()
            if count < size and (reason := test.decide(evidence)):
                result.stop = f"stopped after {count:,} of {size:,} images, which show {reason} (--eye-sequential)"
                break
        return result

    @property
    def predictions(self) -> P:
        """The predictions of the case."""
        return self.get_result().predictions

    def get_result(self) -> CaseResult[P]:
        """Return the result of the case, and compute its predictions at the first call."""
        if self.result is None:
            self.result = self.find_result()
        return self.result

    def find_result(self) -> CaseResult[P]:
        """Return the result with the first model whose answers are all there.

        Raises MissingAnswersError if there is none, and ModelError if two have other number formats.
        """
        results, missing = list[CaseResult[P]](), list[MissingAnswersError]()
        for context in self.make_contexts():
            if all(context.model.identity.dtype != result.identity.dtype for result in results):
                try:
                    results.append(self.predict(context, self.settings.limit))
                except MissingAnswersError as error:
                    missing.append(error)
        if not results:
            raise missing[0]
        if len(results) > 1:
            several = "; ".join(describe_identity(result.identity) for result in results)
            raise ModelError(
                f"{self.case.model}: the store has answers of {len(results)} models with this specification: "
                f"{several}. Write dtype=… in the specification."
            )
        return results[0]

    def predict(self, context: Context, limit: Limit) -> CaseResult[P]:
        """Return the result of the case on the images of a context.

        Args:
            context: The model, the data set and the options of the case.
            limit: How the images of the context were drawn, None for all.
        """
        if reason := self.protocol.unavailable(context):
            raise UnavailableError(f"{self.case.model}: {reason}")
        predictions, digests = self.protocol.predict(context), {*context.runner.digests}
        if context.threshold_context:
            other = context.threshold_context()
            source = f"{other.dataset.benchmark}/{other.dataset.split} ({other.dataset.fingerprint[:8]})"
            predictions = cast("P", predictions.with_thresholds(partial(self.protocol.predict, other), source))
            digests |= {*other.runner.digests}
        loads = self.new_loads()
        identity = context.describe_models(loads > 0) if context.describe_models else context.model.identity
        settings = replace(self.settings, limit=limit, sequential=self.test is not None)
        dataset = context.dataset if context.dataset.with_images is None else context.dataset.with_images
        result = CaseResult(self.case, settings, dataset, identity, self.protocol, predictions, self.run)
        result.results = StoredResults(
            results_path(settings.store, self.case.slug, context.dataset.fingerprint, limit, settings.seed)
        )
        result.loads = loads
        result.note = " ".join(filter(None, (context.model.model_note, describe_late_files(context.model))))
        result.class_names = prompt_names(context)
        result.prompts = tuple(prompt for prompt in context.prompts.values() if not is_eyechart_prompt(prompt))
        result.store_entries = tuple(sorted(digests))
        result.max_tokens = max(context.runner.token_limits, default=0)
        result.answer_counts = sum(context.runner.answer_counts.values(), AnswerCounts())
        return result


def prompt_names(context: Context) -> tuple[str, ...]:
    """Return the class names of prompts for a split without names of its own, () unless each class has one."""
    names = () if context.dataset.names else tuple(context.raw_names)
    return names if len(names) == context.dataset.classes else ()


def resolve_class_names(dataset: Dataset, requested: str) -> tuple[tuple[str, ...], str]:
    """Return the class names of a case and their source: the split's own names, or a list of names for ImageNet."""
    if not dataset.classes:
        return (), "none"
    is_packaged = requested in VOCABULARIES
    if dataset.names and (requested == "mill" or (is_packaged and not has_imagenet_classes(dataset))):
        return dataset.names, "split"
    names = load_class_names(requested)
    return names.names, f"{names.name} ({names.sha256[:8]})"


def make_label_policy(settings: Settings, dataset: Dataset) -> LabelPolicy:
    """Return how labels are compared. ImageNet has published equivalent classes, other splits have their own."""
    name = settings.equivalences.removeprefix("strict:")
    own = name == PUBLISHED and not has_imagenet_classes(dataset)
    equivalent = tuple(dataset.equivalences if own else equivalent_pairs(name, dataset.classes))
    source = "own" if dataset.equivalences and equivalent == dataset.equivalences else settings.equivalences
    return LabelPolicy(
        equivalent,
        settings.equivalences.startswith("strict:"),
        settings.categories == "strict",
        source if equivalent else "none",
    )

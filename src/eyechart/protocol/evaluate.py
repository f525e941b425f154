"""`evaluate`: asks the model of a case under its protocol and computes metrics from its predictions."""

from collections.abc import Callable
from pathlib import Path
from typing import Generic

from eyechart.data.class_names import VOCABULARIES, load_class_names
from eyechart.data.dataset import Dataset
from eyechart.data.equivalences import LabelPolicy, equivalent_pairs
from eyechart.data.imagenet_names import has_imagenet_classes
from eyechart.errors import UnavailableError
from eyechart.estimates import Estimate
from eyechart.models.types import Identity
from eyechart.protocol.base import Metric, P, Protocol
from eyechart.protocol.context import Context
from eyechart.protocol.result import CaseResult
from eyechart.protocol.settings import Case, Settings

PUBLISHED = "12"
PUBLISHED_WITH_DUPLICATES = ("openai", "kisel", "wordnet")


class Evaluate(Generic[P]):
    """Evaluates one case: call it with metrics, which are functions from predictions to estimates.

    The model is asked at the first call, and its answers are kept for the next ones.
    """

    def __init__(
        self,
        case: Case,
        settings: Settings,
        protocol: Protocol[P],
        make_context: Callable[[], Context],
        run: Path,
        new_loads: Callable[[], int] = lambda: 0,
    ) -> None:
        self.case, self.settings, self.protocol, self.run = case, settings, protocol, run
        self.make_context, self.new_loads = make_context, new_loads
        self.result: CaseResult[P] | None = None

    def __call__(self, *metrics: Metric[P]) -> tuple[Estimate, ...]:
        """Compute metrics, keep their estimates for the record and return them.

        Raises UnavailableError for a case that cannot be asked, and AbsentError for data that are not there.
        """
        return self.get_result().add(metrics)

    @property
    def predictions(self) -> P:
        """What the answers of the model mean."""
        return self.get_result().predictions

    def get_result(self) -> CaseResult[P]:
        """Return the result of the case; the model is asked where it was not asked before."""
        if self.result is None:
            context = self.make_context()
            if why := self.protocol.unavailable(context):
                raise UnavailableError(f"{self.case.model}: {why}")
            predictions = self.protocol.predict(context)
            identity: Identity = context.model.identity
            case, settings, dataset = self.case, self.settings, context.dataset
            self.result = CaseResult(case, settings, dataset, identity, self.protocol, predictions, self.run)
            self.result.loads = self.new_loads()
        return self.result


def resolve_class_names(dataset: Dataset, settings: Settings, protocol: str = "") -> tuple[tuple[str, ...], str]:
    """Return the class names of a case and their source: a split's own names, or a list of ImageNet's classes."""
    given = settings.names_by_protocol.get(protocol, settings.names)
    published = given in VOCABULARIES
    if dataset.names and (given == "mill" or (published and not has_imagenet_classes(dataset))):
        return dataset.names, "split"
    found = load_class_names(given)
    return found.names, f"{found.name} ({found.sha256[:8]})"


def make_label_policy(settings: Settings, dataset: Dataset) -> LabelPolicy:
    """Return how labels are compared; ImageNet's equivalences are for its classes, other splits have their own."""
    named = settings.equivalences.removeprefix("strict:")
    own = named == PUBLISHED and not has_imagenet_classes(dataset)
    found = tuple(dataset.equivalences if own else equivalent_pairs(named, dataset.classes))
    source = "own" if dataset.equivalences and found == dataset.equivalences else settings.equivalences
    return LabelPolicy(
        found, settings.equivalences.startswith("strict:"), settings.categories == "strict", source if found else "none"
    )

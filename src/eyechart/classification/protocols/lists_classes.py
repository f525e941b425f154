"""What protocols share whose prompt lists the class names."""

from collections.abc import Mapping

from eyechart.classification.answers.class_lists import shown_class_list
from eyechart.data.dataset.dataset import Dataset
from eyechart.protocol.base import P, Protocol


class ListsClasses(Protocol[P]):
    """A protocol whose prompt lists the class names."""

    def prompt_slots(self, text: str, variant: Mapping[str, str], dataset: Dataset | None) -> dict[str, str]:
        """Return the list of class names."""
        return shown_class_list(text, variant, dataset)

"""The base class of protocols whose prompt lists the class names: it fills the prompt again where the page shows it."""

from collections.abc import Mapping, Sequence

from eyechart.classification.answers.image_batches import format_class_list
from eyechart.data.dataset.dataset import Dataset
from eyechart.data.labels.class_names import load_class_names
from eyechart.errors import EyechartError
from eyechart.protocol.base import P, Protocol
from eyechart.protocol.prompts import NAMED


class ListsClasses(Protocol[P]):
    """A protocol whose prompt lists the class names."""

    def prompt_slots(self, text: str, variant: Mapping[str, str], dataset: Dataset | None) -> dict[str, str]:
        """Return the slot of class names as it was filled; {} if the prompt has none, or the names are not known."""
        if "{class_list}" not in text or dataset is None:
            return {}
        names = _prompt_class_names(variant.get("names", ""), dataset)
        if len(names) != dataset.classes:
            return {}
        listed = [names[index] for index in dataset.subset or range(dataset.classes)]
        answer = "id" if variant.get("answer") == "id" else "name"  # a constrained answer is a name
        return {"class_list": format_class_list(listed, answer)}


def _prompt_class_names(source: str, dataset: Dataset) -> Sequence[str]:
    """Return the class names that a record names: the split's own, or packaged ones that are as they were."""
    if source == "split":
        return dataset.names
    for name, digest in NAMED.findall(source):
        try:
            names = load_class_names(name)
        except EyechartError:
            return ()
        return names.names if names.sha256.startswith(digest) else ()
    return ()

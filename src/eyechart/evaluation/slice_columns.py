"""Slices of a data set: the images with one value of a variable, such as `class=dog` or `lighting=night`."""

from collections import Counter
from collections.abc import Iterator, Sequence

from eyechart.data.dataset.dataset import Dataset
from eyechart.data.dataset.slice_variables import CLASS, SliceVariable


def slice_variables(dataset: Dataset, class_names: Sequence[str] = ()) -> Iterator[SliceVariable]:
    """Yield the variables of the selected images: the columns of the user's table, and those of the details of the
    data set, such as the levels of a taxonomy, or else the original class.

    `class_names` are used if the data set has no names; classes without names have their index.
    """
    details = dataset.selected_details
    variables = tuple(details.slice_variables()) if details is not None else ()
    for variable in (*own_variables(dataset), *(variables or (_class_variable(dataset, class_names),))):
        if variable is not None and (used := variable.used()).values:
            yield used


def own_variables(dataset: Dataset) -> Iterator[SliceVariable]:
    """Yield the variables of the user's table on the selected images."""
    return (variable.select(dataset.selected).used() for variable in dataset.slices)


def _class_variable(dataset: Dataset, class_names: Sequence[str] = ()) -> SliceVariable | None:
    """Return the original class of the selected images; None for images without classes."""
    for labels in dataset.label_sets.values():
        if labels.original and labels.labels.shape[1]:
            codes = labels.labels[list(dataset.selected), 0]
            return SliceVariable(CLASS, distinct_names(dataset.names or class_names, dataset.classes), codes)
    return None


def distinct_names(names: Sequence[str], classes: int) -> tuple[str, ...]:
    """Return a distinct text for each class: its name, with its index if several classes have the name.

    >>> distinct_names(["crane", "dog", "crane"], 3), distinct_names((), 2)
    (('crane (0)', 'dog', 'crane (2)'), ('0', '1'))
    """
    if len(names) != classes:
        return tuple(map(str, range(classes)))
    counts = Counter(names)
    return tuple(f"{name} ({index})" if counts[name] > 1 else name for index, name in enumerate(names))

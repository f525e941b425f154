"""Slices of a case: the images with one value of a variable, such as `class=dog`, and estimates on them."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from eyechart.data.dataset.dataset import Dataset, SliceVariable
from eyechart.data.dataset.slice_variables import CLASS
from eyechart.protocol.base import Ints
from eyechart.results.estimates import Estimate
from eyechart.results.headlines import ANSWERED
from eyechart.results.records import LABELLED, WHOLE


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


def slice_estimates(
    estimates: Sequence[Estimate], variables: Iterable[SliceVariable], clusters: Ints | None
) -> Iterator[Estimate]:
    """Yield the metric that is sliced on each slice of variables (n,); `clusters` (n,) as elsewhere."""
    whole = _sliced_estimate(estimates)
    if whole is None or whole.correct is None:
        return
    for variable in variables:
        for index, value in enumerate(variable.values):
            outcomes = np.where(variable.codes == index, whole.correct, np.nan)
            subset = f"{variable.name}={value}"
            yield Estimate.proportion(
                whole.name,
                outcomes,
                clusters,
                compared=False,
                labels=whole.labels,
                subset=subset,
                title=subset,
                higher_is_better=whole.higher_is_better,
            )


def _sliced_estimate(estimates: Sequence[Estimate]) -> Estimate | None:
    """Return the first proportion that the gate judges; of one that counts images without a label, that without them.

    It is the primary metric, unless that is no proportion.
    """
    judged = {
        estimate.key: estimate
        for estimate in estimates
        if estimate.n
        and estimate.higher_is_better is not None
        and estimate.name != ANSWERED
        and estimate.correct is not None
    }
    first = next(iter(judged.values()), None)
    if first is None or first.key[2:] != (WHOLE, "", ""):
        return first
    return judged.get((first.name, first.labels, LABELLED, "", ""), first)

"""Slices of a case: the images with one value of a variable, such as `class=dog`, estimates on them, and their file.

The file has the slices of a split, and all cases of a run on the same samples share it.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from eyechart.data.dataset.dataset import Dataset, SliceVariable
from eyechart.data.dataset.slice_variables import CLASS
from eyechart.errors import ReportError
from eyechart.files.atomic import write_atomic
from eyechart.results.estimates import Estimate
from eyechart.results.evidence import Evidence, digest, pack_array, unpack_array
from eyechart.results.headlines import ANSWERED
from eyechart.results.records import LABELLED, WHOLE, encode

FOLDER = "slices"  # beside the evidence of a run
Ints = NDArray[np.int64]


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


class _StoredVariable(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A variable of samples: its name, its values, and the packed int32 index of each sample's value, -1 for none.

    `group` is an attribute's.
    """

    name: str
    values: tuple[str, ...]
    codes: str
    group: str = ""


def write_slices(variables: Iterable[SliceVariable], folder: Path) -> str | msgspec.UnsetType:
    """Write variables once for all cases with the same ones and return the name of their file, UNSET without any."""
    stored = [
        _StoredVariable(name=v.name, values=v.values, codes=pack_array(v.codes.astype("<i4").tobytes()), group=v.group)
        for v in variables
    ]
    if not stored:
        return msgspec.UNSET
    content = encode(stored)
    path = folder / FOLDER / f"{digest(content)}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.is_file():
        write_atomic(path, content)
    return path.stem


def read_slices(evidence: Evidence, folder: Path) -> tuple[SliceVariable, ...]:
    """Return the variables of a case's samples, () if it has none. Raises ReportError if the file is damaged."""
    if evidence.slices is msgspec.UNSET:
        return ()
    path = folder / FOLDER / f"{evidence.slices}.json"
    try:
        content = path.read_bytes()
        if digest(content) != evidence.slices:
            raise ValueError("its content has another digest than its name")
        stored = msgspec.json.decode(content, type=tuple[_StoredVariable, ...])
        return tuple(_unpack(variable, evidence.samples) for variable in stored)
    except (OSError, msgspec.DecodeError, ValueError) as error:
        raise ReportError(f"{path} cannot be read ({error}). Run the case again.") from error


def _unpack(variable: _StoredVariable, samples: int) -> SliceVariable:
    codes = np.frombuffer(unpack_array(variable.codes, 4 * samples), "<i4").astype(np.int64)
    return SliceVariable(variable.name, variable.values, codes, variable.group)

"""Slices by attributes of the images: each image is measured once, and cached by the sha256 of its bytes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from dataclasses import replace
from itertools import islice, pairwise
from math import isnan
from os import cpu_count
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from eyechart.data.attributes.measure import ATTRIBUTES, measure_image
from eyechart.data.dataset.dataset import Dataset, SliceVariable
from eyechart.data.index.index_cache import hold_lock
from eyechart.errors import DataError
from eyechart.files.atomic import read_checked, write_checked
from eyechart.statistics.quantile_bins import correlated_groups, quantile_bins

Floats = NDArray[np.float64]
Values = tuple[float | None, ...]  # None for NaN, which JSON does not have
FOLDER = "attributes-1"  # in the folder of the indexes; another number if a measure changes
_HEX = 64  # digits of a digest
_CHUNK = 64  # images that are in memory at once


def add_attributes(dataset: Dataset, cache: Path | None) -> Dataset:
    """Return a data set with the attributes of its selected images as variables of slices, cut at their quartiles.

    Attributes that order the images alike, by the images alone, have one group. Raises DataError if a column of
    slices.csv has the name of an attribute.
    """
    own = {variable.name for variable in dataset.slices}
    known = attribute_values(dataset, cache)
    if taken := sorted(own & known.keys()):
        raise DataError(
            f"The slices.csv of {dataset.benchmark}/{dataset.split} has the column '{taken[0]}', which is also an "
            "attribute of images: rename the column, or leave out --eye-slices=attributes."
        )
    return replace(dataset, slices=(*dataset.slices, *attribute_variables(known, dataset.selected, len(dataset.index))))


def attribute_variables(values: Mapping[str, Floats], rows: Sequence[int], count: int) -> Iterator[SliceVariable]:
    """Yield the variables of attributes (n,) of some of `count` rows; attributes that are constant are left out."""
    cut = {name: quantile_bins(numbers) for name, numbers in values.items()}
    names = [name for name, (_, edges) in cut.items() if edges]
    groups = correlated_groups([values[name] for name in names])
    group_of = {names[index]: number for number, group in enumerate(groups) for index in group}
    for name in names:
        codes, edges = cut[name]
        spread = np.full(count, -1, np.int64)
        spread[list(rows)] = codes
        group = ", ".join(names[index] for index in groups[group_of[name]])
        yield SliceVariable(name, _describe_bins(edges), spread, group)


def _describe_bins(edges: Sequence[float]) -> tuple[str, ...]:
    """Return a name of each bin.

    >>> _describe_bins((0.25, 1000.0))
    ('up to 0.25', '0.25 to 1000', 'above 1000')
    """
    texts = [np.format_float_positional(edge, trim="-") for edge in edges]
    middle = [f"{low} to {high}" for low, high in pairwise(texts)]
    return (f"up to {texts[0]}", *middle, f"above {texts[-1]}")


def attribute_values(dataset: Dataset, cache: Path | None) -> dict[str, Floats]:
    """Return the attributes of the selected images (n,) by name, NaN where an image has none.

    They are the ones of `ATTRIBUTES`, and what the details of the data set have.
    """
    measured = np.array(_measure_all(dataset, cache), np.float64).reshape(-1, len(ATTRIBUTES))
    details = dataset.selected_details
    own = {} if details is None else details.image_attributes()
    return {**dict(zip(ATTRIBUTES, measured.T, strict=True)), **own}


def _measure_all(dataset: Dataset, cache: Path | None) -> list[Values]:
    """Return the attributes of each selected image, from the cache where it has them."""
    digests = [digest or str(row) for row, digest in zip(dataset.selected, dataset.selected_digests, strict=True)]
    folder = None if cache is None else cache / FOLDER
    known = _read(folder, digests)
    if not known.keys() >= {*digests}:
        with nullcontext() if folder is None else hold_lock(folder):  # one process measures, and the others wait
            known = _read(folder, digests)
            missing = {digest: index for index, digest in enumerate(digests) if digest not in known}
            new = dict(_measure(dataset, missing))
            known |= new
            if folder is not None:
                _write(folder, {digest: values for digest, values in new.items() if len(digest) == _HEX})
    return [known[digest] for digest in digests]


def _measure(dataset: Dataset, missing: Mapping[str, int]) -> Iterator[tuple[str, Values]]:
    """Yield the attributes of images by digest; `missing` has the index of each among the selected images."""
    digest_of = {index: digest for digest, index in missing.items()}
    images = dataset.read(sorted(digest_of))
    with ThreadPoolExecutor(cpu_count() or 1) as executor:
        while chunk := [*islice(images, _CHUNK)]:
            measured = executor.map(measure_image, [data for _, data in chunk])
            for (index, _), values in zip(chunk, measured, strict=True):
                yield digest_of[index], tuple(None if isnan(value) else value for value in values)


def _read(folder: Path | None, digests: Iterable[str]) -> dict[str, Values]:
    """Return the attributes that the files of a cache have; a damaged file counts as missing."""
    known: dict[str, Values] = {}
    for name in {digest[:2] for digest in digests if folder is not None and len(digest) == _HEX}:
        with suppress(OSError, ValueError):
            known |= msgspec.json.decode(read_checked(folder / f"{name}.json"), type=dict[str, Values])  # type: ignore[operator]
    return known


def _write(folder: Path, new: Mapping[str, Values]) -> None:
    """Add attributes to the files of a cache, each of which has the images whose digest begins with its name."""
    parts: dict[str, dict[str, Values]] = {}
    for digest, values in new.items():
        parts.setdefault(digest[:2], {})[digest] = values
    with suppress(OSError):  # a store that is only read
        folder.mkdir(parents=True, exist_ok=True)
        for name, part in parts.items():
            write_checked(folder / f"{name}.json", msgspec.json.encode(_read(folder, part) | part))

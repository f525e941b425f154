"""Replay species probabilities from a file: `replay[path=P.npy,of=species]`.

P.npy has a row of floats for each image and a column for each species in the order of the taxonomy's table. P.csv
beside it has the keys of the rows (column `key`: a sample's key or its file name); without it the rows are the whole
split, in its order. A row of only NaN, or an image that P.csv does not name, is an error of that image.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.lib.format import open_memmap
from numpy.typing import NDArray

from eyechart.data.dataset.dataset import Dataset
from eyechart.data.index.sample_keys import count_others, match_unique_images, read_lines
from eyechart.errors import ModelError
from eyechart.models.choices.trie import Bools, Ints
from eyechart.models.replay.answer_file import AnswerFile, as_floats, file_sha256
from eyechart.models.types import Floats

EXPECTED = "Expected a .npy of floats, a row an image and a column a species, and beside it a csv with the column key."
SUM_TOLERANCE = 1e-3  # largest difference of a row's sum from 1
BLOCK = 2**22  # numbers per block
MISSING = -1


class SpeciesReplay(AnswerFile):
    """A model whose probabilities come from a file."""

    expected = EXPECTED

    def processor(self) -> Mapping[str, str]:
        """Return the digest of the file of keys, if there is one."""
        beside = _keys_path(self.path)
        return {"keys_sha256": file_sha256(beside)} if beside.is_file() else {}

    def probabilities(self, dataset: Dataset) -> "ReplayedProbabilities":
        """Return the probabilities of species, one row per image of the data set."""
        return _read_probabilities(self.path, dataset)


@dataclass(frozen=True)
class ReplayedProbabilities:
    """The rows of a data set's images, like an array (n, species) that is read from disk on access.

    Values have the precision of the file, and float32 at least.

    `row_indices` (n,) are the rows in the file, -1 if missing; `errors` are the messages of images with only NaN.
    """

    values: NDArray[np.floating]
    row_indices: Ints
    errors: Mapping[int, str]

    def __len__(self) -> int:
        return len(self.row_indices)

    @property
    def shape(self) -> tuple[int, int]:
        """The number of images and of species."""
        return len(self), self.values.shape[1]

    def __getitem__(self, which: slice) -> Floats:
        indices = self.row_indices[which]
        rows = as_floats(self.values[np.maximum(indices, 0)])
        rows[indices == MISSING] = np.nan
        return rows


def _read_probabilities(path: Path, dataset: Dataset) -> ReplayedProbabilities:
    """Read the rows of a data set's images.

    Raises ModelError for an unreadable file, a wrong shape, rows that are no probabilities, and unknown or repeated
    keys.
    """
    file = _File(path, _open_array(path, dataset))
    indices = file.indices(dataset)
    blank = file.checked()
    errors = {image: file.missing(key) for image, key in enumerate(dataset.keys) if indices[image] == MISSING}
    for image in np.flatnonzero((indices != MISSING) & blank[indices]).tolist():
        errors[image] = file.blank(dataset.keys[image])
    return ReplayedProbabilities(file.values, indices, errors)


def _open_array(path: Path, dataset: Dataset) -> NDArray[np.floating]:
    try:
        values: NDArray[np.floating] = open_memmap(path, mode="r")
    except (OSError, ValueError, EOFError) as error:
        raise ModelError(f"{path} cannot be read ({error}). {EXPECTED}") from error
    if not np.issubdtype(values.dtype, np.floating):
        raise ModelError(f"{path} holds numbers of type {values.dtype}. {EXPECTED}")
    if values.ndim != 2 or values.shape[1] != dataset.classes:
        raise ModelError(
            f"{path} has the shape {values.shape}, but {dataset.benchmark}/{dataset.split} has {dataset.classes:,} "
            f"species. Expected (images, {dataset.classes}), a column a species in the order of its taxonomy."
        )
    return values


@dataclass(frozen=True)
class _File:
    """A file of probabilities with its rows' keys."""

    path: Path
    values: NDArray[np.floating]

    @cached_property
    def keys_path(self) -> Path:
        return _keys_path(self.path)

    def missing(self, key: str) -> str:
        return f"{self.keys_path} has no row for {key}. Add a line with this key, and its row to {self.path.name}."

    def blank(self, key: str) -> str:
        return f"{self.path} has nothing but NaN for {key}. Give every species a probability."

    def indices(self, dataset: Dataset) -> Ints:
        """Return the row (n,) of each selected image, -1 if missing."""
        rows, whole = len(self.values), len(dataset.index)
        if self.keys_path.is_file():
            return self._by_key(dataset)[list(dataset.selected)]
        if rows != whole:
            raise ModelError(
                f"{self.path} has {rows:,} rows, but {dataset.benchmark}/{dataset.split} has {whole:,} images. Give a "
                f"row for each in its order, or the rows' keys in {self.keys_path.name} (column key)."
            )
        return np.array(dataset.selected, np.int64)

    def _by_key(self, dataset: Dataset) -> Ints:
        """Return the row of each image of the index, by the keys file."""
        lines = list(read_lines(self.keys_path, ("key",), EXPECTED))
        if len(lines) != len(self.values):
            raise ModelError(
                f"{self.keys_path} has {len(lines):,} keys, but {self.path.name} has {len(self.values):,} rows. "
                "Expected a key for each row, in its order."
            )
        keys = [line.key for line in lines]
        return match_unique_images(self.keys_path, dataset, keys, lambda index: lines[index].where)

    def checked(self) -> Bools:
        """Return the mask of rows with only NaN; raises ModelError for rows that are no probabilities."""
        sums, least = np.empty(len(self.values)), np.empty(len(self.values))
        blank = np.zeros(len(self.values), np.bool_)
        step = max(1, BLOCK // max(1, self.values.shape[1]))
        for start in range(0, len(sums), step):
            block = as_floats(self.values[start : start + step])
            part = slice(start, start + step)
            with np.errstate(invalid="ignore"):  # minus infinity beside infinity is refused below
                sums[part], least[part] = block.sum(axis=1), block.min(axis=1, initial=np.inf)
            odd = start + np.flatnonzero(np.isnan(sums[part]))
            blank[odd] = np.isnan(block[odd - start]).all(axis=1)
        self._raise_if_any(np.isnan(sums) & ~blank, "has NaN or infinity beside numbers")
        self._raise_if_any(least < 0, "has a negative number, {:.4g}", least)
        self._raise_if_any(np.abs(sums - 1) > SUM_TOLERANCE, "sums to {:.4g}", sums)
        return blank

    def _raise_if_any(self, wrong: Bools, what: str, values: NDArray[np.float64] | None = None) -> None:
        if not wrong.any():
            return
        first = int(wrong.argmax())
        problem = what if values is None else what.format(values[first])
        others = count_others(np.flatnonzero(wrong).tolist())
        raise ModelError(
            f"{self.path}: row {first} (of rows counted from 0) {problem}{others}. "
            f"Expected probabilities, which sum to one within {SUM_TOLERANCE:g} in every row, such as a softmax over "
            "the species."
        )


def _keys_path(path: Path) -> Path:
    """Return the path of the optional file with the keys of the rows."""
    return path.with_suffix(".csv")

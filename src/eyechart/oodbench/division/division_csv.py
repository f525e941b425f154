"""The CSV format of OODBench's authors: one file per set with the columns img_id, category, answer (YES or NO)."""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from io import StringIO
from pathlib import Path, PurePosixPath

import numpy as np

from eyechart.data.dataset.dataset import Dataset
from eyechart.data.names import fold_name
from eyechart.errors import DataError
from eyechart.files.text_files import plain_text
from eyechart.oodbench.data.annotation import find_annotation
from eyechart.oodbench.division.pairs import HARD_SAMPLES, SETS, Division, Pairs

HEADER = ("img_id", "category", "answer")
ANSWERS = {"yes": True, "no": False}
_MAX_FAULTS = 10  # lines that a message names


def set_to_csv(division: Division, dataset: Dataset, name: str) -> bytes:
    """Return the CSV file of a set of the main benchmark."""
    file = StringIO(newline="")
    csv.writer(file, lineterminator="\n").writerows(_rows(division, dataset, name))
    return file.getvalue().encode()


def _rows(division: Division, dataset: Dataset, name: str) -> Iterator[Sequence[str]]:
    yield HEADER
    annotation = find_annotation(dataset)
    ids = annotation.image_ids if annotation else dataset.keys
    for index in np.flatnonzero((np.array(division.sets, np.object_) == name) & division.main).tolist():
        answer = "YES" if division.present[index] else "NO"
        yield ids[division.rows[index]], dataset.names[division.categories[index]], answer


def read_set(path: Path, dataset: Dataset) -> Division:
    """Read a division of a single set from a CSV file, such as a published one; the file name ends with the set's name.

    Raises DataError as `read_pairs`, and for a file name that does not end with the name of a set.
    """
    name = next((name for name in (*SETS, HARD_SAMPLES) if f"-{path.stem}".endswith(f"-{name}")), None)
    if name is None:
        raise DataError(
            f"The file name of {path} names no set. Rename the file so that it ends with {', '.join(SETS)} or "
            f"{HARD_SAMPLES}.csv."
        )
    pairs, annotation = read_pairs(path, dataset), find_annotation(dataset)
    n = len(pairs)
    return Division(
        rows=pairs.rows,
        categories=pairs.categories,
        sets=(name,) * n,
        main=np.ones(n, np.bool_),
        present=pairs.present,
        flags=np.zeros((n, 0), np.int64),
        hardness=np.full(n, np.nan),
        detectors=(),
        parameters={},
        fingerprint=dataset.fingerprint,
        annotation=annotation.sha256 if annotation else "",
    )


def read_pairs(path: Path, dataset: Dataset) -> Pairs:
    """Read the pairs of a CSV file in its order.

    Images are given by id, key, or file name with or without suffix.

    Raises DataError with the line numbers and faults of the first ten lines that are not a pair of this data set or
    contradict its annotation.
    """
    try:
        lines = csv.reader(StringIO(plain_text(path), newline=""), strict=True)
        numbered = [(lines.line_num, cells) for cells in lines]
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}). Copy it again.") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path} is not a CSV file of pairs ({error}). {_expected()}") from error
    if not numbered or len(numbered[0][1]) != len(HEADER) or numbered[0][1][2].strip().casefold() in ANSWERS:
        first = ",".join(numbered[0][1]) if numbered else ""
        raise DataError(f"{path} has no header: its first line is '{first}'. {_expected()}")
    reader = _Reader(dataset)
    faults = [f"line {number} {fault}" for number, cells in numbered[1:] if (fault := reader.read(cells))]
    if faults:
        more = f"; and {len(faults) - _MAX_FAULTS:,} more lines" if len(faults) > _MAX_FAULTS else ""
        raise DataError(f"{path}: {'; '.join(faults[:_MAX_FAULTS])}{more}. Correct or remove them.")
    return reader.pairs


def _expected() -> str:
    return f"Expected the header {','.join(HEADER)}, then lines with an image, a category and YES or NO."


@dataclass
class _Reader:
    """Collects the pairs of lines."""

    dataset: Dataset

    def __post_init__(self) -> None:
        self.found: dict[tuple[int, int], bool] = {}
        self.annotation = find_annotation(self.dataset)

    @property
    def pairs(self) -> Pairs:
        """The pairs that were read."""
        where = np.array([*self.found], np.int64).reshape(-1, 2)
        return Pairs(where[:, 0], where[:, 1], np.array([*self.found.values()], np.bool_))

    @cached_property
    def images(self) -> dict[str, int]:
        """The index of each image by its id, key, file name and stem, without names that several images share."""
        indices: dict[str, int] = {}
        for index, row in enumerate(self.dataset.selected):
            entry = self.dataset.index[row]
            for name in {entry.key, entry.file, PurePosixPath(entry.file).stem}:
                indices[name] = index if indices.get(name, index) == index else -1
        ids = self.annotation.image_ids if self.annotation else ()
        return {name: index for name, index in indices.items() if index >= 0} | {
            image_id: index for index, image_id in enumerate(ids)
        }

    @cached_property
    def categories(self) -> dict[str, int]:
        """The index of each category by its name, without regard to case and underscores."""
        return {fold_name(name): index for index, name in enumerate(self.dataset.names)}

    def read(self, cells: Sequence[str]) -> str:
        """Add the pair of a line; return its fault, "" if there is none."""
        if len(cells) != len(HEADER):
            return f"has {len(cells)} cells, expected {len(HEADER)}"
        image, category, answer = (cell.strip() for cell in cells)
        row, column = self.images.get(image), self.categories.get(fold_name(category))
        if row is None:
            return f"names the image '{image}', which {self.dataset.benchmark}/{self.dataset.split} does not have"
        if column is None:
            return f"names the category '{category}', which {self.dataset.benchmark}/{self.dataset.split} does not have"
        if answer.casefold() not in ANSWERS:
            return f"answers '{answer}', expected YES or NO"
        return self.keep((row, column), ANSWERS[answer.casefold()], f"'{category}' in {image}")

    def keep(self, pair: tuple[int, int], here: bool, description: str) -> str:
        """Add a pair; return its fault if it is repeated or contradicts the annotation."""
        if pair in self.found:
            return f"repeats {description}"
        notation = self.annotation
        if notation and not (notation.present if here else notation.known_absent)[pair]:
            return f"says {'YES' if here else 'NO'} for {description}, which contradicts the annotation"
        self.found[pair] = here
        return ""

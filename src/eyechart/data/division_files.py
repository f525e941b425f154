"""Division files: JSON with every pair by its image's key and its category's name, and the authors' csv.

The file holds to no order of rows or categories, so that it can be read back beside the same data however they are
opened; it says by fingerprints which data those are.
"""

import csv
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path

import msgspec
import numpy as np

from eyechart.data.dataset import Dataset
from eyechart.data.divisions import Detector, Division
from eyechart.errors import DataError
from eyechart.store import stamp

SCHEMA = 1


class Pair(msgspec.Struct, frozen=True, array_like=True):
    """One pair: key, category, set, whether of the main benchmark, whether present, flags, and hardness if mined."""

    key: str
    category: str
    set: str
    main: bool
    present: bool
    flags: str
    hardness: float | None = None


class Who(msgspec.Struct, frozen=True):
    """A detector, its prompts, and the sha256 of its logits."""

    spec: str
    templates: str
    scores_sha256: str


class File(msgspec.Struct, frozen=True, kw_only=True):
    """The whole file."""

    schema: int = SCHEMA
    benchmark: str
    split: str
    fingerprint: str
    annotation: str
    detectors: tuple[Who, ...]
    parameters: Mapping[str, str]
    notes: tuple[str, ...] = ()
    pairs: tuple[Pair, ...]


def content(division: Division, dataset: Dataset) -> bytes:
    """The bytes of a division's file, a pair a line."""
    head = File(
        benchmark=dataset.benchmark,
        split=dataset.split,
        fingerprint=division.fingerprint,
        annotation=division.annotation,
        detectors=tuple(Who(one.spec, one.templates, one.scores_sha256) for one in division.detectors),
        parameters=dict(sorted(division.parameters.items())),
        notes=division.notes,
        pairs=(),
    )
    lines = b",\n".join(map(msgspec.json.encode, _pairs(division, dataset)))
    return msgspec.json.encode(head).removesuffix(b"[]}") + b"[\n" + lines + b"\n]}\n"


def sha256_of(division: Division, dataset: Dataset) -> str:
    """The fingerprint of a division's file."""
    return sha256(content(division, dataset)).hexdigest()


def write_division(path: Path, division: Division, dataset: Dataset) -> None:
    """Write the file, and beside it the authors' csv of each set: a header, then image, category, YES or NO."""
    path.parent.mkdir(parents=True, exist_ok=True)
    stamp(path, content(division, dataset))
    for name in dict.fromkeys(division.sets):
        target = path.with_name(f"{path.stem}-{name}.csv")
        with target.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(_authors(division, dataset, name))


def _pairs(division: Division, dataset: Dataset) -> Iterator[Pair]:
    keys, names = dataset.keys, dataset.names
    for place, name in enumerate(division.sets):
        hard = float(division.hardness[place])
        yield Pair(
            keys[division.rows[place]],
            names[division.categories[place]],
            name,
            bool(division.main[place]),
            bool(division.present[place]),
            "".join(map(str, division.flags[place].tolist())),
            None if np.isnan(hard) else hard,
        )


def _authors(division: Division, dataset: Dataset, name: str) -> Iterator[Sequence[str]]:
    yield ["img_id", "category", "answer"]
    ids = dataset.annotation.of(dataset.selected).image_ids if dataset.annotation else dataset.keys
    for place in np.flatnonzero((np.array(division.sets) == name) & division.main).tolist():
        answer = "YES" if division.present[place] else "NO"
        yield [ids[division.rows[place]], dataset.names[division.categories[place]], answer]


def read_division(path: Path, dataset: Dataset) -> Division:
    """Read a division of this data set.

    Raises DataError for a file that is none, that was made from other data, or that names an image or a category that
    the data set does not have.
    """
    found = read_file(path)
    _same_data(path, found, dataset)
    rows = {key: place for place, key in enumerate(dataset.keys)}
    categories = {name: place for place, name in enumerate(dataset.names)}
    for pair in found.pairs:
        if pair.key not in rows or pair.category not in categories:
            raise DataError(
                f"{path} has the pair {pair.key}, {pair.category}, which {dataset.benchmark}/{dataset.split} does not "
                "have. Divide these data again."
            )
    flags = [[int(code) for code in pair.flags] for pair in found.pairs]
    return Division(
        rows=np.array([rows[pair.key] for pair in found.pairs], np.int64),
        categories=np.array([categories[pair.category] for pair in found.pairs], np.int64),
        sets=tuple(pair.set for pair in found.pairs),
        main=np.array([pair.main for pair in found.pairs], np.bool_),
        present=np.array([pair.present for pair in found.pairs], np.bool_),
        flags=np.array(flags, np.int64).reshape(len(found.pairs), len(found.detectors)),
        hardness=np.array([np.nan if pair.hardness is None else pair.hardness for pair in found.pairs], np.float64),
        detectors=tuple(Detector(one.spec, one.templates, one.scores_sha256) for one in found.detectors),
        parameters=found.parameters,
        fingerprint=found.fingerprint,
        annotation=found.annotation,
        notes=found.notes,
    )


def read_file(path: Path) -> File:
    """Read a division file as it is, whatever the data; what it says is checked for its form alone."""
    try:
        found = msgspec.json.decode(path.read_bytes(), type=File)
    except OSError as error:
        raise DataError(
            f"The division {path} cannot be read ({error.strerror}). Make it with: python -m eyechart.divide ROOT"
        ) from error
    except msgspec.DecodeError as error:
        raise DataError(
            f"{path} is not a division file ({error}). Make it with: python -m eyechart.divide ROOT"
        ) from error
    for place, pair in enumerate(found.pairs):
        if len(pair.flags) != len(found.detectors) or set(pair.flags) - set("0123"):
            raise DataError(
                f"{path}: pair {place} ({pair.key}, {pair.category}) has the flags '{pair.flags}', expected one digit "
                f"from 0 to 3 for each of {len(found.detectors)} detectors. Make the file again."
            )
    return found


def _same_data(path: Path, found: File, dataset: Dataset) -> None:
    notation = dataset.annotation.of(dataset.selected).sha256 if dataset.annotation else ""
    here = {"images": (found.fingerprint, dataset.fingerprint), "annotations": (found.annotation, notation)}
    for what, (its, ours) in here.items():
        if its != ours:
            raise DataError(
                f"{path} was made from other {what}: their fingerprint is {its[:12]}, that of "
                f"{dataset.benchmark}/{dataset.split} {ours[:12]} (a --eye-limit counts, too). Divide these data again."
            )

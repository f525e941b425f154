"""Division files: JSON with every pair by its image's key and its category's name.

A file does not depend on the order of images or categories. Its fingerprints say which data it was built from.
"""

from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path

import msgspec
import numpy as np

from eyechart.data.dataset.dataset import Dataset
from eyechart.errors import DataError
from eyechart.files.atomic import write_atomic
from eyechart.files.text_files import utf8_bytes
from eyechart.oodbench.data.annotation import find_annotation
from eyechart.oodbench.division.division_csv import read_set, set_to_csv
from eyechart.oodbench.division.pairs import (
    HARD_SAMPLES,
    ID,
    OOD_H,
    OOD_S,
    SETS,
    Detector,
    Division,
    Ints,
    LeftOutImage,
)

SCHEMA = 1
KNOWN, DIGITS = (*SETS, HARD_SAMPLES), {*"0123"}
REMEDY = "Create it again with: eyechart divide ROOT"


class PairEntry(msgspec.Struct, frozen=True, array_like=True):
    """One pair: key, category, set, whether of the main benchmark, whether present, flags, and hardness if mined."""

    key: str
    category: str
    set: str
    main: bool
    present: bool
    flags: str
    hardness: float | None = None


class _LeftOutEntry(msgspec.Struct, frozen=True, array_like=True):
    """An image without pairs: its key, the detector that has no logits for it, and the reason."""

    key: str
    detector: str
    reason: str


class DetectorEntry(msgspec.Struct, frozen=True):
    """A detector: its specification, its prompt templates, and the sha256 of its logits."""

    spec: str
    templates: str
    scores_sha256: str


class DivisionFile(msgspec.Struct, frozen=True, kw_only=True):
    """The content of a division file."""

    schema: int = SCHEMA
    benchmark: str
    split: str
    fingerprint: str
    annotation: str
    detectors: tuple[DetectorEntry, ...]
    parameters: Mapping[str, str]
    notes: tuple[str, ...] = ()
    left_out: tuple[_LeftOutEntry, ...] = ()
    pairs: tuple[PairEntry, ...]


def serialize_division(division: Division, dataset: Dataset) -> bytes:
    """Return the bytes of a division's file."""
    whole = DivisionFile(
        benchmark=dataset.benchmark,
        split=dataset.split,
        fingerprint=division.fingerprint,
        annotation=division.annotation,
        detectors=tuple(
            DetectorEntry(detector.spec, detector.templates, detector.scores_sha256) for detector in division.detectors
        ),
        parameters=dict(sorted(division.parameters.items())),
        notes=division.notes,
        left_out=tuple(_LeftOutEntry(image.key, image.detector, image.reason) for image in division.left_out),
        pairs=tuple(_pairs(division, dataset)),
    )
    return encode_file(whole)


def encode_file(whole: DivisionFile) -> bytes:
    """Return the bytes of a file with one pair per line."""
    head = msgspec.json.encode(msgspec.structs.replace(whole, pairs=()))
    return head.removesuffix(b"[]}") + b"[\n" + b",\n".join(map(msgspec.json.encode, whole.pairs)) + b"\n]}\n"


def division_sha256(division: Division, dataset: Dataset) -> str:
    """Return the sha256 of a division's file."""
    return sha256(serialize_division(division, dataset)).hexdigest()


def labels_sha256(division: Division, dataset: Dataset) -> str:
    """Return the sha256 of the pairs and their labels; it does not depend on the detectors' logits."""
    cells = ((pair.key, pair.category, pair.set, pair.main, pair.present) for pair in _pairs(division, dataset))
    return sha256(msgspec.json.encode(tuple(cells))).hexdigest()


def write_division(path: Path, division: Division, dataset: Dataset) -> tuple[Path, ...]:
    """Write the JSON file and one CSV file per set of the main benchmark; return the paths of all files."""
    tables = {name: path.with_name(f"{path.stem}-{name}.csv") for name in KNOWN}
    if HARD_SAMPLES not in division.sets:
        tables.pop(HARD_SAMPLES).unlink(missing_ok=True)  # of an earlier division that this one replaces
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, serialize_division(division, dataset))
    for name, table in tables.items():
        write_atomic(table, set_to_csv(division, dataset, name))
    return path, *tables.values()


def _pairs(division: Division, dataset: Dataset) -> Iterator[PairEntry]:
    keys, names = dataset.keys, dataset.names
    for index, name in enumerate(division.sets):
        hard = float(division.hardness[index])
        yield PairEntry(
            keys[division.rows[index]],
            names[division.categories[index]],
            name,
            bool(division.main[index]),
            bool(division.present[index]),
            "".join(map(str, division.flags[index].tolist())),
            None if np.isnan(hard) else hard,
        )


def read_division(path: Path, dataset: Dataset) -> Division:
    """Read a division of this data set from a JSON file, or a single set from the authors' CSV format.

    Raises DataError for a file of another format, a division of other data or annotations, an unknown image or
    category, a pair that contradicts the annotation, and a pair in two sets.
    """
    if path.suffix == ".csv":
        return read_set(path, dataset)
    content = read_file(path)
    _same_data(path, content, dataset)
    rows, categories = _find_pairs(path, content, dataset)
    division = Division(
        rows=rows,
        categories=categories,
        sets=tuple(pair.set for pair in content.pairs),
        main=np.array([pair.main for pair in content.pairs], np.bool_),
        present=np.array([pair.present for pair in content.pairs], np.bool_),
        flags=_digits(content),
        hardness=np.array([np.nan if pair.hardness is None else pair.hardness for pair in content.pairs], np.float64),
        detectors=tuple(
            Detector(detector.spec, detector.templates, detector.scores_sha256) for detector in content.detectors
        ),
        parameters=content.parameters,
        fingerprint=content.fingerprint,
        annotation=content.annotation,
        notes=content.notes,
        left_out=tuple(LeftOutImage(image.key, image.detector, image.reason) for image in content.left_out),
    )
    _as_annotated(path, division, dataset)
    return division


def read_file(path: Path) -> DivisionFile:
    """Read a division file and check its format only, not whether it fits a data set."""
    try:
        content = msgspec.json.decode(utf8_bytes(path.read_bytes()), type=DivisionFile)
    except OSError as error:
        raise DataError(f"The division {path} cannot be read ({error.strerror}). {REMEDY}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DataError(f"{path} is not a division file ({error}). {REMEDY}") from error
    if content.schema != SCHEMA:
        raise DataError(
            f"{path} has schema {content.schema}, expected {SCHEMA}. Use the version of eyechart that wrote it."
        )
    for index, pair in enumerate(content.pairs):
        if fault := _fault(pair, len(content.detectors)):
            raise DataError(f"{path}: pair {index} ({pair.key}, {pair.category}) {fault}. {REMEDY}")
    return content


def _fault(pair: PairEntry, detectors: int) -> str:
    """Return what is wrong with the format of a pair, "" if nothing is."""
    if pair.set not in KNOWN:
        return f"is of the set '{pair.set}', expected one of {', '.join(KNOWN)}"
    if len(pair.flags) != detectors or set(pair.flags) - DIGITS:
        return f"has the flags '{pair.flags}', expected one digit from 0 to 3 for each of {detectors} detectors"
    if pair.set != HARD_SAMPLES and detectors and pair.set != _set_of(pair.flags):
        return f"is of the set {pair.set}, and its flags '{pair.flags}' belong to {_set_of(pair.flags)}"
    return ""


def _set_of(flags: str) -> str:
    """Return the set that follows from flags."""
    flagged = len(flags) - flags.count("0")
    return OOD_H if flagged == len(flags) else OOD_S if flagged else ID


def _digits(content: DivisionFile) -> Ints:
    """Return the flags (m, detectors) of a file whose format was checked."""
    every = "".join(pair.flags for pair in content.pairs).encode("ascii")
    codes = np.frombuffer(every, np.uint8).astype(np.int64) - ord("0")
    return codes.reshape(len(content.pairs), len(content.detectors))


def _same_data(path: Path, content: DivisionFile, dataset: Dataset) -> None:
    notation = find_annotation(dataset)
    own = notation.sha256 if notation else ""
    here = {"images": (content.fingerprint, dataset.fingerprint), "annotations": (content.annotation, own)}
    for what, (its, ours) in here.items():
        if its != ours:
            raise DataError(
                f"{path} was built from other {what}: its fingerprint is {its[:12]}, that of "
                f"{dataset.benchmark}/{dataset.split} is {ours[:12]}; --eye-limit changes it too. Divide them again."
            )


def _find_pairs(path: Path, content: DivisionFile, dataset: Dataset) -> tuple[Ints, Ints]:
    """Return the image and the category index of each pair.

    Raises DataError for an unknown image or category.
    """
    every = []
    for what, names, wanted in (
        ("image", dataset.keys, [pair.key for pair in content.pairs]),
        ("category", dataset.names, [pair.category for pair in content.pairs]),
    ):
        indices = {name: index for index, name in enumerate(names)}
        strangers = [index for index, name in enumerate(wanted) if name not in indices]
        if strangers:
            raise DataError(
                f"{path}: pair {strangers[0]} names the {what} '{wanted[strangers[0]]}', which "
                f"{dataset.benchmark}/{dataset.split} does not have ({len(strangers):,} such pairs in all). {REMEDY}"
            )
        every.append(np.array([indices[name] for name in wanted], np.int64))
    return every[0], every[1]


def _as_annotated(path: Path, division: Division, dataset: Dataset) -> None:
    """Raise DataError for pairs that contradict the annotation or are repeated; a hard sample may also be in a set."""
    notation = find_annotation(dataset)
    if notation is None:
        return
    where = division.rows, division.categories
    wrong = np.flatnonzero(~np.where(division.present, notation.present[where], notation.known_absent[where]))
    if len(wrong):
        state = "is present" if division.present[wrong[0]] else "is absent"
        raise DataError(
            f"{path}: pair {wrong[0]} says that '{dataset.names[division.categories[wrong[0]]]}' {state} in "
            f"{dataset.keys[division.rows[wrong[0]]]}, which contradicts the annotation ({len(wrong):,} such pairs in "
            f"all). {REMEDY}"
        )
    mined = np.array([name == HARD_SAMPLES for name in division.sets], np.bool_)
    ids = (mined * len(dataset) + division.rows) * dataset.classes + division.categories
    _, first, counts = np.unique(ids, return_index=True, return_counts=True)
    if (counts > 1).any():
        index = int(first[counts > 1].min())
        raise DataError(
            f"{path} has the pair {index} ({dataset.keys[division.rows[index]]}, "
            f"{dataset.names[division.categories[index]]}) twice; each pair is in one set only. {REMEDY}"
        )

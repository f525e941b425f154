"""Baselines: the evidence of cases, a file for each model and benchmark, small enough to be kept in git."""

import re
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import msgspec

from eyechart.atomic import write_atomic
from eyechart.errors import BaselineError
from eyechart.gate.evidence import SCHEMA, Evidence
from eyechart.records import FILE, encode

FOLDER = Path("reports/baselines")
DEEP = re.compile(rb"\n {10,}|\n {8}(?=\})")  # where a number's own lines break
AGAIN = "Write it again with --eye-update-baseline."


class Baseline(msgspec.Struct, frozen=True, kw_only=True):
    """What one model did on one benchmark."""

    schema: int
    benchmark: str
    model: str
    cases: tuple[Evidence, ...]


class WrittenBaseline(NamedTuple):
    """A file that was written, and why what it held before could not be kept, if that is so."""

    path: Path
    unreadable: str = ""


class _SchemaVersion(msgspec.Struct):
    schema: int | None = None


def write_baselines(place: Path, found: Iterable[Evidence]) -> list[WrittenBaseline]:
    """Write the baselines of cases into a folder, or one file; what was held of the same cases is replaced."""
    groups: dict[tuple[str, str], list[Evidence]] = {}
    for evidence in found:
        groups.setdefault((evidence.case.partition("/")[0], evidence.model), []).append(evidence)
    if place.suffix != ".json":
        return [
            _write(place / benchmark / f"{model_slug(model)}.json", benchmark, model, cases)
            for (benchmark, model), cases in sorted(groups.items())
        ]
    if len(groups) > 1:
        raise BaselineError(
            f"{place} is one file, which holds one model's answers to one benchmark, and this session has "
            f"{len(groups)} of these. Name a folder instead."
        )
    return [_write(place, benchmark, model, cases) for (benchmark, model), cases in groups.items()]


def _write(path: Path, benchmark: str, model: str, cases: Iterable[Evidence]) -> WrittenBaseline:
    old, lost = _read_existing(path)
    if old and (old.benchmark, old.model) != (benchmark, model):
        raise BaselineError(
            f"{path} is of {old.model} on {old.benchmark}, not of {model} on {benchmark}. Name another."
        )
    kept = {case_key(evidence): evidence for evidence in (old.cases if old else ())}
    kept |= {case_key(evidence): msgspec.structs.replace(evidence, keys=()) for evidence in cases}
    whole = tuple(kept[each] for each in sorted(kept))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, encode_baseline(Baseline(schema=SCHEMA, benchmark=benchmark, model=model, cases=whole)))
    except OSError as error:
        raise BaselineError(
            f"The baseline {path} cannot be written ({error.strerror}). Name another folder."
        ) from error
    return WrittenBaseline(path, lost)


def encode_baseline(baseline: Baseline) -> bytes:
    """Write as JSON with one line a number, so that what git shows of a change is the numbers that changed."""
    return DEEP.sub(b"", encode(baseline)) + b"\n"


def _read_existing(path: Path) -> tuple[Baseline | None, str]:
    """What a file holds that is about to be written; one that cannot be read is in nobody's way."""
    try:
        return (read_baseline(path) if path.is_file() else None), ""
    except BaselineError as error:
        return None, str(error).partition(". ")[0]


def case_key(evidence: Evidence) -> tuple[str, str]:
    """What tells a case from others: one may be asked under several protocols."""
    return evidence.case, evidence.protocol


def model_slug(model: str) -> str:
    """A model as a file name that no other has."""
    kept = re.sub(r"[^A-Za-z0-9_.=-]", "-", model).strip("-")
    return f"{kept[:80]}-{sha256(model.encode()).hexdigest()[:8]}"


def read_baselines(place: Path) -> dict[tuple[str, str], tuple[Evidence, Path]]:
    """Return the cases of a baseline, or of all in a folder, each with the file it is in."""
    if (place / FILE).is_file() or place.name == FILE:
        raise BaselineError(
            f"{place} is a run and no baseline. Write a baseline with --eye-update-baseline; "
            "`python -m eyechart.reports compare` compares two runs."
        )
    files = sorted(place.rglob("*.json")) if place.is_dir() else [place] if place.exists() else []
    if not files:
        raise BaselineError(f"There is no baseline at {place}. Write one with --eye-update-baseline.")
    found: dict[tuple[str, str], tuple[Evidence, Path]] = {}
    for path in files:
        for evidence in read_baseline(path).cases:
            if other := found.get(case_key(evidence)):
                raise BaselineError(
                    f"{' under '.join(case_key(evidence))} is in {other[1]} and in {path}. Keep one of them."
                )
            found[case_key(evidence)] = evidence, path
    return found


def read_baseline(path: Path) -> Baseline:
    """Read a baseline; raises BaselineError for one that is cut off, of another schema or something else."""
    try:
        data = path.read_bytes()
        schema = msgspec.json.decode(
            data, type=_SchemaVersion
        ).schema  # before the rest, which another schema may have changed
        if schema is not None and schema != SCHEMA:
            newer = schema > SCHEMA
            remedy = "Upgrade eyechart to read it, or write it again with --eye-update-baseline." if newer else AGAIN
            raise BaselineError(f"{path} has schema {schema}; this eyechart reads schema {SCHEMA}. {remedy}")
        found = msgspec.json.decode(data, type=Baseline)
        for evidence in found.cases:
            evidence.check()
    except OSError as error:
        raise BaselineError(f"The baseline {path} cannot be read ({error.strerror}). {AGAIN}") from error
    except (msgspec.DecodeError, ValueError) as error:
        raise BaselineError(f"{path} is no whole baseline: {error}. Restore it from git, or: {AGAIN}") from error
    return found

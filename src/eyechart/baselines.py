"""Baselines: the evidence of cases, a file for each model and benchmark, small enough to be kept in git."""

import re
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path

import msgspec

from eyechart.errors import BaselineError
from eyechart.evidence import SCHEMA, Evidence
from eyechart.records import encode
from eyechart.store import stamp

FOLDER = Path("reports/baselines")
AGAIN = "Write it again with --eye-update-baseline."


class Baseline(msgspec.Struct, frozen=True, kw_only=True):
    """What one model did on one benchmark."""

    schema: int = SCHEMA
    benchmark: str
    model: str
    cases: tuple[Evidence, ...]


class _Dated(msgspec.Struct):
    schema: int = 0


def write(folder: Path, found: Iterable[Evidence]) -> list[Path]:
    """Write the baselines of cases, in the order of their names; what the files held of the same cases is replaced."""
    groups: dict[tuple[str, str], list[Evidence]] = {}
    for evidence in found:
        groups.setdefault((evidence.case.partition("/")[0], evidence.model), []).append(evidence)
    return [_write(folder, benchmark, model, cases) for (benchmark, model), cases in sorted(groups.items())]


def _write(folder: Path, benchmark: str, model: str, cases: Iterable[Evidence]) -> Path:
    path = folder / benchmark / f"{slug(model)}.json"
    kept = {name(evidence): evidence for evidence in (read_file(path).cases if path.is_file() else ())}
    kept |= {name(evidence): msgspec.structs.replace(evidence, keys=()) for evidence in cases}
    path.parent.mkdir(parents=True, exist_ok=True)
    whole = tuple(kept[each] for each in sorted(kept))
    stamp(path, encode(Baseline(benchmark=benchmark, model=model, cases=whole)))
    return path


def name(evidence: Evidence) -> tuple[str, str]:
    """What tells a case from others: one may be asked under several protocols."""
    return evidence.case, evidence.protocol


def slug(model: str) -> str:
    """A model as a file name that no other has."""
    kept = re.sub(r"[^A-Za-z0-9_.=-]", "-", model).strip("-")
    return f"{kept[:80]}-{sha256(model.encode()).hexdigest()[:8]}"


def read(place: Path) -> dict[tuple[str, str], tuple[Evidence, Path]]:
    """Return the cases of a baseline, or of all in a folder, each with the file it is in."""
    if not place.exists():
        raise BaselineError(f"There is no baseline at {place}. Write one with --eye-update-baseline={place}.")
    files = sorted(place.rglob("*.json")) if place.is_dir() else [place]
    return dict(_cases(files))


def _cases(files: Iterable[Path]) -> Iterator[tuple[tuple[str, str], tuple[Evidence, Path]]]:
    for path in files:
        for evidence in read_file(path).cases:
            yield name(evidence), (evidence, path)


def read_file(path: Path) -> Baseline:
    """Read a baseline; raises BaselineError for one that is cut off, of another schema or something else."""
    try:
        data = path.read_bytes()
        schema = msgspec.json.decode(data, type=_Dated).schema  # before the rest, which another schema may have changed
        if schema != SCHEMA:
            newer = schema > SCHEMA
            remedy = "Upgrade eyechart to read it, or write it again with --eye-update-baseline." if newer else AGAIN
            raise BaselineError(f"{path} has schema {schema}; this eyechart reads schema {SCHEMA}. {remedy}")
        return msgspec.json.decode(data, type=Baseline)
    except OSError as error:
        raise BaselineError(f"The baseline {path} cannot be read ({error.strerror}). {AGAIN}") from error
    except msgspec.DecodeError as error:
        raise BaselineError(f"{path} is no whole baseline: {error}. Restore it from git, or: {AGAIN}") from error

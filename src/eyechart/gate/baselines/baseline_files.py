"""Baselines: the evidence of cases, one file per model and benchmark, small enough for git."""

import re
from collections.abc import Iterable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple
from unicodedata import normalize

import msgspec

from eyechart.data.names import is_system
from eyechart.errors import BaselineError
from eyechart.files.atomic import lock_file, write_atomic
from eyechart.files.text_files import HEAD, describe_content, utf8_bytes
from eyechart.gate.baselines.drift import NO_DRIFT, Drift, add_version
from eyechart.gate.verdicts.decide import ALPHA
from eyechart.results.evidence import SCHEMA, Evidence
from eyechart.results.records import RECORDS_FILE, Record, encode
from eyechart.results.shared_samples import with_samples, write_samples

FOLDER = Path("reports/baselines")
INNER_BREAKS = re.compile(rb"\n {10,}|\n {8}(?=\})")  # line breaks within one metric
CONFLICT = re.compile(rb"^(<<<<<<<|=======|>>>>>>>)[ \r\n]", re.MULTILINE)
REWRITE = "Write it again with --eye-update-baseline."


class Baseline(msgspec.Struct, frozen=True, kw_only=True):
    """The evidence of one model on one benchmark, and what its accepted versions lost."""

    schema: int
    benchmark: str
    model: str
    drift: Drift | msgspec.UnsetType = msgspec.UNSET
    cases: tuple[Evidence, ...]


class WrittenBaseline(NamedTuple):
    """A file that was written; `unreadable` says why its previous content could not be kept, "" if it was.

    `drift` is what the accepted versions lost, if it is an alarm; the file then starts to count again.
    """

    path: Path
    unreadable: str = ""
    drift: Drift = NO_DRIFT


class _SchemaVersion(msgspec.Struct):
    schema: int | None = None
    cases: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    benchmark: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    model: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


class _Counts(msgspec.Struct):
    benchmark: str
    model: str
    drift: Drift = NO_DRIFT


def write_baselines(path: Path, cases: Iterable[Evidence], alpha: float = ALPHA) -> list[WrittenBaseline]:
    """Write the baselines of cases into a folder, or into one .json file; entries of the same cases are replaced.

    `alpha` is the level at which losses of accepted versions together are an alarm.
    Raises BaselineError if one file is named for several models or benchmarks, or cannot be written.
    """
    groups: dict[tuple[str, str], list[Evidence]] = {}
    for evidence in cases:
        groups.setdefault((case_key(evidence)[0].partition("/")[0], evidence.model), []).append(evidence)
    if path.suffix != ".json":
        return [
            _write(path / benchmark / f"{model_slug(model)}.json", benchmark, model, group, alpha)
            for (benchmark, model), group in sorted(groups.items())
        ]
    if len(groups) > 1:
        raise BaselineError(
            f"{path} is one file, which holds one model's answers to one benchmark, and this session has "
            f"{len(groups)} of these. Name a folder instead."
        )
    return [_write(path, benchmark, model, group, alpha) for (benchmark, model), group in groups.items()]


def _write(path: Path, benchmark: str, model: str, cases: Sequence[Evidence], alpha: float) -> WrittenBaseline:
    """Read, merge and write a file under a lock, so that no case of a process that writes beside this one is lost."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with lock_file(path):
            return _merge(path, benchmark, model, cases, alpha)
    except OSError as error:
        raise BaselineError(
            f"The baseline {path} cannot be written ({error.strerror}). Name another folder."
        ) from error


def _merge(path: Path, benchmark: str, model: str, cases: Sequence[Evidence], alpha: float) -> WrittenBaseline:
    previous, unreadable = _read_existing(path)
    if previous and (normalize("NFC", previous.benchmark), previous.model) != (benchmark, model):
        raise BaselineError(
            f"{path} is of {previous.model} on {previous.benchmark}, not of {model} on {benchmark}. Name another."
        )
    drift = NO_DRIFT
    if previous:
        before = [with_samples(evidence, path.parent) for evidence in previous.cases]
        drift = add_version(previous.drift or NO_DRIFT, before, cases)
    alarm = drift if drift.is_alarm(alpha) else NO_DRIFT
    counted = msgspec.UNSET if alarm.updates or not drift.updates else drift
    by_key = {case_key(evidence): evidence for evidence in (previous.cases if previous else ())}
    kept = (msgspec.structs.replace(write_samples(evidence, path.parent), keys=()) for evidence in cases)
    by_key |= {case_key(evidence): msgspec.structs.replace(evidence, slices=msgspec.UNSET) for evidence in kept}
    merged = tuple(by_key[key] for key in sorted(by_key))
    baseline = Baseline(schema=SCHEMA, benchmark=benchmark, model=model, drift=counted, cases=merged)
    write_atomic(path, _encode_baseline(baseline))
    return WrittenBaseline(path, unreadable, alarm)


def _encode_baseline(baseline: Baseline) -> bytes:
    """Return JSON with one line per metric, so that a diff shows the metrics that changed."""
    return INNER_BREAKS.sub(b"", encode(baseline)) + b"\n"


def _read_existing(path: Path) -> tuple[Baseline | None, str]:
    """Return the baseline that is about to be replaced; None, with the reason, if it cannot be read."""
    try:
        return (read_baseline(path) if path.is_file() else None), ""
    except BaselineError as error:
        return None, str(error).partition(". ")[0]


def read_drifts(paths: Iterable[Path]) -> dict[tuple[str, str], Drift]:
    """Return what the accepted versions of readable baseline files lost, by benchmark and model."""
    counts = (msgspec.json.decode(utf8_bytes(path.read_bytes()), type=_Counts) for path in paths)
    return {(normalize("NFC", count.benchmark), count.model): count.drift for count in counts}


def case_key(case: Evidence | Record) -> tuple[str, str]:
    """Return the key of a case: its name and its protocol, since one case may run under several protocols.

    Names of folders in two Unicode forms, as macOS and Linux write them, are one name.
    """
    return normalize("NFC", case.case), case.protocol


def model_slug(model: str) -> str:
    """Return a file name for a model; different models have different names."""
    readable = re.sub(r"[^A-Za-z0-9_.=-]", "-", model).strip("-")
    return f"{readable[:80]}-{sha256(model.encode()).hexdigest()[:8]}"


def read_baselines(path: Path) -> dict[tuple[str, str], tuple[Evidence, Path]]:
    """Return the cases of a baseline file, or of all files in a folder, each with its file.

    Raises BaselineError as `BaselineIndex` does.
    """
    index = BaselineIndex(path)
    return {key: index.read(key) for key in index.heads}


class BaselineIndex:
    """The cases of a baseline file, or of all files in a folder; a case is read when it is needed.

    `heads` are the cases without metrics and arrays, `paths` their files. The last file is kept in memory.
    """

    def __init__(self, path: Path | None = None) -> None:
        """Read and check all files, one after the other; without a path there are none.

        Raises BaselineError if the path is a run, does not exist, cannot be read, or has two baselines of one case.
        """
        self.heads: dict[tuple[str, str], Evidence] = {}
        self.paths: dict[tuple[str, str], Path] = {}
        self.last: tuple[Path, dict[tuple[str, str], Evidence]] = (Path(), {})
        for file in baseline_files(path) if path else ():
            for evidence in read_baseline(file).cases:
                key = case_key(evidence)
                if duplicate := self.paths.get(key):
                    raise BaselineError(f"{' under '.join(key)} is in {duplicate} and in {file}. Keep one of them.")
                self.heads[key], self.paths[key] = head_of(evidence), file

    def read(self, key: tuple[str, str]) -> tuple[Evidence, Path]:
        """Return a case that is in `heads`, and its file."""
        path = self.paths[key]
        if self.last[0] != path:
            self.last = path, {case_key(evidence): evidence for evidence in read_baseline(path).cases}
        return self.last[1][key], path


def head_of(evidence: Evidence) -> Evidence:
    """Return a case without its metrics, arrays and keys, which take its memory."""
    return msgspec.structs.replace(evidence, metrics=(), arrays={}, keys=())


def baseline_files(path: Path) -> list[Path]:
    """Return the baseline files at a path. Raises BaselineError if there are none or the path is a run."""
    if (path / RECORDS_FILE).is_file() or path.name == RECORDS_FILE:
        raise BaselineError(
            f"{path} is a run and no baseline. Write a baseline with --eye-update-baseline; "
            "`eyechart compare` compares two runs."
        )
    files = [path] if path.is_file() else []
    if path.is_dir():
        inside = ((file, file.relative_to(path)) for file in sorted(path.rglob("*.json")))
        files = [file for file, name in inside if not any(map(is_system, name.parts))]
    if runs := [file.parent for file in files if file.name == RECORDS_FILE]:
        folders = [folder for folder in sorted(path.rglob(FOLDER.name)) if folder.is_dir()]
        hint = f": {folders[0]}" if folders else ". Write them with --eye-update-baseline"
        raise BaselineError(f"{path} has runs, such as {runs[0]}. Give the folder of the baselines alone{hint}.")
    if not files:
        raise BaselineError(f"There is no baseline at {path}. Write one with --eye-update-baseline.")
    return files


def read_baseline(path: Path) -> Baseline:
    """Read a baseline file. Raises BaselineError for one that is cut off, damaged, or of another schema."""
    try:
        data = utf8_bytes(path.read_bytes())  # editors of Windows may have written a byte order mark
        head = msgspec.json.decode(data, type=_SchemaVersion)  # first, since a later schema has other fields
        schema = head.schema
        if schema is not None and schema != SCHEMA:
            newer = schema > SCHEMA
            remedy = "Upgrade eyechart to read it, or write it again with --eye-update-baseline." if newer else REWRITE
            raise BaselineError(f"{path} has schema {schema}; this eyechart reads schema {SCHEMA}. {remedy}")
        if msgspec.UNSET in (head.cases, head.benchmark, head.model):
            raise BaselineError(
                f"{path} is no baseline: it has no cases of a model on a benchmark. Name a file or folder that "
                "--eye-update-baseline wrote, such as reports/baselines, and leave other JSON files out of it."
            )
        baseline = msgspec.json.decode(data, type=Baseline)
        for evidence in baseline.cases:
            evidence.check()
    except OSError as error:
        raise BaselineError(f"The baseline {path} cannot be read ({error.strerror}). {REWRITE}") from error
    except (msgspec.DecodeError, ValueError) as error:
        _refuse_replaced(path, data)
        raise BaselineError(f"{path} is no whole baseline: {error}. Restore it from git, or: {REWRITE}") from error
    return baseline


def _refuse_replaced(path: Path, data: bytes) -> None:
    """Raise BaselineError for what tools leave instead of a file of git: a pointer, or both sides of a conflict."""
    if why := describe_content(data[:HEAD]) if data else "":
        raise BaselineError(f"The baseline {path} {why}. Or: {REWRITE}")
    if conflict := CONFLICT.search(data):
        line = data.count(b"\n", 0, conflict.start()) + 1
        raise BaselineError(
            f"The baseline {path} has marks of a merge conflict of git in line {line}. Take one side, such as git "
            f"checkout --theirs {path}, and then: {REWRITE}"
        )

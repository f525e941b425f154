"""Read the evidence of runs and baselines: the per-sample values behind the metrics."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from eyechart.errors import ReportError
from eyechart.gate.baselines.baseline_files import baseline_files, case_key, read_baselines, read_drifts
from eyechart.gate.baselines.drift import Drift
from eyechart.results.evidence import Evidence, evidence_of_metric, read_evidence
from eyechart.results.records import LINES, RECORDS_FILE, UNFINISHED, Record, find_run, read_run
from eyechart.results.run_files import read_verified
from eyechart.results.run_names import run_names
from eyechart.results.shared_samples import with_samples

Cases = Mapping[tuple[str, str], Evidence]  # by case and protocol


class _RunFile(msgspec.Struct):
    run: msgspec.Raw = msgspec.Raw(b"")


def case_evidence(record: Record, folder: Path) -> Evidence:
    """Return the stored evidence of a case; if none is stored, evidence with the values of its metrics only."""
    return read_case_evidence(record, folder) or _evidence_from_metrics(record)


def read_case_evidence(record: Record, folder: Path) -> Evidence | None:
    """Return the stored evidence of a case after checking its sha256; None if none is stored."""
    if record.evidence is None:
        return None
    path = folder / record.evidence.path
    read_verified(path, folder, record.evidence)
    return with_samples(read_evidence(path), path.parent)


def _evidence_from_metrics(record: Record) -> Evidence:
    """Return the metrics of a record as evidence that can be compared by its intervals only."""
    return Evidence(
        case=record.case,
        protocol=record.protocol,
        model=record.model.title,
        weights_sha256=record.model.weights_sha256,
        fingerprint=record.data.fingerprint,
        label_hashes=record.data.labels,
        variant=record.variant,
        limit=record.limit,
        seed=record.seed,
        samples=record.data.n,
        environment={**record.environment, "dtype": record.model.dtype, "device": record.model.device},
        metrics=tuple(map(evidence_of_metric, record.metrics)),
        arrays={},
    )


def read_cases(path: Path) -> Cases:
    """Return the cases of a run or baseline, given by its folder or file."""
    if not path.exists():
        raise ReportError(
            f"There is no run or baseline at {path}. Name a run's folder, such as reports/runs/latest, or "
            "a baseline's file or folder."
        )
    if path.is_dir() and not is_run(path) and (path / LINES).is_file():
        raise ReportError(UNFINISHED.format(path))
    if not is_run(path) and (run := find_run(path)):
        raise ReportError(f"{path} is a folder of runs. Name one of them, such as {run}.")
    cases = (
        cases_of_run(path)
        if is_run(path)
        else {key: with_samples(evidence, file.parent) for key, (evidence, file) in read_baselines(path).items()}
    )
    if not cases:
        raise ReportError(f"{path} holds no case. Name a run's folder, or a baseline's file or folder.")
    return cases


def read_drifts_of(path: Path) -> Mapping[tuple[str, str], Drift] | None:
    """Return what the accepted versions of baselines lost, by benchmark and model; None for a run."""
    return None if is_run(path) else read_drifts(baseline_files(path))


def cases_of_run(path: Path) -> Cases:
    """Return the cases of a run."""
    folder = path if path.is_dir() else path.parent
    evidence_items = [case_evidence(record, folder) for record in read_run(path).records]
    return {case_key(evidence): evidence for evidence in evidence_items}


def source_names(paths: Sequence[Path]) -> list[str]:
    """Return names of runs and baselines: a run's folder and start time, a baseline's path."""
    runs = [(path if path.is_dir() else path.parent, read_run(path).run) for path in paths if is_run(path)]
    names = iter(run_names(runs))
    return [next(names) if is_run(path) else str(path) for path in paths]


def is_run(path: Path) -> bool:
    """Return whether a path is a run's folder or its records.json, and not a baseline."""
    if path.is_dir():
        return (path / RECORDS_FILE).is_file()
    try:
        return bool(msgspec.json.decode(path.read_bytes(), type=_RunFile).run)
    except msgspec.DecodeError:
        return False

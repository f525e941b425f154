"""What the numbers of a run or a baseline are made of, for what compares them."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from eyechart.errors import ReportError
from eyechart.estimates import Estimate
from eyechart.gate.baselines import name, read
from eyechart.gate.evidence import Evidence, proofs, read_evidence
from eyechart.metrics.intervals import Interval
from eyechart.records import FILE, Metric, Record, read_run

from .answers import read_verified
from .run_names import run_names

Cases = Mapping[tuple[str, str], Evidence]  # by case and protocol


class _RunFile(msgspec.Struct):
    run: msgspec.Raw = msgspec.Raw(b"")


def case_evidence(record: Record, folder: Path) -> Evidence:
    """What a case kept; of a run that kept nothing, the numbers alone."""
    return read_case_evidence(record, folder) or evidence_from_metrics(record)


def read_case_evidence(record: Record, folder: Path) -> Evidence | None:
    """What a case kept, if it is as the run wrote it; None where it kept nothing."""
    if record.evidence is None:
        return None
    path = folder / record.evidence.path
    read_verified(path, folder, record.evidence)
    return read_evidence(path)


def evidence_from_metrics(record: Record) -> Evidence:
    """A record's numbers without what they were made of, which can be compared by their intervals only."""
    found, planes = proofs(map(estimate_from_metric, record.metrics))
    return Evidence(
        case=record.case,
        protocol=record.protocol,
        model=record.model.title,
        weights_sha256=record.model.weights_sha256,
        fingerprint=record.data.fingerprint,
        truths=record.data.labels,
        variant=record.variant,
        limit=record.limit,
        seed=record.seed,
        samples=record.data.n,
        environment=record.environment,
        proofs=found,
        planes=planes,
    )


def estimate_from_metric(metric: Metric) -> Estimate:
    """Return a record's number as an estimate that can be compared by its interval alone."""
    return Estimate(
        name=metric.name,
        value=metric.value,
        n=metric.n,
        interval=None if metric.ci is None else Interval(*metric.ci),
        method=metric.ci_method,
        labels=metric.labels,
        category=metric.category,
        higher_is_better=metric.higher_is_better,
    )


def read_cases(place: Path) -> Cases:
    """The cases of a run or of a baseline, given by its folder or file."""
    if not place.exists():
        raise ReportError(
            f"There is neither a run nor a baseline at {place}. Name a run's folder, such as reports/runs/latest, or "
            "a baseline's file or folder."
        )
    found = cases_of_run(place) if is_run(place) else {key: evidence for key, (evidence, _) in read(place).items()}
    if not found:
        raise ReportError(f"{place} holds no case. Name a run's folder, or a baseline's file or folder.")
    return found


def cases_of_run(place: Path) -> Cases:
    """The cases of a run."""
    folder = place if place.is_dir() else place.parent
    found = [case_evidence(record, folder) for record in read_run(place).records]
    return {name(evidence): evidence for evidence in found}


def source_names(places: Sequence[Path]) -> list[str]:
    """What runs and baselines are called: a run by its folder and time, a baseline by its path."""
    runs = [(place if place.is_dir() else place.parent, read_run(place).run) for place in places if is_run(place)]
    names = iter(run_names(runs))
    return [next(names) if is_run(place) else str(place) for place in places]


def is_run(place: Path) -> bool:
    """Whether this is a run's folder or its records.json, and no baseline."""
    if place.is_dir():
        return (place / FILE).is_file()
    try:
        return bool(msgspec.json.decode(place.read_bytes(), type=_RunFile).run)
    except msgspec.DecodeError:
        return False

"""Default folders, and the folders of a run."""

from datetime import UTC, datetime
from pathlib import Path

STORE = Path(".eyechart/store")
RUNS = Path("reports/runs")


def run_name() -> str:
    """Return the name of a new run: the present time in UTC."""
    return datetime.now(UTC).strftime("%Y%m%d-%H%M%S-%f")


def run_folder(run: Path) -> Path:
    """Return the folder of a run, which may be given by its records.json.

    >>> run_folder(Path("runs/1/records.json")) == run_folder(Path("runs/1")) == Path("runs/1")
    True
    """
    return run.parent if run.suffix == ".json" else run


def evidence_folder(run: Path) -> Path:
    """Return the folder of a run that has the evidence of its cases, and the files that they share."""
    return run_folder(run) / "evidence"


def report_folder(run: Path) -> Path:
    """Return the folder that tables, figures and the page of a run are written to by default."""
    return run_folder(run) / "reports"

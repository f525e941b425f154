"""The default folders, and the name of a new run."""

from datetime import UTC, datetime
from pathlib import Path

STORE = Path(".eyechart/store")
RUNS = Path("reports/runs")


def run_name() -> str:
    """Return the name of a new run: the present time in UTC."""
    return datetime.now(UTC).strftime("%Y%m%d-%H%M%S-%f")

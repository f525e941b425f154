"""The default folders, the home folder in options, and the name of a new run."""

from datetime import UTC, datetime
from pathlib import Path

STORE = Path(".eyechart/store")
RUNS = Path("reports/runs")


def expand_home(path: str) -> str:
    """Return a path with the home folder in place of `~/`, which shells leave in options such as --eye-data=~/data.

    >>> expand_home("~/data").endswith("~/data"), expand_home("data/~/a")
    (False, 'data/~/a')
    """
    return str(Path.home() / path[2:]) if path.startswith("~/") else path


def run_name() -> str:
    """Return the name of a new run: the present time in UTC."""
    return datetime.now(UTC).strftime("%Y%m%d-%H%M%S-%f")

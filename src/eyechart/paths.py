"""Default folders."""

from pathlib import Path

STORE = Path(".eyechart/store")
RUNS = Path("reports/runs")

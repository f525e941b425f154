"""Default folders."""

from pathlib import Path

STORE = Path(".eyechart/store")

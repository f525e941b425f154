"""The folders that are written to, unless others are named."""

from pathlib import Path

STORE = Path(".eyechart/store")

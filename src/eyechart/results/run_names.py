"""Names of runs: the folder that a link such as `latest` leads to, and the start time."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from eyechart.messages.plurals import count_of
from eyechart.results.records import Run


def start_time(run: Run) -> str:
    """Return the start time as `2026-01-31 12:00:00 UTC`; a text that is no ISO time is returned unchanged."""
    with suppress(ValueError):
        return f"{datetime.fromisoformat(run.started).astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
    return run.started


def describe_work(workers: int, loads: int) -> str:
    """Return in how many processes a session ran, and how many models were loaded.

    >>> describe_work(0, 1), describe_work(4, 0)
    ('one process, 1 model loaded', '4 workers, no model loaded')
    """
    processes = count_of(workers, "worker") if workers else "one process"
    return f"{processes}, {count_of(loads, 'model') if loads else 'no model'} loaded"


def folder_names(folders: Sequence[Path]) -> list[str]:
    """Return a name for each folder: the last part of its resolved path, and more parts if names are equal."""
    parts = [folder.resolve().parts for folder in folders]
    counts = range(1, max(map(len, parts), default=1) + 1)
    return [
        next(name for count in counts if _is_unique(name := "/".join(path[-count:]), path, parts, count))
        for path in parts
    ]


def _is_unique(name: str, path: tuple[str, ...], parts: Sequence[tuple[str, ...]], count: int) -> bool:
    """Return whether no other folder has this name with the same number of parts."""
    return count >= len(path) or not any(other != path and "/".join(other[-count:]) == name for other in parts)


def run_names(runs: Sequence[tuple[Path, Run]]) -> list[str]:
    """Return a name for each run, such as `nightly (2026-01-31 12:00:00 UTC)`."""
    names = folder_names([folder for folder, _ in runs])
    return [f"{name} ({start_time(run)})" for name, (_, run) in zip(names, runs, strict=True)]

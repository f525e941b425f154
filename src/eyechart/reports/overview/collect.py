"""Write all metrics of stored runs as one long table, for `eyechart collect`."""

import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from eyechart.errors import ReportError
from eyechart.files.atomic import write_atomic
from eyechart.messages.plurals import count_of
from eyechart.reports.overview.history import FORMATS, Row, rows
from eyechart.reports.overview.write_overview import aggregate
from eyechart.reports.runs import load
from eyechart.results.records import RECORDS_FILE, Records, read_run

KILLED = "records.jsonl"  # a run that was killed has only the second
SKIPPED = 1
UNFINISHED = "{} has no records.json: the run was killed or is not finished. Run it again; its answers are stored."


@dataclass
class _CollectedRuns:
    """The runs that were read, by file, and the errors of those that were not."""

    runs: dict[Path, Records] = field(default_factory=dict)
    errors: dict[Path, str] = field(default_factory=dict)


def write_history(collected: _CollectedRuns, out: Path, mill: Path | None) -> int:
    """Write the table of the runs, print the errors, and return the exit status: 1 if a run was left out."""
    if out.suffix not in FORMATS:
        raise ReportError(f"--out={out} must end in {' or '.join(FORMATS)}. Give it one of these suffixes.")
    for reason in collected.errors.values():
        print(f"eyechart: left out: {reason}", file=sys.stderr)
    if not collected.runs:
        raise ReportError("None of these runs can be read. Run the suite first: pytest -k imagenet/")
    table = _history_rows(collected.runs)
    write_atomic(out, FORMATS[out.suffix](table))
    print(f"{out}: {count_of(len(collected.runs), 'run')}, {count_of(len(table), 'number')}")
    if mill:
        write_atomic(
            mill, aggregate(load(sorted(collected.runs, key=lambda path: collected.runs[path].run.started))).encode()
        )
        print(mill)
    return SKIPPED if collected.errors else 0


def _history_rows(runs: Mapping[Path, Records]) -> list[Row]:
    """Return the rows of all runs, earlier runs first."""
    ordered = sorted(runs.items(), key=lambda item: (item[1].run.started, item[0]))
    return [row for path, records in ordered for row in rows(path.parent.name, records)]


def read_runs(paths: Iterable[Path]) -> _CollectedRuns:
    """Read every run once, even if several paths lead to it."""
    collected = _CollectedRuns()
    for path in dict.fromkeys(file.resolve() for given_path in paths for file in _record_files(given_path)):
        try:
            records = read_run(path)
        except ReportError as error:
            interrupted = path.with_name(KILLED).exists() and not path.exists()
            collected.errors[path] = UNFINISHED.format(path.parent) if interrupted else str(error)
            continue
        if not any(records == other for other in collected.runs.values()):
            collected.runs[path] = records
    return collected


def _record_files(path: Path) -> Iterator[Path]:
    """Yield the records file of a run, or those of all runs in a folder; in a folder without any, the expected file."""
    if path.suffix == ".json" or (path / RECORDS_FILE).exists():
        yield path if path.suffix == ".json" else path / RECORDS_FILE
        return
    folders: list[Path] = []
    with suppress(OSError):
        folders = sorted(
            folder for folder in path.iterdir() if any((folder / name).exists() for name in (RECORDS_FILE, KILLED))
        )
    yield from (folder / RECORDS_FILE for folder in folders or [path])

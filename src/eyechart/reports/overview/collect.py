"""Write all metrics of stored runs as one long table, parquet or csv, for `eyechart collect`."""

import csv
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from io import BytesIO, StringIO
from pathlib import Path

from eyechart.errors import ReportError
from eyechart.files.atomic import write_atomic
from eyechart.messages.install_commands import install_command
from eyechart.messages.plurals import count_of
from eyechart.reports.overview.write_overview import aggregate
from eyechart.reports.runs import load
from eyechart.results.records import LINES, RECORDS_FILE, Record, Records, read_run

Row = tuple[str | int | float | None, ...]
# In this order; the type as pyarrow calls it.
COLUMNS: Mapping[str, str] = {
    **dict.fromkeys(
        ("run", "started", "eyechart", "git_commit", "case", "benchmark", "split", "protocol", "variant", "status"),
        "string",
    ),
    **dict.fromkeys(("model_alias", "model_spec", "model_name", "model_revision", "model_weights_sha256"), "string"),
    **dict.fromkeys(("model_dtype", "model_device", "model_device_name", "data_fingerprint"), "string"),
    "limit": "string",
    "seed": "int64",
    **dict.fromkeys(("metric", "labels", "subset", "level", "prompt"), "string"),
    "value": "float64",
    **dict.fromkeys(("n", "n_clusters"), "int64"),
    "ci_low": "float64",
    "ci_high": "float64",
    "ci_method": "string",
    "seconds": "float64",
    "command": "string",
}


def rows(run: str, records: Records) -> Iterator[Row]:
    """Yield the metrics of a run, one row each."""
    session = (run, records.run.started, records.run.eyechart, records.run.git_commit)
    for record in records.records:
        case = _case_columns(record)
        for metric in record.metrics:
            low, high = metric.ci or (None, None)
            number = (metric.value, metric.n, metric.n_clusters, low, high, metric.ci_method)
            yield (*session, *case, *metric.key, *number, record.seconds, record.command)


def _case_columns(record: Record) -> Row:
    """Return the cells that identify a case, its model and its data."""
    model = record.model
    variant = json.dumps(dict(record.variant), sort_keys=True, ensure_ascii=False)
    case = (record.case, record.benchmark, record.split, record.protocol, variant, record.status)
    names = (model.alias, model.spec, model.name, model.revision, model.weights_sha256)
    devices = (model.dtype, model.device, model.device_name)
    limit = None if record.limit is None else str(record.limit)
    return (*case, *names, *devices, record.data.fingerprint, limit, record.seed)


def to_csv(table: Sequence[Row]) -> bytes:
    """Return the table as csv; None is an empty cell."""
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(table)
    return text.getvalue().encode()


def to_parquet(table: Sequence[Row]) -> bytes:
    """Return the table as parquet, which needs pyarrow."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise ReportError(
            "Parquet is written by pyarrow, which is not installed. "
            f"Install it with: {install_command('hub')}, or choose "
            "a file that ends in .csv."
        ) from None
    columns = list(zip(*table, strict=True)) or [()] * len(COLUMNS)
    kinds = [(name, pyarrow.type_for_alias(kind)) for name, kind in COLUMNS.items()]
    arrays = [pyarrow.array(cells, kind) for cells, (_, kind) in zip(columns, kinds, strict=True)]
    file = BytesIO()
    parquet.write_table(pyarrow.Table.from_arrays(arrays, schema=pyarrow.schema(kinds)), file, compression="zstd")
    return file.getvalue()


FORMATS: Mapping[str, Callable[[Sequence[Row]], bytes]] = {".parquet": to_parquet, ".csv": to_csv}


SKIPPED = 1


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
    earliest_first = sorted(collected.runs.items(), key=lambda item: (item[1].run.started, item[0]))
    table = [row for path, records in earliest_first for row in rows(path.parent.name, records)]
    write_atomic(out, FORMATS[out.suffix](table))
    print(f"{out}: {count_of(len(collected.runs), 'run')}, {count_of(len(table), 'number')}")
    if mill:
        by_start = sorted(collected.runs, key=lambda path: collected.runs[path].run.started)
        write_atomic(mill, aggregate(load(by_start)).encode())
        print(mill)
    return SKIPPED if collected.errors else 0


def read_runs(paths: Iterable[Path]) -> _CollectedRuns:
    """Read every run once, even if several paths lead to it."""
    collected = _CollectedRuns()
    for path in dict.fromkeys(file.resolve() for given_path in paths for file in _record_files(given_path)):
        try:
            records = read_run(path)
        except ReportError as error:
            collected.errors[path] = str(error)
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
            folder for folder in path.iterdir() if any((folder / name).exists() for name in (RECORDS_FILE, LINES))
        )
    yield from (folder / RECORDS_FILE for folder in folders or [path])

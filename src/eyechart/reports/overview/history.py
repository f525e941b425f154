"""Metrics of runs as rows of one long table, written as parquet or csv."""

import csv
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from io import BytesIO, StringIO

from eyechart.errors import ReportError
from eyechart.messages.install_commands import install_command
from eyechart.results.records import Metric, Record, Records

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
        case = case_columns(record)
        yield from ((*session, *case, *_metric_columns(m), record.seconds, record.command) for m in record.metrics)


def case_columns(record: Record) -> Row:
    """Return the cells that identify a case, its model and its data."""
    model = record.model
    variant = json.dumps(dict(record.variant), sort_keys=True, ensure_ascii=False)
    case = (record.case, record.benchmark, record.split, record.protocol, variant, record.status)
    model_columns = (
        model.alias,
        model.spec,
        model.name,
        model.revision,
        model.weights_sha256,
        model.dtype,
        model.device,
        model.device_name,
    )
    limit = None if record.limit is None else str(record.limit)
    return (*case, *model_columns, record.data.fingerprint, limit, record.seed)


def _metric_columns(metric: Metric) -> Row:
    """Return the cells of one metric; an undefined value or interval gives None."""
    return (
        *metric.key,
        metric.value,
        metric.n,
        metric.n_clusters,
        *(metric.ci or (None, None)),
        (metric.ci_method),
    )


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

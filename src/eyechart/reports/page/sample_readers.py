"""Read the sample table of a case for the page."""

from collections import Counter
from pkgutil import resolve_name
from typing import cast

from eyechart.errors import ReportError
from eyechart.protocol.registry import find_protocol
from eyechart.reports.page.columns import SampleTable
from eyechart.reports.page.samples import (
    NO_TEXTS,
    ClassNamer,
    Reader,
    Samples,
    column,
    label_outcomes,
    read_classification,
    single_labels,
)
from eyechart.reports.runs import CaseRun
from eyechart.results.run_files import read_verified


def read_samples(case: CaseRun, class_name: ClassNamer) -> Samples | None:
    """Return a case's samples by the reader of its protocol; None without a table, or answers in it."""
    record = case.record
    if record.predictions is None:
        return None
    path = case.folder / record.predictions.path
    text = read_verified(path, case.folder, record.predictions)
    try:
        rows = SampleTable.parse(text)
        has_answers = any(any(rows.columns.get(name, ())) for name in ("prediction", "target", "error"))
        return _find_reader(record.protocol, rows)(rows, class_name) if has_answers else None
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise ReportError(f"{path} cannot be read as answers ({error!r}). Run the case again.") from error


def _find_reader(name: str, rows: SampleTable) -> Reader:
    """Return the reader that a protocol names, else one for the columns of the table."""
    protocol = find_protocol(name)
    if protocol and protocol.sample_reader:
        return cast("Reader", resolve_name(protocol.sample_reader))
    return read_classification if "top1" in rows.columns else _read_shared


def _read_shared(rows: SampleTable, _: ClassNamer) -> Samples:
    """Return one item per row of a protocol of another package, from the columns that all sample tables share."""
    keys = column(rows, "key")
    repeated = {key for key, times in Counter(keys).items() if times > 1}
    return Samples(
        items=tuple((key, f"row {row}" if key in repeated else "") for row, key in enumerate(keys, 1)),
        label_sets={"target": label_outcomes(rows, "correct", single_labels(rows, "target"), "subset")},
        answers=column(rows, "prediction"),
        errors=column(rows, "error"),
        raw=column(rows, "response") if "response" in rows.columns else NO_TEXTS,
        unit="sample" if repeated else "image",
    )

"""Zero-shot results as the table that CLIP_benchmark's `build` writes, and beside the numbers of such a table."""

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import StringIO
from pathlib import Path

from eyechart.data.readers.clip_benchmark import PREFIX
from eyechart.errors import ReportError
from eyechart.models.spec import parse_spec
from eyechart.protocol.imported import recorded_protocol
from eyechart.reports.runs import CaseRun, Runs
from eyechart.results.metric_definitions import define
from eyechart.results.records import WHOLE, Metric, Record
from eyechart.statistics.categories import SINGLE_LABEL

METRICS = ("acc1", "acc5", "mean_per_class_recall", "mean_average_precision")
NAMES = ("dataset", "model", "pretrained")  # by which a row is found
COMPARED = (*NAMES, "metric", "value", "low", "high", "n", "published", "difference", "within")
COLUMNS = (*METRICS, "dataset", "model", "pretrained", "task", "language", "model_fullname")
TASK, LANGUAGE = "zeroshot_classification", "en"
_TASK_TYPE = "zero_shot_classification"  # of the protocols whose numbers are of this task
IMAGENET = {"imagenet/val": "imagenet1k", "imagenet/v2": "imagenetv2", "imagenet/a": "imagenet-a",
            "imagenet/r": "imagenet-r", "imagenet/sketch": "imagenet_sketch"}  # fmt: skip


def export_clip_benchmark(runs: Runs, published: Path | None = None) -> Iterator[tuple[str, bytes]]:
    """Yield `benchmark.csv`, and `published.csv` with the numbers of another such table beside those of the runs.

    Raises ReportError if the runs have no zero-shot case, if the table cannot be read, or if it has none of them.
    """
    cases = [case for case in runs.cases if recorded_protocol(case.record.protocol).task_type == _TASK_TYPE]
    if not cases:
        raise ReportError("The runs have no zero-shot case, and CLIP_benchmark's table has no others.")
    yield "benchmark.csv", encode(COLUMNS, map(_row_of, cases))
    if published is not None:
        known = read_table(published)
        pairs = [(case, known.get(_row_key(names_of(case)), {})) for case in cases]
        rows = [row for case, own in pairs for row in compare_with(case, own, published)]
        if not rows:
            examples = ", ".join("/".join(names_of(case).values()) for case in cases[:3])
            raise ReportError(f"{published} has no row of the runs' data sets and models, such as {examples}.")
        yield "published.csv", encode(COMPARED, rows)


def encode(columns: Sequence[str], rows: Iterable[Mapping[str, object]]) -> bytes:
    """Return rows as a csv file."""
    text = StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def read_table(path: Path) -> dict[tuple[str, ...], Mapping[str, str]]:
    """Return the English zero-shot rows of a table by data set, model and weights.

    Raises ReportError for another file.
    """
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = [*csv.DictReader(file)]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ReportError(f"{path} cannot be read as a table of CLIP_benchmark ({error}).") from error
    if not rows or (missing := [name for name in NAMES if name not in rows[0]]):
        missing_part = f"no column {missing[0]}" if rows else "no row"
        raise ReportError(f"{path} has {missing_part}. Expected the csv file that `clip_benchmark build` writes.")
    own = (row for row in rows if (row.get("task") or TASK, row.get("language") or LANGUAGE) == (TASK, LANGUAGE))
    return {_row_key(row): row for row in own}


def _row_key(row: Mapping[str, str]) -> tuple[str, ...]:
    """Return data set, model and weights of a row; the published table has no `wds/` before names of data sets."""
    return (row["dataset"].removeprefix("wds/"), row["model"], row["pretrained"])


def compare_with(case: CaseRun, published: Mapping[str, str], path: Path) -> Iterator[dict[str, object]]:
    """Yield a row for each metric that a published row has: both numbers, and whether it is within the interval.

    `path` is the table of the row. Raises ReportError for a metric that is no number.
    """
    for name in METRICS:
        metric, text = _own_metric(case.record, name), published.get(name) or ""
        if metric is None or metric.value is None or not text or text.lower() == "nan":
            continue
        number, (low, high) = to_number(text, name, path), metric.ci or (None, None)
        yield names_of(case) | {
            "metric": name,
            "value": metric.value,
            "low": low,
            "high": high,
            "n": metric.n,
            "published": number,
            "difference": metric.value - number,
            "within": None if low is None or high is None else low <= number <= high,
        }


def to_number(text: str, name: str, path: Path) -> float:
    """Return a published number. Raises ReportError for another text."""
    try:
        return float(text)
    except ValueError as error:
        raise ReportError(f"{path} has {name}={text}. Expected a number: correct the row.") from error


def _row_of(case: CaseRun) -> dict[str, object]:
    """Return the row of a case; a metric that it does not have is empty."""
    values = {name: metric.value for name in METRICS if (metric := _own_metric(case.record, name)) is not None}
    names = names_of(case)
    full = f"{names['model']} {names['pretrained']}"
    return {**values, **names, "task": TASK, "language": LANGUAGE, "model_fullname": full}


def names_of(case: CaseRun) -> dict[str, str]:
    """Return CLIP_benchmark's names of a data set, a model and its weights."""
    spec = parse_spec(case.record.model.spec)
    model, pretrained = "".join(spec.arguments) or case.model, spec.options.get("pretrained", "")
    return {"dataset": dataset_name(case.record), "model": model, "pretrained": pretrained}


def _own_metric(record: Record, name: str) -> Metric | None:
    """Return a metric over all images under the first label set that has it, None if there is none."""
    subsets = (WHOLE, SINGLE_LABEL) if define(name).over_classes else (WHOLE,)
    return next((metric for metric in record.metrics if metric.name == name and metric.subset in subsets), None)


def dataset_name(record: Record) -> str:
    """Return CLIP_benchmark's name of a split: `wds/cars` of wds_cars/test, else that of the split."""
    name = f"{record.benchmark}/{record.split}"
    if record.benchmark.startswith(PREFIX):
        return f"wds/{record.benchmark.removeprefix(PREFIX).replace('vtab-', 'vtab/', 1)}"
    return IMAGENET.get(name, name)

"""Runs as pandas frames: the numbers of cases, the answers of cases, and statistics of groups of answers.

`metrics_frame` has one row per number, `samples_frame` one row per answer. Both begin with columns that say which case
a row is of:

| column | meaning |
|---|---|
| `row` | the index of the case in the list that was given: tables print cases in this order |
| `benchmark`, `split`, `protocol`, `model`, `case` | as in the record; `model` is the name that tables print |
| `limit`, `seed`, `fingerprint` | which images: the limit (None: all), its seed, and the fingerprint of the images |
| `option_NAME` | the value of the option NAME of the protocol, one column per option |

In a frame of answers these columns, but for `row`, are categorical: a text is kept once.

A frame of numbers then has `metric`, `labels`, `subset`, `level`, `prompt`, `value`, `n`, `n_clusters`, `low` and
`high` (the 95 % interval), `method` and `higher_is_better`: see `docs/records.md`. A frame of answers has the columns
of the case's csv file: see `docs/samples.md`. Cells of a table are frames, too: see `TableDefinition` in
`reports.tables.definition`.
"""

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from eyechart.errors import ReportError
from eyechart.messages.install_commands import install_command
from eyechart.results.records import Record
from eyechart.results.run_files import read_verified
from eyechart.results.sample_table import KEPT
from eyechart.statistics.categories import FINEST
from eyechart.statistics.clusters import clustered_wilson
from eyechart.statistics.intervals import wilson
from eyechart.statistics.paired import change_interval_from_counts

CSV = "csv"  # a format of files
CASE = ("row", "benchmark", "split", "protocol", "model", "case", "limit", "seed", "fingerprint")
NUMBER = (
    *("metric", "labels", "subset", "level", "prompt"),
    *("value", "n", "n_clusters", "low", "high", "method", "higher_is_better"),
)
OPTION = "option_"
OUTCOMES = ("correct", "category")  # the ends of the names of columns
LABEL_CATEGORY = pd.CategoricalDtype([*FINEST[1:], FINEST[0]])  # no_label last


class _RecordedCase(Protocol):
    """What frames need of a case: its record, the folder of its files, the name that tables print, its answers."""

    @property
    def record(self) -> Record:
        """The record."""

    @property
    def folder(self) -> Path:
        """The folder of the run."""

    @property
    def model(self) -> str:
        """The name that tables print."""

    def samples(self, columns: Sequence[str] = (), file: str = "") -> pd.DataFrame:
        """Return some columns of a csv file of the case."""


def case_columns(case: _RecordedCase, row: int) -> dict[str, Any]:
    """Return the columns that say which case a row is of."""
    record = case.record
    values = (
        *(row, record.benchmark, record.split, record.protocol, case.model, record.case),
        *(record.limit, record.seed, record.data.fingerprint),
    )
    return dict(zip(CASE, values, strict=True)) | {OPTION + name: value for name, value in record.variant.items()}


def metrics_frame(cases: Iterable[_RecordedCase]) -> pd.DataFrame:
    """Return every number of some cases, one row each."""
    rows = [
        {**case_columns(case, row), **metric} for row, case in enumerate(cases) for metric in metric_rows(case.record)
    ]
    frame = pd.DataFrame(rows)
    return frame if rows else frame.reindex(columns=[*CASE, *NUMBER])


def metric_rows(record: Record) -> Iterable[dict[str, Any]]:
    """Yield the columns of each number of a record; a number or an interval that is not defined is NaN."""
    for metric in record.metrics:
        low, high = metric.ci or (np.nan, np.nan)
        value = np.nan if metric.value is None else metric.value
        values = (
            *metric.key,
            *(value, metric.n, metric.n_clusters, low, high, metric.ci_method, metric.higher_is_better),
        )
        yield dict(zip(NUMBER, values, strict=True))


def samples_frame(cases: Sequence[_RecordedCase], columns: Sequence[str] = (), file: str = "") -> pd.DataFrame:
    """Return the answers of some cases, one row each, in the order of their files.

    `columns` are the columns to read; all without any. `file` is the name of a further file of the cases, such as
    `division`; "" is the sample table. Raises ReportError if a case has no such file, if the file has changed since the
    run, or if a column is missing.
    """
    if not cases:
        return pd.DataFrame(columns=[*CASE, *columns])
    parts = [case.samples(columns, file) for case in cases]
    rows = np.repeat(np.arange(len(cases)), [len(part) for part in parts])
    named = pd.DataFrame([case_columns(case, row) for row, case in enumerate(cases)]).drop(columns="row")
    repeated = {name: pd.Categorical(values).take(rows) for name, values in named.items()}
    return pd.concat([pd.DataFrame({"row": rows, **repeated}), pd.concat(parts, ignore_index=True)], axis=1)


def read_samples(case: _RecordedCase, columns: Sequence[str] = (), file: str = "") -> pd.DataFrame:
    """Return a csv file of a case; see `samples_frame`.

    Columns that end in `correct` are numbers: 1, 0, or NaN for an answer that does not count. The columns
    `LABELS.category` are categorical, NaN for an image that the label set does not annotate. All other columns are
    text, "" for an empty cell. With an outcome or a category those of all label sets are returned: tables ask for them
    one by one, and reading one column takes almost as long as reading all.
    """
    record, folder = case.record, case.folder
    entry = record.artifacts.get(file) if file else record.predictions
    if entry is None:
        raise ReportError(f"The record of {record.case} in {folder} names no {file or 'answers'}. Run the case again.")
    text = read_verified(folder / entry.path, folder, entry)
    content = StringIO(text)
    heads = next(csv.reader(content), [""])
    content.seek(0)
    if missing := [name for name in columns if name not in heads]:
        raise ReportError(
            f"{folder / entry.path} has no column {', '.join(missing)}; its columns are {', '.join(heads)}. "
            "Run the case again."
        )
    outcomes = [name for name in heads if name.split(".")[-1] in OUTCOMES and not name.startswith(KEPT)]
    wanted = [*dict.fromkeys([*columns, *(outcomes if {*outcomes} & {*columns} else [])])] or heads
    own = [name for name in wanted if not name.startswith(KEPT)]
    numbers = [name for name in own if name.split(".")[-1] == "correct"]
    kinds = [name for name in own if name.endswith(".category")]
    empty = {name: [""] for name in (*numbers, *kinds)}
    types = dict.fromkeys(wanted, "str") | dict.fromkeys(numbers, "float64") | dict.fromkeys(kinds, LABEL_CATEGORY)
    try:
        return pd.read_csv(content, usecols=wanted, dtype=types, keep_default_na=False, na_values=empty)[wanted]
    except (ValueError, pd.errors.ParserError) as error:
        raise ReportError(f"{folder / entry.path} cannot be read as answers ({error}). Run the case again.") from error


def to_numbers(frame: pd.DataFrame, columns: Sequence[str], kind: type = np.float64) -> pd.DataFrame:
    """Return a frame of answers with some columns of text as numbers, NaN for an empty cell.

    Raises ReportError for a text that is not a number, or for an empty cell if `kind` has no NaN.
    """
    numbers = {}
    for name in columns:
        try:
            numbers[name] = frame[name].where(frame[name] != "", "nan").astype(np.float64).astype(kind)
        except ValueError as error:
            cases = ", ".join(frame["case"].unique())
            raise ReportError(
                f"The column {name} of {cases} cannot be read as numbers ({error}). Run the case again."
            ) from error
    return frame.assign(**numbers)


def share(frame: pd.DataFrame, column: str, by: Sequence[str]) -> pd.DataFrame:
    """Return the mean of 0s and 1s in each group, with its n and Wilson's interval; NaN does not count.

    A group of a category without samples has n = 0 and no value, if its column in `by` is categorical.
    """
    return with_wilson(count_hits(frame, column, by))


def count_hits(frame: pd.DataFrame, column: str, by: Sequence[str]) -> pd.DataFrame:
    """Return the sum of 0s and 1s in each group as `hits`, and their number as `n`; NaN does not count."""
    return frame.groupby([*by], sort=True, observed=False)[column].agg(hits="sum", n="count").reset_index()


def with_wilson(groups: pd.DataFrame) -> pd.DataFrame:
    """Return groups with `hits` and `n` as cells: the share, its n and Wilson's interval."""
    ends = [wilson(int(hits), int(n)) for hits, n in zip(groups["hits"], groups["n"], strict=True)]
    low, high = np.array(ends, np.float64).reshape(-1, 2).T
    return groups.assign(value=groups["hits"] / groups["n"], low=low, high=high).drop(columns="hits")


def clustered_share(correct: ArrayLike, clusters: ArrayLike) -> dict[str, float]:
    """Return the fields of a cell: the mean of 0s and 1s, its n, and Wilson's interval over clusters, such as images.

    There is no value if there are no samples.
    """
    outcomes = np.asarray(correct, np.float64)
    if not len(outcomes):
        return {"value": np.nan, "n": 0, "low": np.nan, "high": np.nan}
    low, high = clustered_wilson(outcomes, clusters)
    return {"value": float(outcomes.mean()), "n": len(outcomes), "low": low, "high": high}


def change(frame: pd.DataFrame, before: str, after: str, by: Sequence[str]) -> pd.DataFrame:
    """Return the mean change between two columns of 0s and 1s in each group, with the interval of Bonett and Price.

    Samples with a value in both columns count; see `eyechart.statistics.paired.change_interval`.
    """
    return with_change_interval(count_changes(frame, before, after, by))


def count_changes(frame: pd.DataFrame, before: str, after: str, by: Sequence[str]) -> pd.DataFrame:
    """Return how many samples of each group have a higher value after (`gained`), a lower one (`lost`), and n."""
    moved = frame[after] - frame[before]
    marked = frame[[*by]].assign(gained=moved > 0, lost=moved < 0, n=moved.notna())
    return marked.groupby([*by], sort=True, observed=False)[["gained", "lost", "n"]].sum().reset_index()


def with_change_interval(groups: pd.DataFrame) -> pd.DataFrame:
    """Return groups with `gained`, `lost` and `n` as cells: the change, its n and the interval of Bonett and Price."""
    ends = [
        change_interval_from_counts(gained, lost, n) if n else (np.nan, np.nan)
        for gained, lost, n in groups[["gained", "lost", "n"]].itertuples(index=False)
    ]
    low, high = np.array(ends, np.float64).reshape(-1, 2).T
    value = (groups["gained"] - groups["lost"]) / groups["n"]
    return groups.assign(value=value, low=low, high=high).drop(columns=["gained", "lost"])


def select_metrics(frame: pd.DataFrame, columns: Mapping[str, Mapping[str, str]]) -> pd.DataFrame:
    """Return the numbers of a frame of metrics as cells; a number that is missing has no cell.

    `columns` has for the head of each column the values by which its number is found, such as
    `{"AUC": {"metric": "auc", "subset": "answerable"}}`.
    """
    parts = [
        frame[np.logical_and.reduce([frame[name] == value for name, value in wanted.items()])].assign(column=head)
        for head, wanted in columns.items()
    ]
    return pd.concat(parts, ignore_index=True)


def export_frames(cases: Sequence[_RecordedCase], format_name: str) -> Iterator[tuple[str, bytes]]:
    """Yield the names and contents of `metrics` and `samples` in a format.

    Raises ReportError if the packages for the format are missing.
    """
    for name, frame in (("metrics", metrics_frame(cases)), ("samples", samples_frame(cases))):
        yield f"{name}.{format_name}", _encode_frame(frame.drop(columns="row"), format_name)


def _encode_frame(frame: pd.DataFrame, format_name: str) -> bytes:
    """Return a frame as the bytes of a file.

    A column that mixes texts with numbers, as a target of several protocols does, is a column of texts.
    """
    if format_name == CSV:
        return str(frame.to_csv(index=False)).encode()
    if find_spec("pyarrow") is None:
        raise ReportError(f"Parquet needs pyarrow: {install_command('hub')}, or write csv.")
    mixed = [name for name in frame if frame[name].dtype == object]
    return bytes(frame.astype(dict.fromkeys(mixed, "string")).to_parquet(index=False))

"""Metrics and samples of runs as files for other tools, for `eyechart export`."""

from collections.abc import Iterator
from importlib.util import find_spec

import pandas as pd

from eyechart.errors import ReportError
from eyechart.messages.install_commands import install_command
from eyechart.reports.runs import Runs
from eyechart.results.frames import metrics_frame, samples_frame

PARQUET, CSV = "parquet", "csv"


def export_frames(runs: Runs, format_name: str) -> Iterator[tuple[str, bytes]]:
    """Yield the names and contents of `metrics` and `samples` in a format.

    Raises ReportError if the packages for the format are missing.
    """
    cases = [*runs.cases]
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

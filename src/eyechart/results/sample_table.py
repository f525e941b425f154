"""The sample table of a case: a header, then one row per sample, such as an image or a question about one.

The tables of all protocols begin with the same columns, so that `pandas.concat` joins them; docs/samples.md describes
them and the further columns of each protocol.
"""

from collections.abc import Iterator
from typing import Any

from eyechart.errors import ReportError

SHARED_COLUMNS = ("key", "target", "prediction", "correct", "subset", "error")
OUTCOMES = ("0", "1", "")
KEPT = "kept."  # begins the columns of texts that an imported run keeps of another tool


def shared_cells(
    *,
    key: str,
    target: str = "",
    prediction: str = "",
    correct: float | None = None,
    subset: str = "",
    error: str = "",
) -> list[Any]:
    """Return the cells of the shared columns of one row.

    Args:
        key: The key of the image.
        target: The expected answer as text.
        prediction: The model's answer in the same terms, "" for none.
        correct: 1 or 0 under the first label set, None or NaN for a sample that does not count.
        subset: The subset that the sample belongs to, such as `OOD-S` or `unanswerable`.
        error: The message of an error.

    Returns:
        The cells in the order of `SHARED_COLUMNS`.

    >>> shared_cells(key="a", target="yes", prediction="no", correct=0.0)
    ['a', 'yes', 'no', 0, '', '']
    >>> shared_cells(key="a", target="yes", correct=float("nan"), subset="OOD-S", error="refused")
    ['a', 'yes', '', '', 'OOD-S', 'refused']
    """
    counts = correct is not None and correct == correct  # not NaN
    return [key, target, prediction, int(correct or 0) if counts else "", subset, error]


def check_rows(protocol: str, rows: Iterator[list[Any]]) -> Iterator[list[Any]]:
    """Yield the header and the rows of the sample table of a protocol, unchanged.

    Raises:
        ReportError: For a missing or misplaced shared column, a column that occurs twice, a row of another length, an
            outcome other than 1, 0 and "", and an outcome of a sample with an error.

    >>> list(check_rows("mine", iter([["key", "answer"], ["a", "yes"]])))
    Traceback (most recent call last):
    eyechart.errors.ReportError: The sample table of the protocol mine has no column target, prediction, correct, \
subset, error. Expected it to begin with key, target, prediction, correct, subset, error: begin the header with \
SHARED_COLUMNS and each row with shared_cells(…) of eyechart.results.sample_table.
    """
    table = f"The sample table of the protocol {protocol}"
    remedy = (
        f"Expected it to begin with {', '.join(SHARED_COLUMNS)}: begin the header with SHARED_COLUMNS and each row "
        "with shared_cells(…) of eyechart.results.sample_table."
    )
    header = next(rows, [])
    if missing := [name for name in SHARED_COLUMNS if name not in header]:
        raise ReportError(f"{table} has no column {', '.join(missing)}. {remedy}")
    if tuple(header[: len(SHARED_COLUMNS)]) != SHARED_COLUMNS:
        raise ReportError(f"{table} begins with {', '.join(header[: len(SHARED_COLUMNS)])}. {remedy}")
    if repeated := [name for index, name in enumerate(header) if name in header[:index]]:
        raise ReportError(f"{table} has the column {', '.join(repeated)} twice. Give each column a name of its own.")
    yield header
    correct_index, error_index = (SHARED_COLUMNS.index(name) for name in ("correct", "error"))
    width = len(header)
    for number, row in enumerate(rows, 1):
        if len(row) != width:
            raise ReportError(f"{table}: row {number} has {len(row)} cells. Expected {len(header)}, as in the header.")
        correct, error = str(row[correct_index]), row[error_index]
        if correct not in OUTCOMES or (correct and error):
            beside = f" beside the error {error!r}" if error else ""
            raise ReportError(
                f"{table}: in row {number} ({row[0]}) correct is {correct!r}{beside}. "
                'Expected 1, 0, or "" for a sample that does not count or ended in an error.'
            )
        yield row

"""What all command lines have in common: what they print can be printed, and progress suits who looks on."""

import io
import sys
from collections.abc import Sequence

QUICK, SLOW = 0.1, 30.0


def escape_unprintable() -> None:
    """Escape what a terminal or a file lacks the letters of, as it may be in a name."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def progress_interval() -> float:
    """How far lines of progress are apart: where there is no terminal, each of them stays."""
    return QUICK if sys.stderr.isatty() else SLOW


def align_columns(rows: Sequence[Sequence[str]]) -> str:
    """Rows as lines, the first column to the left and numbers to the right.

    >>> print(aligned([("split", "pairs"), ("a", "1,000")]))
    split  pairs
    a      1,000
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        )
        for row in rows
    )

"""Helpers of all command lines: printing of any character, progress and aligned columns."""

import io
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from time import monotonic

QUICK, SLOW = 0.1, 30.0


def escape_unprintable() -> None:
    """Escape characters, such as those of a name, that the encoding of the terminal or file does not have."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def progress_interval() -> float:
    """Return the seconds between two lines of progress: more without a terminal, where lines are not overwritten."""
    return QUICK if sys.stderr.isatty() else SLOW


@contextmanager
def progress_line() -> Iterator[Callable[[str], None]]:
    """Return a function that prints a step on stderr: on one line of a terminal, elsewhere now and then on its own."""
    is_terminal, printed = sys.stderr.isatty(), -float("inf")

    def show(step: str) -> None:
        nonlocal printed
        if (now := monotonic()) - printed >= progress_interval():
            printed = now
            line = f"\r\x1b[K{step}" if is_terminal else f"{step}\n"
            print(line, end="", file=sys.stderr, flush=True)

    try:
        yield show
    finally:
        if is_terminal:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def align_texts(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows as lines, with all columns aligned to the left.

    >>> align_texts([("split", "layout"), ("a", "folder")])
    ['split  layout', 'a      folder']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def align_numbers(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows as lines, with the first column aligned to the left and the others to the right.

    >>> align_numbers([("split", "pairs"), ("a", "1,000")])
    ['split  pairs', 'a      1,000']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join([first.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True))])
        for first, *rest in rows
    ]

"""The lines of a csv file in which every text comes back as it was."""

import csv
from collections.abc import Iterable, Iterator, Sequence
from typing import Any


def csv_lines(rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """Return the lines of a csv file. The writer's line end is CRLF, so that it quotes a carriage return in a cell.

    >>> list(csv_lines([["a", 1, "b,c"], [2.5, None, "\\r"]]))
    ['a,1,"b,c"\\n', '2.5,,"\\r"\\n']
    """
    return map(csv.writer(_Line(), lineterminator="\r\n").writerow, rows)


class _Line:
    """Returns each line that a csv writer writes, with a line feed at the end."""

    def write(self, line: str) -> str:
        return line[:-2] + "\n"

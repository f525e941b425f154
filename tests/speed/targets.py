"""The targets of speed and what was measured last: `python -m tests.speed.targets` prints the table of docs/speed.md.

A measured value is that of the command in its row, on a quiet machine of two processors unless the row says otherwise.
"""

import tomllib
from collections.abc import Iterator
from pathlib import Path

COLUMNS = ("what", "target", "measured", "met", "command")
PATH = Path(__file__).with_suffix(".toml")


def rows() -> Iterator[tuple[str, ...]]:
    """Yield the rows of the table; a peer follows what it is compared in, and the reason of a miss what is measured."""
    for row in tomllib.loads(PATH.read_text(encoding="utf-8"))["target"]:
        command = f"`python -m tests.speed{row['command'] and '.'}{row['command']}`"
        note = f": {row['note']}" if "note" in row else ""
        peer = f" (peer: {row['peer']})" if "peer" in row else ""
        yield f"{row['what']}{peer}", row["target"], f"{row['measured']}{note}", "yes" if row["met"] else "no", command


def table() -> list[str]:
    """Return the lines of the table."""
    rule = "|---" * len(COLUMNS) + "|"
    heading, *lines = (f"| {' | '.join(row)} |" for row in (COLUMNS, *rows()))
    return [heading, rule, *lines]


if __name__ == "__main__":
    print("\n".join(table()))

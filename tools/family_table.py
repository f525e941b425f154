"""Write the table of docs/families.md, the families that `hf[…]` was tried on: `python tools/family_table.py`."""

import re
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import families

PAGE = Path(__file__).resolve().parents[1] / "docs/families.md"
COLUMNS = ("family", "tokens as transformers'", "exact log-probabilities", "largest difference", "choices are read")
BOUND = 1e-4  # of a difference between two log-probabilities in float32
START, END = "<!-- table: families -->", "<!-- end of table -->"
ROW = re.compile(r"^\| `(\w+)` \| (yes|no) \| (yes|no) \| ([0-9.e-]+) \| ([a-z ]+) \|$", re.MULTILINE)


class Row(NamedTuple):
    """A row of the table."""

    family: str
    same_tokens: bool
    exact: bool
    difference: float
    path: str


def measure(family: str, folder: Path) -> Row:
    """Return the row of a family whose tiny checkpoint is in a folder."""
    from families.check import Comparison, draw_requests

    comparison = Comparison(folder, draw_requests())
    exact = comparison.error < BOUND and comparison.finds_best
    return Row(family, comparison.same_tokens, exact, comparison.error, comparison.path)


def read_rows(page: str) -> list[Row]:
    """Return the rows of the table in a page."""
    cells = ROW.findall(page)
    return [
        Row(name, tokens == "yes", exact == "yes", float(error), path) for name, tokens, exact, error, path in cells
    ]


def write_table(rows: Iterable[Row]) -> Iterator[str]:
    """Yield the lines of the table."""
    yield f"| {' | '.join(COLUMNS)} |"
    yield f"|{'---|' * len(COLUMNS)}"
    words = {True: "yes", False: "no"}
    for row in rows:
        cells = (f"`{row.family}`", words[row.same_tokens], words[row.exact], f"{row.difference:.0e}", row.path)
        yield f"| {' | '.join(cells)} |"


def main() -> None:
    """Measure all families, and write the table into the page."""
    warnings.simplefilter("ignore")
    with TemporaryDirectory() as folder:
        rows = [measure(family, families.save(family, Path(folder) / family)) for family in families.FAMILIES]
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(START)
    table = "\n".join(write_table(rows))
    PAGE.write_text(f"{before}{START}\n\n{table}\n\n{END}{rest.partition(END)[2]}", encoding="utf-8")


if __name__ == "__main__":
    main()

"""Write the table of docs/families.md, the families that `hf[…]` and `vllm[…]` were tried on.

`python tools/family_table.py [FAMILY …]` measures all families, or only these and keeps the other rows.
"""

import re
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import families
from families.protocols import PROTOCOLS, protocols_of, run_protocols

PAGE = Path(__file__).resolve().parents[1] / "docs/families.md"
COLUMNS = (
    *("family", "tokens as transformers'", "exact log-probabilities", "largest difference", "choices are read"),
    *("protocols", "vLLM: tokens", "vLLM: largest difference", "vLLM: choices are read", "vLLM: protocols"),
)
BOUND = 1e-4  # of a difference between two log-probabilities in float32
START, END = "<!-- table: families -->", "<!-- end of table -->"
ABSENT = "–"
COUNT = len(PROTOCOLS)
WORDS = {True: "yes", False: "no"}
ENGINE_PATHS = {True: "one pass", False: "a request each"}


class EngineRow(NamedTuple):
    """The columns of vLLM."""

    same_tokens: bool
    difference: float
    path: str
    protocols: int


class Row(NamedTuple):
    """A row of the table; `vllm` is None for a checkpoint that vLLM does not run."""

    family: str
    same_tokens: bool
    exact: bool
    difference: float
    path: str
    protocols: int
    vllm: EngineRow | None


def measure(names: Iterable[str], folder: Path) -> Iterator[Row]:
    """Yield the rows of families, whose tiny checkpoints are saved in a folder."""
    from families.check import Comparison, draw_requests

    comparisons = {name: Comparison(families.save(name, folder / name), draw_requests()) for name in names}
    specs = {name: [tried.spec, *([tried.vllm_spec] if tried.vllm else [])] for name, tried in comparisons.items()}
    records = run_protocols([spec for both in specs.values() for spec in both], folder, [sys.executable])
    for name, tried in comparisons.items():
        exact = tried.error < BOUND and tried.finds_best
        ran, *through_vllm = (len(protocols_of(spec, records)) for spec in specs[name])
        row = Row(name, tried.same_tokens, exact, tried.error, tried.path, ran, None)
        if tried.vllm:
            path = ENGINE_PATHS[tried.vllm.side_by_side]
            row = row._replace(vllm=EngineRow(tried.vllm.same_tokens, tried.vllm.error, path, *through_vllm))
        yield row


def read_rows(page: str) -> list[Row]:
    """Return the rows of the table in a page."""
    table = page.partition(END)[0]
    lines = re.findall(r"^\| `\w+` \|.*\|$", table, re.MULTILINE)
    return [_read_row([cell.strip() for cell in line.strip("|").split("|")]) for line in lines]


def _read_row(cells: list[str]) -> Row:
    name, tokens, exact, difference, path, protocols, *vllm = cells
    row = Row(name.strip("`"), tokens == "yes", exact == "yes", float(difference), path, _count(protocols), None)
    if vllm[0] == ABSENT:
        return row
    return row._replace(vllm=EngineRow(vllm[0] == "yes", float(vllm[1]), vllm[2], _count(vllm[3])))


def _count(cell: str) -> int:
    return int(cell.split()[0])


def write_table(rows: Iterable[Row]) -> Iterator[str]:
    """Yield the lines of the table."""
    yield f"| {' | '.join(COLUMNS)} |"
    yield f"|{'---|' * len(COLUMNS)}"
    for row in rows:
        yield f"| {' | '.join(_write_cells(row))} |"


def _write_cells(row: Row) -> Iterator[str]:
    yield from (f"`{row.family}`", WORDS[row.same_tokens], WORDS[row.exact], f"{row.difference:.0e}", row.path)
    yield _write_count(row.protocols)
    if row.vllm is None:
        yield from [ABSENT] * 4
    else:
        yield from (WORDS[row.vllm.same_tokens], f"{row.vllm.difference:.0e}", row.vllm.path)
        yield _write_count(row.vllm.protocols)


def _write_count(protocols: int) -> str:
    return f"{protocols} of {COUNT}"


def main(names: list[str]) -> None:
    """Measure families, and write the table into the page."""
    warnings.simplefilter("ignore")
    page = PAGE.read_text(encoding="utf-8")
    rows: Mapping[str, Row] = {row.family: row for row in read_rows(page)} if names else {}
    with TemporaryDirectory() as folder:
        measured = {row.family: row for row in measure(names or families.FAMILIES, Path(folder))}
    before, _, rest = page.partition(START)
    table = "\n".join(write_table(dict(sorted({**rows, **measured}.items())).values()))
    PAGE.write_text(f"{before}{START}\n\n{table}\n\n{END}{rest.partition(END)[2]}", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])

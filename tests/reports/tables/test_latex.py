"""Every table in LaTeX fits an a4 page with margins of 2 cm, also with long names of models, and needs what it says."""

from collections.abc import Sequence
from typing import Any

import pytest

from eyechart.errors import ReportError
from eyechart.reports.tables.registry import table_builders, tables
from eyechart.reports.tables.render import NumberCell, Table, to_latex

NOT_OF_RUNS = {"oodbench-population"}  # what `eyechart divide overlap` makes of a division, and its test sets


def test_every_table_is_made_of_the_runs_here(pools: Sequence[str], golden: Any) -> None:
    made = {name for pool in pools for name in golden.read_golden(f"tests/{pool}.json.gz")}
    absent = {table.alias or table.name for table in table_builders().values()} - made - NOT_OF_RUNS
    remedy = "Add a run to POOLS in conftest.py, and write its file: python tools/golden.py write --only tests"
    assert absent == set(), f"No run has data for these tables. {remedy}"


@pytest.mark.deep
def test_every_table_fits_the_page(pool: Any, latex_problems: Any) -> None:
    _, _, made = pool
    assert latex_problems(to_latex(table) for each in made.values() for table in each) == []


def wide(columns: int, rows: int, name: str = "organization/a-model-of-thirty-letters") -> Table:
    """A table of numbers with intervals."""
    cells = tuple(NumberCell(0.5, 9 + index, (0.1, 0.9), 1) for index in range(columns))
    heads = ("Model", *(f"measure {index}" for index in range(columns)))
    return Table("A wide table", heads, tuple((f"{name} {row}", *cells) for row in range(rows)), ("A note.",) * 3)


@pytest.mark.deep
@pytest.mark.parametrize(("columns", "rows"), [(2, 3), (9, 3), (40, 3), (3, 200), (40, 60)])
def test_tables_of_any_size_fit_the_page(columns: int, rows: int, latex_problems: Any) -> None:
    assert latex_problems([to_latex(wide(columns, rows))]) == []


def test_texts_from_outside_compile_and_fit(latex_problems: Any) -> None:
    texts = ("x" * 300, r"\input{/etc/passwd}", "50 % & $x$ #1 {a} ~b^c_d", "éàßł δη τ² ∀ 模型 🐦", "[a]--`b' <c>|d|")
    rows = tuple((text, NumberCell(0.5, 4, (0.1, 0.9))) for text in texts)
    assert latex_problems([to_latex(Table(text, (text, "%"), rows, (text,))) for text in texts]) == []


def test_a_table_that_is_much_too_wide_is_split() -> None:
    narrow, split = (to_latex(wide(columns, 3)) for columns in (4, 40))
    assert narrow.startswith("% needs \\usepackage{booktabs}\\usepackage{graphicx}\n")
    assert narrow.count(r"\begin{table}") == 1
    assert split.count(r"\addtocounter{table}{-1}") == split.count(r"\begin{table}") - 1 > 1
    assert split.count("organization") == 3 * split.count(r"\begin{table}")
    assert [split.count(f"measure {index}") for index in (0, 17, 39)] == [1, 1, 1]


def test_an_interval_stands_small_beneath_its_number() -> None:
    written = to_latex(Table("t", ("Model", "acc"), (("a", NumberCell(0.5, 4, (0.1, 0.9), 1, highlight=1)),)))
    assert r"\eyelines[t]{r}{\textbf{50.00 (1)}\\\scriptsize {[}10.00, 90.00]}" in written


@pytest.mark.deep
def test_a_refused_table_is_no_page(worded: Any) -> None:
    with pytest.raises(ReportError):
        tables("oodbench-T1", worded)

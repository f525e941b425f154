"""Every table in LaTeX fits an a4 page with margins of 2 cm, also with long names of models, and needs what it says."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from eyechart.errors import ReportError
from eyechart.reports.tables.registry import names_by_number, table_builders, tables
from eyechart.reports.tables.render import NumberCell, Table, to_latex

ELSEWHERE = {
    "F7",
    "oodbench-population",
    "wordings",
    "memory",
    "blind",
    "reannotated",
}  # in test_annotation_outcomes.py, test_overlap_tables.py, and test files of their names
BY_POOL: Mapping[str, tuple[str, ...]] = {
    "worded": ("mill-imagenet", "T2", "T4", "F3", "T5", "T6", "T9", "T10", "F9", "T11", "T12", "T13", "T14", "T15",
               "T16", "T18"),
    "repeated": ("T7", "T17", "T19"),
    "classified": ("mill-imagenet", "T2", "T4", "F3", "T9", "T10", "F9"),
    "paired": tuple(
        f"oodbench-{name}"
        for name in ("T1", "T2", "T3", "T9", "T10", "T11", "T12", "T13", "T14", "T15", "T16", "T17", "T18", "F9",
                     "F10", "F13", "degradation", "signature")
    ),
    "hard": tuple(f"oodbench-{name}" for name in ("T8", "F2", "F6", "F8", "F11", "F12", "F14", "F15", "F16", "mmd")),
    "birds": tuple(
        name for name in table_builders() if name.startswith("realbirdid-") and name != "realbirdid-free-form"
    ),
    "free_form": ("realbirdid-free-form",),
}  # fmt: skip


def test_every_table_is_set_here_or_elsewhere() -> None:
    listed = {name for names in BY_POOL.values() for name in names} | ELSEWHERE
    assert {names_by_number().get(name, name) for name in listed} == {*table_builders()}


@pytest.mark.deep
@pytest.mark.parametrize("pool", BY_POOL)
def test_every_table_fits_the_page(
    pool: str, request: pytest.FixtureRequest, latex_problems: Any, tables_of: Callable[..., Any]
) -> None:
    runs = request.getfixturevalue(pool)
    found = {name: tables_of(names_by_number().get(name, name), runs) for name in BY_POOL[pool]}
    assert latex_problems(to_latex(made) for each in found.values() for made in each) == []


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

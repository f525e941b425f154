"""Birds that all can be told, or none: every table has rows, or says what it needs, and so has its figure."""

import pytest

from eyechart.errors import ReportError
from eyechart.realbirdid import catalogue
from eyechart.reports.figures.registry import figure_drawers, matplotlib_defaults
from eyechart.reports.tables.registry import names_by_number, tables

TABLES = tuple(table.alias or table.name for table in catalogue.TABLES)
KINDS = {"answerable": 0, "unanswerable": 2}
OTHERS = ("realbirdid-free-form", "realbirdid-correlation")  # which nobody was asked for, and which needs three models


def refusal(make, *given):
    """What is said instead of a result, "" where there is one."""
    try:
        assert make(*given)
    except ReportError as error:
        return str(error)
    return ""


def drawn(name, pool):
    with matplotlib_defaults():
        return figure_drawers()[names_by_number().get(name, name)](pool, None)


@pytest.fixture(params=KINDS)
def asked(request, alike):
    """Which kind of birds models were asked about, and all that they said."""
    return request.param, alike(KINDS[request.param], also=True)


LACKING = {
    "answerable": {"realbirdid-T4", "realbirdid-T5", "realbirdid-F8", "realbirdid-F9"},
    "unanswerable": {f"realbirdid-F{index}" for index in (5, 6, 9, 18, 19)},
}


def test_every_table_has_rows_or_says_what_it_needs(asked):
    kind, pool = asked
    said = {name: why for name in TABLES if (why := refusal(tables, name, pool))}
    assert {*said} == {*LACKING[kind], *OTHERS}
    assert all(why.startswith(name) and "Make it with: pytest" in why for name, why in said.items())


@pytest.mark.deep
def test_a_figure_is_drawn_where_its_table_has_rows(asked):
    _, pool = asked
    names = [name for name in {*LACKING["answerable"], *LACKING["unanswerable"]} if "-F" in name]
    assert {name: refusal(drawn, name, pool) for name in names} == {name: refusal(tables, name, pool) for name in names}


def test_genera_of_unanswerable_birds_need_some(alike):
    said = refusal(tables, "realbirdid-T5", alike(0))
    assert said.startswith("realbirdid-T5 shows which genera unanswerable images are of, and there are none")

"""Tests of `eyechart.reports.page.columns`."""

import csv
from io import StringIO

from hypothesis import given
from hypothesis import strategies as st

from eyechart.classification.protocols.multiple_choice import AnswerOptions
from eyechart.reports.page.columns import Column, SampleTable
from eyechart.reports.page.samples import asked_options, class_namer


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=3)))
def test_a_column_keeps_each_value_once_and_gives_it_to_every_row(texts: list[str]) -> None:
    column = Column.of(texts)
    assert [*column] == texts
    assert column.values == [*dict.fromkeys(texts)]
    assert [*column.map(len)] == [*map(len, texts)]
    assert column.map(len).array(int).tolist() == [*map(len, texts)]


PARTS = st.sampled_from(["a", "1", ".0", "NA", '"', ",", "\n", "\r\n", " ", "\u2028", "é"])
CELLS = st.lists(PARTS, max_size=4).map("".join)


@given(st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=1))
def test_a_table_has_the_texts_of_its_file_unchanged(rows: list[tuple[str, ...]]) -> None:
    out = StringIO(newline="")
    csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows([("key", "01", "1.0"), *rows])
    table = SampleTable.parse(out.getvalue())
    assert [tuple(row.values()) for row in table] == rows
    assert [*table.columns] == ["key", "01", "1.0"]


def test_the_options_of_a_choice_stand_as_in_its_prompt() -> None:
    names = ["tench", "goldfish"]
    rows = SampleTable.parse("key,options\na,1;0\nb,\n")
    listed = AnswerOptions((1, 0), (0,)).to_text(names)
    assert asked_options(rows, class_namer(names))[:] == (("", {"dynamic_choices": listed}), ("", {}))

"""What is written down can be read back: by a csv reader, by a Markdown parser; LaTeX holds nothing unescaped."""

import csv
import re
from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from eyechart.reports.tables.latex import latex_text
from eyechart.reports.tables.render import (
    CHANGE,
    PERCENT,
    NumberCell,
    Table,
    markdown_item,
    one_line,
    to_csv,
    to_latex,
    to_markdown,
)

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20) | st.text(
    "\\|`*_<>&[]()!#~$^{}%-=:1. \n", max_size=12
)
ROWS = st.integers(1, 4).flatmap(lambda width: st.lists(st.tuples(*[TEXT] * width), min_size=1, max_size=4))
PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
HARMLESS = {"text", "text_special"}


def table(rows, notes=()):
    return Table("title", tuple(f"c{index}" for index in range(len(rows[0]))), tuple(rows), tuple(notes))


def inline(markdown):
    """The text of every inline piece, after checking that it is text and nothing else."""
    pieces = [token for token in PARSER.parse(markdown) if token.type == "inline"]
    assert {child.type for piece in pieces for child in piece.children} <= HARMLESS
    return ["".join(child.content for child in piece.children) for piece in pieces]


@given(ROWS)
def test_csv_gives_back_every_text(rows):
    read = list(csv.reader(StringIO(to_csv([table(rows)]), newline="")))
    assert read == [[f"c{index}" for index in range(len(rows[0]))], *map(list, rows)]


@given(ROWS)
def test_markdown_shows_every_text_and_nothing_else(rows):
    title, *cells = inline(to_markdown(table(rows)))
    heads = [f"c{index}" for index in range(len(rows[0]))]
    assert (title, cells) == ("title", [*heads, *(one_line(text) for row in rows for text in row)])


@given(TEXT)
def test_a_note_is_a_line_of_text_whatever_it_begins_with(text):
    *_, note = inline(to_markdown(table([("x",)], [f"{text}.", "end"])))[:-1]
    assert note == one_line(f"{text}.")


@pytest.mark.parametrize("text", ["[x]: http://a", "[x] done", "1. one", "# head", "> said", "- item", "```", "---"])
def test_no_note_opens_a_block(text):
    kinds = [token.type for token in PARSER.parse(f"- {markdown_item(text)}\n")]
    assert kinds[2:5] == ["paragraph_open", "inline", "paragraph_close"]
    assert inline(f"- {markdown_item(text)}\n") == [text]


@given(TEXT)
def test_latex_has_no_special_character_left(text):
    letters = r"\\[`'^~=u.\"rHvc]\{(\\?\w)\}|\\(ss|ae|oe|[ol])\{\}"
    commands = (
        rf"\\(text\w+|ldots)\{{\}}|\\[{{}}$&#_%]|\{{\[\}}|-\{{\}}|\$(-|\\\w+)\$|\\textsuperscript\{{2\}}|{letters}"
    )
    assert latex_text(one_line(text)).isascii()
    assert not re.search(r"[\\{}&#_%~^$]|^\[", re.sub(commands, "", latex_text(one_line(text))))


def test_latex_needs_booktabs_and_nothing_more():
    written = to_latex(Table("a_b", ("Model", "%"), (("[x]&", NumberCell(0.5, 2, (0.1, 0.9))),), ("50 % -- none",)))
    assert r"{[}x]\& & \eyelines[t]{r}{50.00\\\scriptsize {[}10.00, 90.00]} \\[2pt]" in written
    assert r"\caption{a\_b}" in written
    assert r"50 \% -{}- none" in written
    assert set(re.findall(r"\\(\w+rule)", written)) == {"toprule", "midrule", "bottomrule"}


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (NumberCell(0.8236, 31250, (0.8193, 0.8278), 9), "82.36 [81.93, 82.78] (9) n=31,250"),
        (NumberCell(-0.0001, style=CHANGE), "+0.0"),
        (NumberCell(-0.296, style=CHANGE), "-29.6"),
        (NumberCell(None, 0, (0.1, 0.2), 3), "— n=0"),
        (NumberCell(float("nan")), "—"),
    ],
)
def test_a_number_is_written_with_what_belongs_to_it(number, text):
    assert number.text(with_n=True) == text


def test_an_n_that_a_column_shares_stands_in_its_head():
    same = Table(
        "",
        ("m", "a", "b"),
        (("x", NumberCell(0.5, 4), NumberCell(0.5, 4)), ("y", NumberCell(0.5, 4), NumberCell(0.5, 5))),
    )
    written = to_markdown(same)
    assert "a (n=4)" in written
    assert written.count("n=4") == 2
    assert "50.00 n=5" in written


def test_tables_of_one_name_make_one_csv():
    tables = [
        Table("", ("m", "v"), (("x", NumberCell(0.5, 4, (0.1, 0.9), 1)),), context={"split": name}) for name in "ab"
    ]
    head, *rows = csv.reader(StringIO(to_csv(tables)))
    assert head == ["split", "m", "v", "v n", "v low", "v high", "v rank"]
    assert rows == [[name, "x", "50.00", "4", "10.00", "90.00", "1"] for name in "ab"]


def test_a_row_of_the_wrong_length_is_refused():
    with pytest.raises(ValueError, match=r"has 2 columns. Got a row of 1 instead"):
        Table("t", ("a", "b"), (("x",),))


def test_control_and_direction_characters_do_not_reach_a_terminal():
    assert one_line("a\x1b[31mb\u202ec\n d") == "a�[31mb�c d"
    assert PERCENT(None) == "—"

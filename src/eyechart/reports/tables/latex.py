"""Write LaTeX: escaped texts, and tables with booktabs rules that fit a page."""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from itertools import product

from eyechart.reports.tables.latex_layout import (
    LANDSCAPE,
    LEADING,
    NARROW_TEXT,
    PORTRAIT,
    ROW_SPACE,
    WIDEST_TEXT,
    Column,
    ColumnGroup,
    column_groups,
    row_chunks,
    row_height,
    split_columns,
    wrap_text,
)

SPECIAL = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "{": r"\{",
        "}": r"\}",
        "$": r"\$",
        "&": r"\&",
        "#": r"\#",
        "_": r"\_",
        "%": r"\%",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        "`": r"\textasciigrave{}",
        "[": "{[}",  # after the end of a row, a bracket would be an option of that end
        "∩": r"$\cap$",
        "Δ": r"$\Delta$",
        "→": r"$\rightarrow$",
        "×": r"$\times$",
        "±": r"$\pm$",
        "†": r"$\dagger$",
        "—": r"\textemdash{}",
        "…": r"\ldots{}",
        "−": "$-$",
        "–": "--",
        "·": r"$\cdot$",
        "≤": r"$\leq$",
        "≥": r"$\geq$",
        "≈": r"$\approx$",
        "≠": r"$\neq$",
        "²": r"\textsuperscript{2}",
        "‘": "`",
        "’": "'",
        "“": "``",
        "”": "''",
        "ß": r"\ss{}",
        "æ": r"\ae{}",
        "ø": r"\o{}",
        "œ": r"\oe{}",
        "ł": r"\l{}",
        "�": "?",
    }
)
# Lines in a cell: aligned at the top or the bottom, and at the left, the right or the middle.
MACROS = (r"\newcommand{\eyelines}[3][t]{\begin{tabular}[#1]{@{}#2@{}}#3\end{tabular}}",)
ACCENTS: Mapping[str, str] = dict(  # by the combining character
    zip(
        "\u0300\u0301\u0302\u0303\u0304\u0306\u0307\u0308\u030a\u030b\u030c\u0327",
        ("`", "'", "^", "~", "=", "u", ".", '"', "r", "H", "v", "c"),
        strict=True,
    )
)
DOTLESS: Mapping[str, str] = {"i": r"\i", "j": r"\j"}  # what an accent stands upon
GREEK = re.compile("GREEK SMALL LETTER ([A-Z]+)")
HIGHLIGHT: Mapping[int, str] = {1: r"\textbf", 2: r"\underline"}


def latex_text(text: str) -> str:
    """Return the LaTeX source, in ASCII, that prints a text unchanged."""
    hyphens = re.sub("-(?=-)", "-\0", text)  # two hyphens would become a dash
    apart = "".join(map(_latex_letter, hyphens)).replace("\0", "{}")
    return re.sub(r"(?<![\w}])-(?=\d)|(?<=\{\[\})-(?=\d)", "$-$", apart)


def _latex_letter(letter: str) -> str:
    """Return the LaTeX source of one letter without extra packages; an unsupported letter by its code point."""
    if letter.isascii() or ord(letter) in SPECIAL:
        return letter.translate(SPECIAL)
    base, *accents = list(unicodedata.normalize("NFD", letter))
    if base.isascii() and base.isalpha() and len(accents) == 1 and accents[0] in ACCENTS:
        return rf"\{ACCENTS[accents[0]]}{{{DOTLESS.get(base, base)}}}"
    if (greek := GREEK.fullmatch(unicodedata.name(letter, ""))) and greek[1] != "OMICRON":
        return rf"$\{greek[1].lower().replace('lamda', 'lambda')}$"
    return f"{{[}}U+{ord(letter):04X}]"


def latex_table(
    title: str,
    heads: Sequence[tuple[str, int | None]],
    cells: Sequence[Sequence[Sequence[str]]],
    right: Sequence[bool],
    notes: Sequence[str],
    standings: Sequence[Sequence[int | None]],
) -> str:
    """Return floating tables that fit a page, with caption and notes; the best cells are bold, the next underlined.

    A head is a name and the n that its column shares; a cell is its lines, the first in normal size. A table that is
    too wide is rotated; one that is still too wide or too tall is split.
    """
    keys = min(next((index for index, number in enumerate(right) if number), len(right)), 4)
    for limit, widest in product((PORTRAIT, LANDSCAPE), (WIDEST_TEXT, NARROW_TEXT)):
        groups = column_groups(heads, cells, right, widest)
        if fits := sum(unit.width for unit in groups) <= limit:
            break
    if not fits:
        groups, limit = column_groups(heads, cells, right, NARROW_TEXT), PORTRAIT
    tall = min(ROW_SPACE[limit], ROW_SPACE[limit] + 90 - _notes_height(notes, limit))
    blocks = [
        (_part_height(part, rows), _latex_tabular(part, rows, standings))
        for part in split_columns(groups, keys, limit)
        for rows in row_chunks([column for unit in part for column in unit.columns], len(cells), tall)
    ]
    floats = pack_floats(blocks, tall)
    kind, needed = ("sidewaystable", "booktabs, rotating") if limit == LANDSCAPE else ("table", "booktabs")
    last = len(floats) - 1
    return "".join(
        _latex_float(kind, needed, title, index, last, tabulars, notes if index == last else ())
        for index, tabulars in enumerate(floats)
    )


def _notes_height(notes: Sequence[str], limit: float) -> float:
    """Return the height of the notes below a table in points, at 3.4 points per letter on average."""
    return 11 * sum(1 + int(3.4 * len(note) // limit) for note in notes)


def _part_height(part: Sequence[ColumnGroup], rows: range) -> float:
    """Return the height of some rows of some columns in points, including the heads."""
    columns = [column for unit in part for column in unit.columns]
    head = 2 + max(len(column.head) for column in columns) + max(len(unit.head) for unit in part)
    return LEADING * head + sum(row_height(columns, row) for row in rows)


def pack_floats(blocks: Sequence[tuple[float, str]], tall: float) -> list[list[str]]:
    """Group tabulars into floats, as many in one float as fit a page."""
    floats: list[list[str]] = []
    used = 0.0
    for size, block in blocks:
        if not floats or used + size > tall:
            floats.append([])
            used = 0.0
        floats[-1].append(block)
        used += size
    return floats


def _latex_float(
    kind: str, needed: str, title: str, index: int, last: int, tabulars: Sequence[str], notes: Sequence[str]
) -> str:
    """Return one float; the second and further parts of a table keep its number."""
    packages = "".join(rf"\usepackage{{{name}}}" for name in needed.split(", "))
    part = f" (part {index + 1} of {last + 1})" if last else ""
    lines = [
        f"% needs {packages}",
        rf"\begin{{{kind}}}[htbp]",
        *([r"\addtocounter{table}{-1}"] if index else []),
        r"\centering\footnotesize\setlength{\tabcolsep}{3pt}",
        *MACROS,
        rf"\caption{{{_latex_note(title + part)}}}",
        "\\par\\medskip\n".join(tabulars),
        *(rf"\par\smallskip\raggedright\scriptsize\noindent {_latex_note(note)}" for note in notes),
        rf"\end{{{kind}}}",
    ]
    return "".join(f"{line}\n" for line in lines)


def _latex_note(text: str) -> str:
    """Return a caption or note; long words may be broken."""
    words = (r"\allowbreak{}".join(map(latex_text, wrap_text(word, 120.0))) for word in text.split())
    return " ".join(words)


def _latex_tabular(part: Sequence[ColumnGroup], rows: range, standings: Sequence[Sequence[int | None]]) -> str:
    """Return a tabular of some rows of some columns."""
    columns = [column for unit in part for column in unit.columns]
    indices = [index for unit in part for index in unit.indices]
    lines = [
        rf"\begin{{tabular}}{{@{{}}{''.join('r' if column.number else 'l' for column in columns)}@{{}}}}",
        r"\toprule",
        *_shared_heads(part),
        _latex_row(_latex_head(column.head, column.number) for column in columns),
        r"\midrule",
        *(
            _latex_row(
                (
                    _latex_cell(column, row, standings[row][index])
                    for column, index in zip(columns, indices, strict=True)
                ),
                apart=any(len(column.cells[row]) > 1 for column in columns),
            )
            for row in rows
        ),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join(lines)


def _shared_heads(part: Sequence[ColumnGroup]) -> list[str]:
    """Return the rows of the heads that several columns share, with their rules; [] if there are none."""
    if not any(unit.head for unit in part):
        return []
    cells, rules, position = [], [], 1
    for unit in part:
        size = len(unit.columns)
        if unit.head:
            cells.append(rf"\multicolumn{{{size}}}{{c}}{{{_stack_lines(list(map(latex_text, unit.head)), 'bc')}}}")
            rules.append(rf"\cmidrule(lr){{{position}-{position + size - 1}}}")
        else:
            cells.extend([""] * size)
        position += size
    return [_latex_row(cells), "".join(rules)]


def _latex_head(lines: Sequence[str], number: bool) -> str:
    """Return the head of a column, its lines stacked."""
    return _stack_lines(list(map(latex_text, lines)), "br" if number else "bl")


def _stack_lines(lines: Sequence[str], alignment: str) -> str:
    """Return lines stacked in one cell; a single line is returned unchanged."""
    if len(lines) < 2:
        return "".join(lines)
    joined = r"\\".join(lines)
    return rf"\eyelines[{alignment[0]}]{{{alignment[1]}}}{{{joined}}}"


def _latex_row(cells: Iterable[str], *, apart: bool = False) -> str:
    """Return one row of a tabular; `apart` adds space below it."""
    return " & ".join(cells) + (r" \\[2pt]" if apart else r" \\")


def _latex_cell(column: Column, row: int, standing: int | None) -> str:
    """Return one cell; a number's further lines are smaller and below it."""
    value, *other_lines = column.cells[row]
    command = HIGHLIGHT.get(standing or 0)
    top = rf"{command}{{{latex_text(value)}}}" if command else latex_text(value)
    if not column.number:
        return _stack_lines([top, *map(latex_text, other_lines)], "tl")
    return _stack_lines([top, *(rf"\scriptsize {latex_text(line)}" for line in other_lines)], "tr")

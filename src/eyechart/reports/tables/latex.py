"""Write LaTeX: escaped texts, and tables with booktabs rules, which LaTeX shrinks if they are wider than the page."""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from textwrap import wrap

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
# Several lines in a cell, and a table that is no wider than a line of the page.
MACROS = (
    r"\newcommand{\eyelines}[3][t]{\begin{tabular}[#1]{@{}#2@{}}#3\end{tabular}}",
    r"\newcommand{\eyefit}[1]{\setbox2\hbox{#1}\ifdim\wd2>\linewidth\resizebox{\linewidth}{!}{\box2}\else\box2\fi}",
)
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
PAGE_LETTERS, PAGE_LINES = 130, 46  # of a table that is hardly shrunk, and of one with its heads
TEXT_LETTERS, HEAD_LETTERS = 32, 14  # of a line of a text, and of a head above short cells
NOTE_LETTERS, NOTE_LINES = 110, 14  # of a line of a note, and lines of notes that a page has room for besides
NOTE_PIECE = 20  # letters of a part of a long word

Lines = Sequence[str]


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
    cells: Sequence[Sequence[Lines]],
    right: Sequence[bool],
    notes: Sequence[str],
    standings: Sequence[Sequence[int | None]],
) -> str:
    """Return floating tables that fit a page, with caption and notes; the best cells are bold, the next underlined.

    A head is a name and the n that its column shares; a cell is its lines, the first in normal size. A table that is
    much too wide or too tall is split.
    """
    texts = [
        [cell if number else wrap(cell[0], TEXT_LETTERS) or [""] for cell, number in zip(row, right, strict=True)]
        for row in cells
    ]
    widths = [max((len(line) for row in texts for line in row[index]), default=0) for index in range(len(heads))]
    stacked = [
        [*wrap(name, max(width, HEAD_LETTERS)), *([] if n is None else [f"(n={n:,})"])]
        for (name, n), width in zip(heads, widths, strict=True)
    ]
    lines = sum(1 + len(note) // NOTE_LETTERS for note in notes)
    heights = [max(map(len, row)) for row in texts]
    rows_of_parts = _split(range(len(cells)), heights, PAGE_LINES - max(map(len, stacked)) - max(0, lines - NOTE_LINES))
    keys = min(next((index for index, number in enumerate(right) if number), len(right)), 4)
    all_widths = [max(width, *map(len, head), 0) + 1 for width, head in zip(widths, stacked, strict=True)]
    columns_of_parts = _split(range(keys, len(heads)), all_widths, PAGE_LETTERS - sum(all_widths[:keys]))
    tabulars = [
        _latex_tabular([*range(keys), *columns], rows, stacked, texts, right, standings)
        for columns in columns_of_parts
        for rows in rows_of_parts
    ]
    last = len(tabulars) - 1
    return "".join(
        _latex_float(title, index, last, tabular, notes if index == last else ())
        for index, tabular in enumerate(tabulars)
    )


def _split(indices: Sequence[int], sizes: Sequence[int], most: int) -> list[list[int]]:
    """Return indices in parts, the sizes of which sum up to `most` or less; a part has one index at least."""
    parts: list[list[int]] = [[]]
    for index in indices:
        if parts[-1] and sum(sizes[other] for other in (*parts[-1], index)) > most:
            parts.append([])
        parts[-1].append(index)
    return parts


def _latex_float(title: str, index: int, last: int, tabular: str, notes: Lines) -> str:
    """Return one float; the second and further parts of a table keep its number."""
    part = f" (part {index + 1} of {last + 1})" if last else ""
    lines = [
        r"% needs \usepackage{booktabs}\usepackage{graphicx}",
        r"\begin{table}[htbp]",
        *([r"\addtocounter{table}{-1}"] if index else []),
        r"\centering\footnotesize\setlength{\tabcolsep}{3pt}",
        *MACROS,
        rf"\caption{{{_latex_note(title + part)}}}",
        rf"\eyefit{{{tabular}}}",
        *(rf"\par\smallskip\raggedright\scriptsize\noindent {_latex_note(note)}" for note in notes),
        r"\end{table}",
    ]
    return "".join(f"{line}\n" for line in lines)


def _latex_note(text: str) -> str:
    """Return a caption or note; long words may be broken."""
    words = (r"\hspace{0pt plus 2em}".join(map(latex_text, wrap(word, NOTE_PIECE))) for word in text.split())
    return " ".join(words)


def _latex_tabular(
    columns: Sequence[int],
    rows: Sequence[int],
    heads: Sequence[Lines],
    cells: Sequence[Sequence[Lines]],
    right: Sequence[bool],
    standings: Sequence[Sequence[int | None]],
) -> str:
    lines = [
        rf"\begin{{tabular}}{{@{{}}{''.join('r' if right[index] else 'l' for index in columns)}@{{}}}}",
        r"\toprule",
        _latex_row([_stack(map(latex_text, heads[index]), "br" if right[index] else "bl") for index in columns]),
        r"\midrule",
        *(
            _latex_row(
                [_latex_cell(cells[row][index], standings[row][index], number=right[index]) for index in columns],
                apart=any(len(cells[row][index]) > 1 for index in columns),
            )
            for row in rows
        ),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join(lines)


def _latex_row(cells: Lines, *, apart: bool = False) -> str:
    """Return one row of a tabular; `apart` adds space below it."""
    return " & ".join(cells) + (r" \\[2pt]" if apart else r" \\")


def _latex_cell(lines: Lines, standing: int | None, *, number: bool) -> str:
    """Return one cell; a number's further lines are smaller and below it."""
    value, *others = map(latex_text, lines)
    if standing:
        value = rf"{HIGHLIGHT[standing]}{{{value}}}"
    return _stack([value, *(rf"\scriptsize {line}" if number else line for line in others)], "tr" if number else "tl")


def _stack(lines: Iterable[str], alignment: str) -> str:
    """Return lines stacked in one cell; a single line is returned unchanged."""
    top, *others = [*lines] or [""]
    joined = r"\\".join([top, *others])
    return rf"\eyelines[{alignment[0]}]{{{alignment[1]}}}{{{joined}}}" if others else top

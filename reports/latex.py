"""LaTeX: texts escaped, tables with the rules of booktabs."""

import re
from collections.abc import Iterable, Mapping, Sequence

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
    }
)
STANDING: Mapping[int, str] = {1: r"\textbf", 2: r"\underline"}


def latex_text(text: str) -> str:
    """A text that LaTeX sets as it is."""
    apart = re.sub(r"-(?=-)", "-{}", text.translate(SPECIAL))  # two hyphens would become a dash
    return re.sub(r"(?<![\w}])-(?=\d)|(?<=\{\[\})-(?=\d)", "$-$", apart)


def latex_table(
    title: str,
    heads: Sequence[str],
    cells: Sequence[Sequence[str]],
    right: Sequence[bool],
    notes: Sequence[str],
    standings: Sequence[Sequence[int | None]],
) -> str:
    """A floating table, its caption above and its notes beneath; the best cells are bold, the next underlined."""
    lines = [
        r"\begin{table}[htbp]",
        r"\centering\footnotesize\setlength{\tabcolsep}{3pt}",
        rf"\caption{{{latex_text(title)}}}",
        rf"\begin{{tabular}}{{@{{}}{''.join('r' if end else 'l' for end in right)}@{{}}}}",
        r"\toprule",
        latex_row(map(latex_text, heads)),
        r"\midrule",
        *(latex_row(map(latex_cell, *row)) for row in zip(cells, standings, strict=True)),
        r"\bottomrule",
        r"\end{tabular}",
        *(rf"\par\smallskip\raggedright\noindent {latex_text(note)}" for note in notes),
        r"\end{table}",
    ]
    return "".join(f"{line}\n" for line in lines)


def latex_row(cells: Iterable[str]) -> str:
    """One row of a tabular."""
    return " & ".join(cells) + r" \\"


def latex_cell(text: str, standing: int | None) -> str:
    """One cell, as it stands among others."""
    command = STANDING.get(standing or 0)
    return rf"{command}{{{latex_text(text)}}}" if command else latex_text(text)

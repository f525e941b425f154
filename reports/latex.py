"""LaTeX: texts escaped, tables with the rules of booktabs."""

import re
from collections.abc import Sequence

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


def latex_text(text: str) -> str:
    """A text that LaTeX sets as it is."""
    apart = re.sub(r"-(?=-)", "-{}", text.translate(SPECIAL))  # two hyphens would become a dash
    return re.sub(r"(?<![\w}])-(?=\d)|(?<=\{\[\})-(?=\d)", "$-$", apart)


def latex_table(
    title: str, heads: Sequence[str], cells: Sequence[Sequence[str]], right: Sequence[bool], notes: Sequence[str]
) -> str:
    """A floating table, its caption above and its notes beneath."""
    lines = [
        r"\begin{table}[htbp]",
        r"\centering\footnotesize\setlength{\tabcolsep}{3pt}",
        rf"\caption{{{latex_text(title)}}}",
        rf"\begin{{tabular}}{{@{{}}{''.join('r' if end else 'l' for end in right)}@{{}}}}",
        r"\toprule",
        latex_row(heads),
        r"\midrule",
        *map(latex_row, cells),
        r"\bottomrule",
        r"\end{tabular}",
        *(rf"\par\smallskip\raggedright\noindent {latex_text(note)}" for note in notes),
        r"\end{table}",
    ]
    return "".join(f"{line}\n" for line in lines)


def latex_row(cells: Sequence[str]) -> str:
    """One row of a tabular."""
    return " & ".join(map(latex_text, cells)) + r" \\"

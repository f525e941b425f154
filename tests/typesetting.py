"""LaTeX tables set by pdflatex on a4 paper, and the lines of its log that say what does not fit."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest

PACKAGES = re.compile(r"^% needs (.+)$", re.MULTILINE)
OVERFULL = re.compile(r"Overfull \\[hv]box \(([\d.]+)pt too (?:wide|high)\).*")
MOST = 5.0  # points that a line may be too wide


def problems(texts: Iterable[str], folder: Path) -> list[str]:
    """Set the tables, a page for each, and return pdflatex's errors and every box that is too large."""
    if shutil.which("pdflatex") is None:
        pytest.skip("there is no pdflatex on this machine: apt-get install texlive-latex-recommended")
    found = list(texts)
    packages = {line for text in found for line in PACKAGES.findall(text)}
    head = [r"\documentclass[a4paper]{article}", r"\usepackage[margin=2cm]{geometry}", *sorted(packages)]
    pages = [f"\\typeout{{page {number}}}\n{text}\\clearpage\n" for number, text in enumerate(found)]
    source = "\n".join([*head, r"\begin{document}", *pages, r"\end{document}", ""])
    (folder / "tables.tex").write_text(source, encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "tables.tex"]
    environment = {**os.environ, "max_print_line": "1000"}
    subprocess.run(command, cwd=folder, env=environment, capture_output=True, timeout=300, check=False)
    log = (folder / "tables.log").read_text(encoding="latin-1").splitlines()
    large = [line for line in log if (size := OVERFULL.match(line)) and float(size[1]) > MOST]
    return [line for line in log if line.startswith("!") or "Float too large" in line] + large

"""Every figure can be read with long names of models: all texts are inside, large enough and apart."""

from pathlib import Path
from runpy import run_path
from typing import Any

import pytest

from eyechart.reports.figures.registry import figure_drawers, matplotlib_defaults

pytestmark = pytest.mark.deep

lay_out = run_path(str(Path(__file__).parents[2] / "layout.py"))["lay_out"]


def test_every_figure_can_be_read(pool: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    _, runs, made = pool
    for figure in figure_drawers().values():
        if (figure.alias or figure.name) in made:
            with matplotlib_defaults():
                layout = lay_out(figure(runs, None), monkeypatch)
            assert (figure.name, [*layout.problems()]) == (figure.name, [])

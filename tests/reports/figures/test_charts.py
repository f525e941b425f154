"""The marks of charts over long frames: what is drawn is what the frame has, and it can be read with long names."""

from pathlib import Path
from runpy import run_path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from eyechart.reports.figures import charts
from eyechart.reports.figures.panels import create_panels
from eyechart.reports.figures.registry import matplotlib_defaults

lay_out = run_path(str(Path(__file__).parents[2] / "layout.py"))["lay_out"]
NAMES = tuple(f"open_clip[ViT-H-14-378,run={number}]" for number in range(4))
COLUMNS = ("first", "second")


@pytest.fixture
def cells() -> pd.DataFrame:
    values = np.linspace(0.05, 0.95, 8)
    frame = pd.DataFrame({"row": np.repeat(range(4), 2), "column": COLUMNS * 4, "value": values})
    return frame.assign(low=frame["value"] - 0.04, high=frame["value"] + 0.04)


@pytest.fixture
def panel() -> Any:
    with matplotlib_defaults():
        figure, axes = create_panels([3.0], 1, 7)
        yield figure, axes[0][0]


def test_bars_have_the_values_and_intervals_of_the_cells(cells: Any, panel: Any, monkeypatch: Any) -> None:
    figure, ax = panel
    charts.draw_bars(ax, cells, COLUMNS)
    charts.label_rows(ax, NAMES)
    ax.set_xlim(0, 125)
    drawn = sorted(patch.get_width() for patch in ax.patches)
    assert drawn == pytest.approx(sorted(100 * cells["value"]))
    segments = np.concatenate([lines.get_segments() for lines in ax.collections])
    assert sorted(segments[:, 0, 0]) == pytest.approx(sorted(100 * cells["low"]))
    assert [*lay_out(figure, monkeypatch).problems()] == []


def test_a_matrix_has_a_text_for_each_value_that_can_be_read_on_its_colour(panel: Any) -> None:
    _, ax = panel
    charts.draw_matrix(ax, np.array([[0.1, -0.9], [np.nan, 0.7]]), "abcd", "RdBu_r", low=-1)
    assert [(text.get_position(), text.get_text(), text.get_color()) for text in ax.texts] == [
        ((0, 0), "a", "black"), ((1, 0), "b", "white"), ((0, 1), "c", "black"), ((1, 1), "d", "white"),
    ]  # fmt: skip

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


def test_a_matrix_has_a_text_where_it_has_a_value(panel: Any, monkeypatch: Any) -> None:
    figure, ax = panel
    kind = pd.CategoricalDtype(NAMES)
    pairs = [(row, column, 0.1 * index) for index, (row, column) in enumerate(zip(NAMES, NAMES[::-1], strict=True))]
    frame = pd.DataFrame(pairs, columns=["row", "column", "value"]).astype({"row": kind, "column": kind})
    charts.draw_matrix(ax, frame, "{:.1f}".format, "Blues")
    assert [(text.get_position(), text.get_text()) for text in ax.texts] == [
        ((3, 0), "0.0"), ((2, 1), "0.1"), ((1, 2), "0.2"), ((0, 3), "0.3"),
    ]  # fmt: skip
    assert [*lay_out(figure, monkeypatch).problems()] == []


def test_a_strip_has_all_values_of_a_row_and_their_mean(cells: Any, panel: Any, monkeypatch: Any) -> None:
    figure, ax = panel
    charts.draw_strips(ax, cells)
    charts.label_rows(ax, NAMES)
    assert [line.get_xdata().tolist() for line in ax.lines] == [
        pytest.approx(part.tolist()) for _, part in (100 * cells["value"]).groupby(cells["row"])
    ]
    means = [lines.get_segments()[0][0, 0] for lines in ax.collections[1::2]]
    assert means == pytest.approx((100 * cells.groupby("row")["value"].mean()).tolist())
    assert [*lay_out(figure, monkeypatch).problems()] == []

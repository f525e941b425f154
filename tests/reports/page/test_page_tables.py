"""Published tables and figures on the page."""

import sys
from pathlib import Path
from typing import Any

import pytest

from eyechart.reports.page.page_tables import cell_data, write_figures
from eyechart.reports.runs import load
from eyechart.reports.tables.render import NumberCell


@pytest.mark.deep
def test_published_tables_and_figures_are_those_of_the_commands(studio: Any, opened: Any) -> None:
    driver = opened(studio.page(figures=True), "#/tables/label-categories")
    caption = "imagenet/sample, a random sample of 12 (seed 42): accuracy (%) on label categories, ImGT and ReGT"
    driver.page.get_by_text(caption).wait_for()
    driver.go("#/figures")
    for name in ("label-change", "agreement"):
        image = driver.page.locator(f"img[src='figures/{name}.svg']")
        assert image.evaluate("image => (image.loading = 'eager', image.decode().then(() => image.naturalWidth))") > 100


CELLS = {
    "text": ("a\nb", "a b"),
    "nothing": (None, "—"),
    "count": (3, [3, "3"]),
    "share": (NumberCell(0.5, 8, (0.2, 0.8)), [0.5, "50.00 [20.00, 80.00] n=8"]),
    "no value": (NumberCell(float("nan"), 0), [None, "— n=0"]),
    "the best": (NumberCell(0.5, highlight=1), [0.5, "50.00", 1]),
}


@pytest.mark.parametrize(("cell", "data"), CELLS.values(), ids=CELLS)
def test_a_number_goes_to_the_page_with_the_value_to_sort_by(cell: Any, data: Any) -> None:
    assert cell_data(cell) == data


def test_without_matplotlib_figures_are_left_out_and_the_command_for_it_is_named(
    run_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    figures, notes = write_figures(tmp_path, load([run_folder]), [])
    assert figures == []
    assert notes == ["Published figures are left out. To draw them: pip install 'eyechart[figures]'"]
    assert [*tmp_path.glob("figures/*")] == []

"""A pair of runs of another tool is compared, and goes onto the page, which a browser opens."""

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from eyechart.cli import main
from eyechart.errors import ReportError

FILES = Path(__file__).parent / "files" / "inspect"


def test_a_run_of_other_samples_is_refused(shape_runs: tuple[Path, Path], import_files: Any) -> None:
    from eyechart.reports.comparison.run_comparison import comparison_tables, match_runs

    short = import_files("inspect", FILES / "epochs.json", "--model=shapes", "--benchmark=shapes/shapes")
    with pytest.raises(ReportError, match="cannot be compared"):
        comparison_tables(match_runs([shape_runs[0], short]))


@pytest.mark.deep
def test_the_page_shows_what_changed_sample_by_sample(
    shape_runs: tuple[Path, Path], browser: Any, tmp_path: Path
) -> None:
    before, after = shape_runs
    folder = tmp_path / "page"
    assert main(["page", after, "--baseline", before, "--out", folder]) == 0
    page = browser.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(f"{(folder / 'index.html').as_uri()}#/changes")
    row = page.get_by_role("row").filter(has_text="choice")
    expect(row).to_contain_text("regression")
    expect(row).to_contain_text("82.50")
    row.get_by_role("link", name="28 lost").click()
    page.locator(".cards .key").first.wait_for()
    assert page.locator(".found").inner_text().startswith("28 ")
    page.get_by_role("link", name="shape-").first.click()
    expect(page.locator(".before")).to_contain_text("right")
    assert complaints == []

"""`page --single`: one file that a browser opens alone, with a note on what it leaves out."""

from pathlib import Path
from typing import Any

import pytest

from eyechart.reports.page.single import write_single

pytestmark = pytest.mark.deep


def test_one_file_has_the_summary_the_samples_and_their_images(studio: Any, opened: Any, tmp_path: Path) -> None:
    path = tmp_path / "alone" / "page.html"
    path.parent.mkdir()
    notes = write_single(studio.page().parent, path)
    assert notes == ["This file has no published figures; the page in a folder has them."]
    assert path.stat().st_size < 5_000_000
    driver = opened(path)
    assert (
        driver.page.locator(".gate-line").inner_text().startswith("≷ 3 of 3 models may be the best on imagenet/sample")
    )
    driver.page.locator(".ranks").get_by_role("link", name="timm").click()
    driver.page.locator(".cards img").first.wait_for()


def test_what_has_no_room_is_named_and_the_summary_stays(studio: Any, opened: Any, tmp_path: Path) -> None:
    path, whole = tmp_path / "page.html", studio.page().parent
    notes = write_single(whole, path, limit=190_000)
    assert path.stat().st_size < 190_000
    (left,) = notes[1:]
    assert left.startswith("This file leaves out, by its size: ")
    assert "images" in left
    driver = opened(path)
    driver.page.get_by_text("Notes (").click()
    assert driver.page.get_by_text(left).is_visible()

"""The page of variants: one file with the changed predictions."""

from pathlib import Path

import pytest

import eyechart

pytestmark = pytest.mark.deep


def test_the_page_is_one_file_that_loads_nothing_and_shows_what_changed(
    measured: eyechart.Compression, tmp_path: Path
) -> None:
    text = measured.page(tmp_path / "new" / "page.html").read_text(encoding="utf-8")
    assert "default-src 'none'" in text
    assert "<script" not in text
    assert "http://" not in text.replace("http://www.w3.org/", "").replace("http://purl.org/", "").replace(
        "http://creativecommons.org/", ""
    )
    assert '<td class="worse">worse</td>' in text
    assert text.count("<svg") == 1
    lost = int(measured.variants.set_index("variant").loc["bad", "lost"])
    assert f"<summary>bad, pets/test (supervised): {lost} changed</summary>" in text
    assert text.count("<td>lost</td>") == min(lost, 200)

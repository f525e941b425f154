"""`eyechart toybox`: what cannot be drawn together is refused before anything is written."""

from pathlib import Path

import pytest

from eyechart.cli import main


def test_the_packaged_part_is_made_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["toybox", tmp_path, "--part", "packaged", "--part", "scenes"]) == 2
    assert "draw it alone" in capsys.readouterr().err
    assert not [*tmp_path.iterdir()]

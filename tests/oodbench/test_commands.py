"""Tests of `eyechart.oodbench.commands`."""

from pathlib import Path

import pytest

from eyechart.cli import main


@pytest.mark.deep
def test_a_place_that_cannot_be_written_to_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    where = [f"--out={tmp_path / 'file'}", f"--store={tmp_path / 'store'}"]
    assert main(["divide", "--offline", "--limit=2", "--split=sample-lvis", *where]) == 2
    assert "cannot be used (Not a directory). Give folders that can be written to: --out=" in capsys.readouterr().err


REFUSED = {
    "--threshold=1.01": "expected a probability from 0 to 1, got '1.01'",
    "--threshold=nan": "expected a probability from 0 to 1, got 'nan'",
    "--max-pairs=0": "Invalid value for '--max-pairs': 0 is not in the range x>=1",
    "--limit=-3": "Invalid value for '--limit': -3 is not in the range x>=1",
    "--seed=x": "Invalid value for '--seed': 'x' is not a valid integer",
    "--detector=hf[toybox-mllm]": "--detector=hf[toybox-mllm] offers generator, scorer. Give an encoder",
    "--detector=open_clipp[a]": "did you mean open_clip",
    "--detector=conse[]+knn[]": "names several detectors. Repeat --detector for each of them.",
    "--detector=a[": "The model 'a[' cannot be read",
    "--templates=9": "The templates '9' are neither one of",
    "--split=sample-cooc": "did you mean sample-coco",
    "nowhere": "The data root nowhere is no folder",
}


@pytest.mark.parametrize("argument", REFUSED)
def test_the_command_refuses(argument: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["divide", argument]) == 2
    assert REFUSED[argument] in capsys.readouterr().err


def test_a_root_without_annotated_images_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["divide", tmp_path]) == 2
    assert f"There are no annotated images under {tmp_path}. Expected the folder of COCO" in capsys.readouterr().err

"""A run on a subset against the baseline of the whole split, and the other way round: joined by sample."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eyechart.cli import main

pytestmark = pytest.mark.deep

HELD, REGRESSION = "--eye-baseline=kept", 10


def test_a_subset_is_compared_with_the_baseline_of_the_whole_split_everywhere(
    held: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    held.answer(wrong=18)
    said = held.ran(HELD, "--eye-limit=9", code=REGRESSION)
    assert "compared on 9 shared samples (18 in the baseline, 9 now)" in said
    assert re.search(r"100\.00 % in the baseline, 0\.00 % now: -100\.00 points \[-100\.00, -\d+\.\d+\], n=9", said)
    assert "right before and wrong now: 9; wrong before and right now: 0" in said
    keys = {line.split(",")[0] for text in held.world.files.values() for line in text.decode().splitlines()}
    block = said.partition("right before and wrong now: 9")[2].partition("on the page")[0]
    named = {line.strip() for line in block.splitlines()[1:] if line.startswith("    ")}
    assert len(named) == 9
    assert named <= keys
    folder, run = held.world.folder, str(held.world.latest)
    assert main(["compare", str(folder / "kept"), run]) == 0
    assert "3 numbers compared, 1 significantly worse" in capsys.readouterr().out
    assert main(["page", run, "--baseline", str(folder / "kept"), "--out", str(folder / "page")]) == 0


def test_two_subsets_are_compared_on_what_they_share(new_gated: Callable[[], Any]) -> None:
    gated = new_gated()
    gated.kept("--eye-limit=12")
    said = gated.ran(HELD, "--eye-limit=14", "--eye-seed=42")
    assert re.search(r"compared on (8|9|1[0-2]) shared samples \(12 in the baseline, 14 now\)", said)


def test_another_image_of_a_shared_sample_is_refused(held: Any, tmp_path: Path) -> None:
    held.world.data = Path(shutil.copytree(held.world.data, tmp_path / "data"))
    picture, other, *_ = sorted((held.world.data / "imagenet" / "tiny").rglob("*.[jp][pn]g"))
    shutil.copyfile(other, picture)
    said = held.ran(HELD, "--eye-limit=17", code=REGRESSION)
    assert "cannot be compared with" in said


def test_the_hashes_of_a_split_are_stored_once(held: Any) -> None:
    held.ran("--eye-model=b=replay[path=a.csv]", HELD, "--eye-update-baseline")
    files = [*(held.world.folder / "kept").rglob("*.bin")]
    sizes = sorted(file.stat().st_size for file in files)
    assert len({file.name for file in files}) == len(files) == 2
    assert sizes[-1] == 18 * 8
    keys = [*(held.world.folder / "kept").rglob("*.keys")]  # by which changed data are named
    assert {file.stem for file in keys} == {file.stem for file in files}
    assert len(keys) == 2
    evidence = (held.world.folder / "reports" / "runs" / "latest").resolve() / "evidence"
    assert len([*evidence.rglob("*.keys")]) == 2
    assert len([*evidence.glob("*.json")]) == 4
    assert not [file for file in evidence.glob("*.json") if b"tiny-05" in file.read_bytes()]

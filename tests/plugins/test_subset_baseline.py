"""A run on a subset against the baseline of the whole split, and the other way round: joined by sample."""

import re
import shutil
from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.deep

HELD, REGRESSION = "--eye-baseline=kept", 10


@pytest.fixture
def whole(new_gated: Callable[[], Any]) -> Any:
    """A baseline of all pictures of a model that knows every one."""
    gated = new_gated()
    gated.kept()
    return gated


def test_a_subset_is_compared_with_the_baseline_of_the_whole_split(whole: Any) -> None:
    said = whole.ran(HELD, "--eye-limit=9")
    assert "compared on 9 shared samples (18 in the baseline, 9 now)" in said
    assert re.search(r"gate: \d+ numbers compared, 0 significantly worse", said)
    whole.answer(wrong=18)
    said = whole.ran(HELD, "--eye-limit=9", code=REGRESSION)
    assert re.search(r"100\.00 % in the baseline, 0\.00 % now: -100\.00 points \[-100\.00, -\d+\.\d+\], n=9", said)
    assert "right before and wrong now: 9; wrong before and right now: 0" in said


def test_the_lost_images_are_those_of_the_subset(whole: Any) -> None:
    whole.answer(wrong=18)
    said = whole.ran(HELD, "--eye-limit=6", "--eye-alpha=0.2", code=REGRESSION)
    keys = {line.split(",")[0] for text in whole.world.files.values() for line in text.decode().splitlines()}
    block = said.partition("right before and wrong now: 6")[2].partition("on the page")[0]
    named = {line.strip() for line in block.splitlines()[1:] if line.startswith("    ")}
    assert len(named) == 6
    assert named <= keys


def test_a_whole_run_is_compared_with_the_baseline_of_a_subset(new_gated: Callable[[], Any]) -> None:
    gated = new_gated()
    gated.kept("--eye-limit=9")
    said = gated.ran(HELD)
    assert "compared on 9 shared samples (9 in the baseline, 18 now)" in said


def test_two_subsets_are_compared_on_what_they_share(new_gated: Callable[[], Any]) -> None:
    gated = new_gated()
    gated.kept("--eye-limit=12")
    said = gated.ran(HELD, "--eye-limit=14", "--eye-seed=42")
    assert re.search(r"compared on (8|9|1[0-2]) shared samples \(12 in the baseline, 14 now\)", said)


def test_another_image_of_a_shared_sample_is_refused(whole: Any) -> None:
    picture = sorted((whole.world.data / "imagenet" / "tiny").rglob("*.[jp][pn]g"))[0]
    other = sorted((whole.world.data / "imagenet" / "tiny").rglob("*.[jp][pn]g"))[1]
    shutil.copyfile(other, picture)
    said = whole.ran(HELD, "--eye-limit=17", code=REGRESSION)
    assert "cannot be compared with" in said


def test_the_hashes_of_a_split_are_stored_once(whole: Any) -> None:
    whole.ran("--eye-model=b=replay[path=a.csv]", HELD, "--eye-update-baseline")
    files = [*(whole.world.folder / "kept").rglob("*.bin")]
    sizes = sorted(file.stat().st_size for file in files)
    assert len({file.name for file in files}) == len(files) == 2
    assert sizes[-1] == 18 * 8
    keys = [*(whole.world.folder / "kept").rglob("*.keys")]  # by which changed data are named
    assert {file.stem for file in keys} == {file.stem for file in files}
    assert len(keys) == 2
    evidence = (whole.world.folder / "reports" / "runs" / "latest").resolve() / "evidence"
    assert len([*evidence.rglob("*.keys")]) == 2
    assert len([*evidence.glob("*.json")]) == 4
    assert not [file for file in evidence.glob("*.json") if b"tiny-05" in file.read_bytes()]


def test_compare_and_the_page_take_a_subset_too(whole: Any) -> None:
    from eyechart.cli import main

    whole.ran("--eye-limit=9")
    folder = whole.world.folder
    main(["compare", str(folder / "kept"), str(whole.world.latest)])
    main(["page", str(whole.world.latest), "--baseline", str(folder / "kept"), "--out", str(folder / "page")])

"""A label file that fits a split in part: its record and the terminal say so, and it fails under --eye-strict."""

from pathlib import Path
from typing import Any

import pytest

from eyechart.gate.session.gate_status import ABSENT


def write_labels(world: Any, mistyped: int) -> str:
    """Write labels for the 18 pictures of imagenet/tiny, the first names mistyped; the option that gives them."""
    names = sorted(path.name for path in Path(world.data / "imagenet" / "tiny").rglob("tiny-*"))
    rows = [f"{'typo-' * (index < mistyped)}{name},0" for index, name in enumerate(names)]
    (world.folder / "labels.csv").write_text("\n".join(["file,labels", *rows, ""]))
    return "--eye-labels=Mine=labels.csv"


def test_a_file_that_fits_in_part_is_noted(world: Any) -> None:
    world.models = ("tinyclass[]",)
    result = world.passes("-k", "imagenet/tiny/", write_labels(world, 8))
    (record,) = world.records
    lines, images = record["notes"]
    start = "imagenet/tiny: labels.csv: 8 lines name no image (typo-tiny-00.jpg, typo-tiny-01.png, typo-tiny-02.jpg, …)"
    assert lines == start
    assert images == "imagenet/tiny: labels.csv: 8 images have no line (tiny-00.jpg, tiny-03.png, tiny-06.jpg, …)"
    assert f"note: {lines}" in result.outlines


@pytest.mark.parametrize(("mistyped", "status"), [(8, ABSENT), (0, 0)])
def test_under_strict_a_file_must_fit(world: Any, mistyped: int, status: int) -> None:
    world.models = ("tinyclass[]",)
    result = world.run("-k", "imagenet/tiny/", "--eye-strict", write_labels(world, mistyped))
    assert result.ret == status, result.outlines
    assert ("8 lines name no image" in result.stdout.str()) == bool(mistyped)


def test_a_limit_leaves_no_line_without_an_image(world: Any) -> None:
    world.models = ("tinyclass[]",)
    world.passes("-k", "imagenet/tiny/", "--eye-strict", "--eye-limit=5", write_labels(world, 0))
    assert world.records[0]["notes"] == []

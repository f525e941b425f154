"""The sheet of a second pass: how many images it has, in how many parts, and what it is refused for."""

import re
from typing import Any

import pytest

from eyechart.errors import EyechartError, ReportError
from eyechart.reports.annotation.disputed import write
from eyechart.reports.runs import load


def test_a_limit_takes_the_first_of_the_order(world: Any) -> None:
    assert world.named(world.sheet("some", limit=2)) == world.named(world.sheet())[:2]


def test_parts_share_out_the_images(world: Any) -> None:
    parts = [world.named(world.sheet(f"part{k}", part=f"{k}/3")) for k in (1, 2, 3)]
    assert sorted(name for part in parts for name in part) == sorted(world.named(world.sheet()))
    assert [len(part) for part in parts] == [2, 2, 1]


REFUSED = {
    "labels": ({"labels": "ReGTT"}, "No record was scored under the label set 'ReGTT'; did you mean ReGT?"),
    "limit": ({"limit": 0}, "--limit is 0, expected a number of images from 1 up."),
    "part": ({"part": "3/2"}, "--part is '3/2', expected K/N with K from 1 to N"),
    "nothing": (
        {"category": "multi_label_original"},
        "has no image for the sheet (part 1/1). Images with a valid prediction that ReGT",
    ),
}


@pytest.mark.parametrize(("wanted", "sentence"), REFUSED.values(), ids=list(REFUSED))
def test_a_refusal_is_a_sentence(world: Any, wanted: dict[str, Any], sentence: str) -> None:
    with pytest.raises(EyechartError, match=re.escape(sentence)):
        world.sheet(**wanted)
    assert [*world.out.iterdir()] == []


def test_other_images_than_the_run_saw_are_refused(world: Any) -> None:
    next(world.root.glob("imagenet/tiny/*/0.png")).unlink()
    with pytest.raises(ReportError, match=r"has the fingerprint \w{12}, and the run saw images with the fingerprint"):
        world.sheet()


def test_a_split_that_is_not_there_is_refused(world: Any) -> None:
    with pytest.raises(ReportError, match=r"There is no split imagenet/tiny.* give the root that the run was given"):
        write(load([world.run]), world.wish(data=None), world.out / "sheet.html")

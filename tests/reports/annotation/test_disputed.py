"""The images of a sheet: those where a valid prediction is disputed, each with every suggested class once."""

import re
from typing import Any

import pytest

from eyechart.errors import EyechartError, ReportError
from eyechart.reports.annotation.disputed import write
from eyechart.reports.runs import load

DISPUTED = {
    "four suggestions": "single_label_other",
    "model and original agree": "single_label_other",
    "equivalent classes": "single_label_other",
    "several labels": "multi_label_other",
    "second unread": "multi_label_other",
}


def by(world: Any, name: str, **wanted: Any) -> dict[int, set[str]]:
    """Who suggests which class for a shot."""
    sheet = world.sheet(**wanted)
    item = world.key(sheet).items[world.named(sheet).index(name)]
    return {candidate.label: {*candidate.by} for candidate in item.candidates}


def test_valid_predictions_that_the_labels_dispute_are_chosen_and_no_others(world: Any) -> None:
    sheet = world.sheet()
    categories = dict(zip(world.named(sheet), (item.category for item in world.key(sheet).items), strict=True))
    assert categories == DISPUTED


@pytest.mark.parametrize(
    ("category", "names"),
    [
        ("multi_label_other", {"several labels", "second unread"}),
        ("single_label_original, multi_label_original", {"single_label_original"}),
    ],
)
def test_categories_are_chosen(world: Any, category: str, names: set[str]) -> None:
    assert {*world.named(world.sheet(category=category))} == names


def test_the_categories_are_counted_in_full_whatever_is_shown(world: Any) -> None:
    counts = world.key(world.sheet(limit=1)).source.counts
    assert [(c.category, c.images, c.valid, c.disputed) for c in counts] == [
        ("single_label_other", 6, 4, 3),
        ("multi_label_other", 3, 3, 2),
    ]


def test_every_suggestion_is_offered_with_those_who_made_it(world: Any) -> None:
    assert by(world, "four suggestions") == {1: {"original"}, 2: {"labels"}, 3: {"model"}, 4: {"second"}}


def test_equal_classes_are_offered_once(world: Any) -> None:
    assert by(world, "model and original agree") == {7: {"model", "original"}, 8: {"labels", "second"}}


def test_each_of_several_labels_is_offered_by_itself(world: Any) -> None:
    assert by(world, "several labels") == {
        16: {"original"},
        17: {"labels", "second"},
        18: {"labels"},
        19: {"model"},
    }


def test_equivalent_classes_stand_for_one_another(world: Any) -> None:
    both = {"model", "second"}
    assert by(world, "equivalent classes") == {30: {"original"}, 31: {"labels"}, 620: both, 681: both}


def test_what_the_second_model_did_not_say_is_not_offered(world: Any) -> None:
    assert by(world, "second unread") == {26: {"original"}, 27: {"labels"}, 28: {"labels"}, 29: {"model"}}


def test_a_second_model_is_not_needed(world: Any) -> None:
    assert by(world, "four suggestions", second=None) == {1: {"original"}, 2: {"labels"}, 3: {"model"}}
    assert world.key(world.out / "sheet.html").source.second is None


def test_names_are_the_published_ones_or_those_of_a_file(world: Any) -> None:
    (world.out / "names.txt").write_text("\n".join(f"thing {number}" for number in range(1000)), encoding="utf-8")
    mine = world.sheet("mine", names=str(world.out / "names.txt"))
    assert {c.name for item in world.key(mine).items for c in item.candidates} >= {"thing 1", "thing 681"}
    assert "goldfish" in {c.name for item in world.key(world.sheet()).items for c in item.candidates}


def test_a_limit_takes_the_first_of_the_order(world: Any) -> None:
    assert world.named(world.sheet("some", limit=2)) == world.named(world.sheet())[:2]


def test_parts_share_out_the_images(world: Any) -> None:
    parts = [world.named(world.sheet(f"part{k}", part=f"{k}/3")) for k in (1, 2, 3)]
    assert sorted(name for part in parts for name in part) == sorted(DISPUTED)
    assert [len(part) for part in parts] == [2, 2, 1]


REFUSED = {
    "labels": ({"labels": "ReGTT"}, "No record was scored under the label set 'ReGTT'; did you mean ReGT?"),
    "model": ({"model": "conse"}, "--model: there are no answers of 'conse' under the ground truth 'ReGT'; did you"),
    "second": ({"second": "timm[tf_efficientnet_lite0]"}, "--second: there are no answers of 'timm"),
    "protocol": ({"protocol": "zero_shot"}, "names no case under the protocol 'zero_shot': imagenet/tiny/timm"),
    "category": (
        {"category": "single_label_other,S-"},
        "--category is 'single_label_other,S-', expected one or several of single_label_original, single_label_other, ",
    ),
    "limit": ({"limit": 0}, "--limit is 0, expected a number of images from 1 up."),
    "part": ({"part": "3/2"}, "--part is '3/2', expected K/N with K from 1 to N"),
    "nothing": (
        {"category": "multi_label_original"},
        "has no image for the sheet (part 1/1). Images with a valid prediction that ReGT",
    ),
    "names": ({"names": "openai"}, "have one name. Rename one of them, or use a vocabulary without equal names"),
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


def test_a_model_with_several_cases_is_refused_until_one_is_named(world: Any, make_run: Any) -> None:
    other = make_run("other", labels=("ImGT", "ReGT"))
    with pytest.raises(ReportError, match=r"names 2 cases: imagenet/tiny/timm.*, imagenet/val/timm.*--protocol=NAME"):
        write(load([world.run, other]), world.wish(), world.out / "sheet.html")
    named = world.wish(model="imagenet/tiny/timm[tf_efficientnet_lite0]")
    assert write(load([world.run, other]), named, world.out / "sheet.html").startswith(f"{world.out / 'sheet.html'}: 5")

"""The images of a sheet: those where a valid prediction is disputed, each with every suggested class once."""

import re
from collections import Counter
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


REFUSED = {
    "model": ({"model": "conse"}, "--model: there are no answers of 'conse' under the ground truth 'ReGT'; did you"),
    "second": ({"second": "timm[tf_efficientnet_lite0]"}, "--second: there are no answers of 'timm"),
    "protocol": ({"protocol": "zero_shot"}, "names no case under the protocol 'zero_shot': imagenet/tiny/timm"),
    "category": (
        {"category": "single_label_other,S-"},
        "--category is 'single_label_other,S-', expected one or several of single_label_original, single_label_other, ",
    ),
    "names": ({"names": "openai"}, "have one name. Rename one of them, or use a vocabulary without equal names"),
}


@pytest.mark.parametrize(("wanted", "sentence"), REFUSED.values(), ids=list(REFUSED))
def test_a_refusal_is_a_sentence(world: Any, wanted: dict[str, Any], sentence: str) -> None:
    with pytest.raises(EyechartError, match=re.escape(sentence)):
        world.sheet(**wanted)
    assert [*world.out.iterdir()] == []


def test_a_model_with_several_cases_is_refused_until_one_is_named(world: Any, make_run: Any) -> None:
    other = make_run("other", labels=("ImGT", "ReGT"))
    with pytest.raises(ReportError, match=r"names 2 cases: imagenet/tiny/timm.*, imagenet/val/timm.*--protocol=NAME"):
        write(load([world.run, other]), world.wish(), world.out / "sheet.html")
    named = world.wish(model="imagenet/tiny/timm[tf_efficientnet_lite0]")
    assert write(load([world.run, other]), named, world.out / "sheet.html").startswith(f"{world.out / 'sheet.html'}: 5")


def test_the_order_of_the_names_tells_nothing(make_shot_world: Any, shot: Any) -> None:
    world = make_shot_world({str(n): shot(n, (n + 200,), n + 400, n + 600) for n in range(120)})
    items = world.key(world.sheet()).items
    first = Counter(item.candidates[0].by[0] for item in items)
    assert {*first} == {"model", "labels", "original", "second"}
    assert max(first.values()) < 60  # of 120, where 30 are expected


def test_the_order_of_the_images_is_not_that_of_their_keys(make_shot_world: Any, shot: Any) -> None:
    world = make_shot_world({str(n): shot(n, (n + 200,), n + 400, n + 600) for n in range(40)})
    keys = [item.key for item in world.key(world.sheet()).items]
    assert keys != sorted(keys)

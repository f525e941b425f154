"""A model sees a picture once, however often, and under however many ground truths, its answers are wanted."""

import shutil
from typing import Any

import pytest

pytestmark = pytest.mark.deep

IMAGES = 2 * (18 + 6)


@pytest.fixture
def answered(world: Any, serial: Any) -> Any:
    """A world with the answers of a serial run of both models."""
    shutil.copytree(serial.folder / ".eyechart" / "store", world.folder / ".eyechart" / "store")
    return world


def write_labels(world: Any) -> str:
    """Write a second ground truth in a format of the user's choice; the option that gives it."""
    rows = [f"{picture.parent.name}/{picture.name},1" for picture in sorted(world.data.glob("imagenet/*/*/*.*"))]
    (world.folder / "mine.csv").write_text("\n".join(["file,labels", *rows]))
    return "--eye-labels=mine=mine.csv"


def test_neither_a_second_ground_truth_nor_other_prompts_ask_about_a_picture_again(answered: Any) -> None:
    answered.passes("--eye-templates=7", write_labels(answered))
    assert answered.asked == 0
    assert {metric["labels"] for metric in answered.records[0]["metrics"]} == {"ImGT", "mine", "ImGT∩mine"}
    assert [int(count) for _, count in answered.lines("texts")] == [7000]


def test_another_model_is_another_question(answered: Any) -> None:
    answered.models = ("tiny[]", "tiny[weights=1]")
    before = set(answered.store)
    answered.passes("--eye-limit=5")
    assert answered.asked == 5 + 5
    assert before < set(answered.store)


def test_other_limits_and_seeds_ask_only_about_new_pictures(world: Any, serial: Any) -> None:
    world.models = ("tiny[]",)
    chosen: list[list[str]] = []
    for seed in ("1", "2"):
        world.passes("--eye-limit=5", f"--eye-seed={seed}", "-k", "imagenet/tiny/")
        (record,) = world.records
        assert (record["limit"], record["seed"]) == (5, int(seed))
        chosen.append(keys(world))
        assert world.asked == len({key for some in chosen for key in some})
    assert [len(some) for some in chosen] == [5, 5]
    assert chosen[0] != chosen[1]
    world.passes("-k", "imagenet/tiny/")
    assert world.asked == 18
    answers = {name: data for name, data in world.store.items() if name.endswith(".npy")}
    assert answers
    assert answers.items() <= serial.store.items()


def test_a_limit_leaves_the_support_split_of_nearest_neighbours_whole(world: Any) -> None:
    world.models = ("knn[tiny[],k=1,support=imagenet/tiny2]",)
    world.passes("--eye-limit=3", "-k", "imagenet/tiny/")
    (record,) = world.records
    assert (record["limit"], record["variant"]["support_n"]) == (3, "6")
    assert world.asked == 3 + 6


def keys(world: Any) -> list[str]:
    path = world.latest / world.records[0]["predictions"]["path"]
    return [line.split(",")[0] for line in path.read_text().splitlines()[1:]]


COMES = """
from pathlib import Path

def pytest_runtest_setup():
    Path("second").touch()
"""


def test_two_runs_at_once_share_one_store(world: Any, serial: Any) -> None:
    world.order("tiny", batch=2, do="hold")
    with world.start(*world.usual, "--eye-out=a", python=world.fast) as first:
        world.until((world.folder / "held").exists)
        with world.start(*world.usual, "--eye-out=b", world.plugin(COMES), python=world.fast) as second:
            world.until((world.folder / "second").exists)
            (world.folder / "go").touch()
            assert (second.wait(world.patience), first.wait(world.patience)) == (0, 0)
    assert world.asked == IMAGES
    assert world.store == serial.store

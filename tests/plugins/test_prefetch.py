"""A model sees a picture once, however often, and under however many ground truths, its answers are wanted."""

from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.deep

IMAGES = 2 * (18 + 6)


@pytest.fixture
def labels(world: Any) -> Path:
    """A second ground truth in a format of the user's choice."""
    path = world.folder / "mine.csv"
    rows = [f"{picture.parent.name}/{picture.name},1" for picture in sorted(world.data.glob("imagenet/*/*/*.*"))]
    path.write_text("\n".join(["file,labels", *rows]))
    return path


def test_a_second_run_asks_nothing(world: Any) -> None:
    world.passes()
    first = world.records
    world.passes()
    assert world.asked == IMAGES
    assert world.loads == ["tiny", "tinyclass"]
    assert world.session["run"]["loads"] == 0
    assert world.records == first


def test_a_second_ground_truth_asks_nothing(world: Any, labels: Path) -> None:
    world.passes()
    world.passes(f"--eye-labels=mine={labels}")
    assert world.asked == IMAGES
    assert {metric["labels"] for metric in world.records[0]["metrics"]} == {"ImGT", "mine", "ImGT∩mine"}


def test_other_prompts_ask_about_no_picture_again(world: Any) -> None:
    world.models = ("tiny[]",)
    world.passes()
    world.passes("--eye-templates=7")
    assert world.asked == IMAGES / 2
    assert [int(count) for _, count in world.lines("texts")] == [1000, 7000]


def test_another_model_is_another_question(world: Any) -> None:
    world.models = ("tiny[]",)
    world.passes("--eye-limit=5")
    before = set(world.store)
    world.passes("--eye-limit=5", "--eye-model=tiny[weights=1]")
    assert world.asked == 2 * (5 + 5)
    assert before < set(world.store)


def test_other_limits_and_seeds_ask_only_about_new_pictures(world: Any, new_world: Any) -> None:
    world.models = ("tiny[]",)
    seen: set[str] = set()
    for choice in ("--eye-limit=5", "--eye-limit=4", "--eye-seed=7 --eye-limit=5", "--eye-limit=12"):
        world.passes(*choice.split(), "-k", "imagenet/tiny/")
        seen |= {*keys(world)}
        assert world.asked == len(seen)
    world.passes("-k", "imagenet/tiny/")
    assert world.asked == 18
    whole = new_world()
    whole.models = world.models
    whole.passes("-k", "imagenet/tiny/")
    assert {name: data for name, data in world.store.items() if name.endswith(".npy")} == {
        name: data for name, data in whole.store.items() if name.endswith(".npy")
    }


def test_a_limit_leaves_the_support_split_of_nearest_neighbours_whole(world: Any) -> None:
    world.models = ("knn[tiny[],k=1,support=imagenet/tiny2]",)
    scores = []
    for limit in ("18", "3"):
        world.passes(f"--eye-limit={limit}", "-k", "imagenet/tiny/")
        (record,) = world.records
        assert (record["limit"], record["variant"]["support_n"]) == (int(limit), "6")
        rows = (world.latest / record["predictions"]["path"]).read_text().splitlines()[1:]
        scores.append({row.split(",")[0]: row for row in rows})
    assert scores[1].items() <= scores[0].items()
    assert world.asked == 18 + 6


def test_limit_and_seed_choose_the_pictures(world: Any) -> None:
    world.models = ("tiny[]",)
    chosen = []
    for seed in ("1", "2", "1"):
        world.passes("--eye-limit=5", f"--eye-seed={seed}")
        chosen.append(keys(world))
    assert chosen[0] == chosen[2] != chosen[1]
    assert len(chosen[0]) == 5
    assert [(record["limit"], record["seed"]) for record in world.records] == [(5, 1), (5, 1)]


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

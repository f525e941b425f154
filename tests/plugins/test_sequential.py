"""`--eye-sequential`: a case stops when its baseline decides, and a longer run asks nothing twice."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.deep

HELD, UPDATE, SEQUENTIAL = "--eye-baseline=kept", "--eye-update-baseline", "--eye-sequential"
REGRESSION, USAGE = 10, 4
SIZE = 420
TWO = ("replay[path=a.csv]", "replay[path=b.csv]")


@pytest.fixture(scope="module")
def baseline(new_gated: Callable[[], Any], large: Path) -> Any:
    """A baseline of all pictures of two models that know every one."""
    gated = new_gated()
    gated.world.data = large
    gated.world.models = TWO
    gated.answer(file="b.csv")
    gated.kept()
    return gated


@pytest.fixture
def whole(gated: Any, baseline: Any, large: Path) -> Any:
    """The first of the models, and that baseline."""
    shutil.copytree(baseline.world.folder / "kept", gated.world.folder / "kept")
    gated.world.data = large
    gated.answer()
    return gated


def asked(gated: Any) -> tuple[int, int | None]:
    """The number of pictures of the last record, and its limit."""
    (record,) = gated.world.records
    return record["data"]["n"], record["limit"]


def test_a_loss_stops_the_case_early_and_fails_it(whole: Any) -> None:
    whole.answer(wrong=SIZE // 2)
    said = whole.ran(HELD, SEQUENTIAL, code=REGRESSION)
    assert "(replay): stopped after 100 of 420 images, which show a loss (--eye-sequential)" in said
    assert "compared on 100 shared samples (420 in the baseline, 100 now)" in said
    assert "acc1 (ImGT) is worse than the baseline." in said
    assert "betting e-process, p=" in said
    assert "gate: 1 number compared, 1 significantly worse" in said
    assert asked(whole) == (100, 100)


def test_without_a_margin_no_loss_stops_no_case(whole: Any) -> None:
    said = whole.ran(HELD, SEQUENTIAL)
    assert "stopped after" not in said
    assert asked(whole) == (SIZE, None)


def test_other_answers_of_the_same_accuracy_have_a_margin_to_prove(whole: Any) -> None:
    whole.answer(wrong=2)
    said = whole.ran(HELD, SEQUENTIAL, "--eye-margin=0.1", "--eye-verdicts=v.json")
    assert "which show no loss of the margin" in said
    verdicts = json.loads((whole.world.folder / "v.json").read_bytes())
    (metric,) = verdicts["metrics"]
    assert (metric["verdict"], metric["test"]) == ("no regression", "betting e-process")
    assert metric["low"] < 0 < metric["loss_limit"] < 0.1
    assert asked(whole)[0] in (100, 200)


def test_a_stopped_run_goes_on_without_asking_twice(world: Any, large: Path) -> None:
    world.data, world.models = large, ("tinyclass[]",)
    assert world.run(HELD, UPDATE).ret == 0
    first = world.asked
    assert first == SIZE
    again = type(world)(world.folder / "again", large, warm=world.warm, models=world.models)
    again.folder.mkdir()
    baseline = f"--eye-baseline={world.folder / 'kept'}"
    assert again.run(baseline, SEQUENTIAL, "--eye-margin=0.2").ret == 0
    assert again.asked == 100
    assert [(record["data"]["n"], record["limit"]) for record in again.records] == [(100, 100)]
    assert again.run(baseline).ret == 0
    assert again.asked == SIZE
    assert [(record["data"]["n"], record["limit"]) for record in again.records] == [(SIZE, None)]


def test_workers_and_several_cases_share_the_level_and_one_without_a_baseline_asks_all_images(whole: Any) -> None:
    whole.world.models = (*TWO, "c=replay[path=a.csv]")
    whole.answer(wrong=SIZE // 2, file="b.csv")
    said = whole.ran(HELD, SEQUENTIAL, "--eye-margin=0.2", "-n2", code=REGRESSION)
    assert said.count("stopped after 100 of 420 images") == 2
    assert "stopped after 100 of 420 images, which show no loss of the margin" in said
    assert "gate: 2 numbers compared, 1 significantly worse" in said
    assert "1 failed, 2 passed" in said
    assert {record["case"]: record["data"]["n"] for record in whole.world.records}["imagenet/tiny/c"] == SIZE
    assert "has no baseline" in said


def test_impossible_combinations_are_refused(pytester: pytest.Pytester) -> None:
    for options, why in (
        ((HELD, SEQUENTIAL, "--eye-limit=9"), "--eye-sequential sets how many images are asked."),
        ((SEQUENTIAL,), "--eye-sequential is about a comparison, and this session makes none."),
        ((HELD, UPDATE, SEQUENTIAL), "--eye-sequential is about a comparison, and this session makes none."),
    ):
        result = pytester.runpytest_inprocess("--pyargs", "eyechart.benchmarks", *options)
        assert result.ret == USAGE
        assert why in "\n".join([*result.outlines, *result.errlines])

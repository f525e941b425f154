"""`--eye-model=NAME=SPEC`: another checkpoint under the same name is compared, and a comparison of nothing fails."""

import re
import shutil
from collections.abc import Callable
from typing import Any

import pytest

from eyechart.reports.runs import load

CLASSES = {"n01440764": 0, "n01443537": 1, "n02123045": 281}
BASELINE, UPDATE = "--eye-baseline=kept", "--eye-update-baseline"
REGRESSION, USAGE = 10, 4
NOTHING = "ERROR: nothing was compared"


def checkpoints_of(world: Any) -> Any:
    """A world with answers of two checkpoints: `good.csv` has every answer right, `bad.csv` none."""
    rows = [
        (path.name, CLASSES[path.parent.name], path.parent.parent.name)
        for path in sorted((world.data / "imagenet").rglob("*.[jp][pn]g"))
    ]
    for name, wrong in (("good", 0), ("bad", 1)):
        lines = [f"{key},{7 if wrong else label},{split}" for key, label, split in rows]
        (world.folder / f"{name}.csv").write_text("\n".join(["key,answer,split", *lines, ""]))
    return world


@pytest.fixture
def checkpoints(world: Any) -> Any:
    """A world of one test."""
    return checkpoints_of(world)


@pytest.fixture(scope="module")
def written(new_world: Callable[[], Any]) -> Any:
    """A world after the good checkpoint's baseline was written, which tests share."""
    world = checkpoints_of(new_world())
    run(world, "prod=replay[path=good.csv]", BASELINE, UPDATE)
    return world


@pytest.fixture
def held(checkpoints: Any, written: Any) -> Any:
    """A world of one test with that baseline."""
    shutil.copytree(written.folder / "kept", checkpoints.folder / "kept")
    return checkpoints


def run(world: Any, model: str, *options: str, code: int = 0) -> str:
    """Return what a session with one model prints, which ends with the expected status."""
    world.models = (model,)
    result = world.call(*world.usual, *options)
    printed = str(result.stdout.str())
    assert result.ret == code, printed + result.stderr.str()
    return printed


def test_a_worse_checkpoint_of_the_same_name_is_a_regression(held: Any) -> None:
    printed = run(held, "prod=replay[path=bad.csv]", BASELINE, code=REGRESSION)
    assert "imagenet/tiny/prod (replay): acc1 (ImGT) is worse than the baseline." in printed
    model = held.session["records"][0]["model"]
    assert (model["alias"], model["spec"]) == ("prod", "replay[path=bad.csv]")


def test_the_same_checkpoint_at_another_place_passes_with_workers(held: Any) -> None:
    (held.folder / "good.csv").rename(held.folder / "moved.csv")
    printed = run(held, "prod=replay[path=moved.csv]", BASELINE, "-n2")
    assert re.search(r"gate: \d+ numbers compared, 0 significantly worse", printed)
    assert len(held.records) == 2


def test_without_the_name_nothing_is_compared_and_the_remedy_is_printed(held: Any) -> None:
    printed = run(held, "replay[path=bad.csv]", BASELINE, code=USAGE)
    assert (
        f"{NOTHING}: --eye-baseline=kept has no baseline of the 2 cases that ran (models: replay[path=bad.csv]). Its "
        "models for imagenet: prod. Give the model the name that the baseline knows: "
        "--eye-model=prod=replay[path=bad.csv]; or write the baseline with --eye-update-baseline."
    ) in printed
    assert held.session["run"]["exit_status"] == USAGE


def test_a_baseline_of_another_path_names_both_steps_of_the_remedy(checkpoints: Any) -> None:
    run(checkpoints, "replay[path=good.csv]", BASELINE, UPDATE)
    printed = run(checkpoints, "replay[path=bad.csv]", BASELINE, code=USAGE)
    assert (
        "write the baseline with --eye-update-baseline and --eye-model=NAME=replay[path=good.csv], then compare with "
        "--eye-model=NAME=replay[path=bad.csv]."
    ) in printed


def test_other_cases_of_the_same_model_are_named(checkpoints: Any) -> None:
    run(checkpoints, "prod=replay[path=good.csv]", BASELINE, UPDATE, "-k", "imagenet/tiny2")
    printed = run(checkpoints, "prod=replay[path=good.csv]", BASELINE, "-k", "imagenet/tiny/", code=USAGE)
    assert f"{NOTHING}: --eye-baseline=kept has no baseline of the case that ran (models: prod). Of these" in printed
    assert "imagenet/tiny2/prod (replay). Run these, or write" in printed


def test_skipped_cases_are_nothing_compared_and_fail_only_under_strict(held: Any) -> None:
    skipping = held.plugin(
        "import pytest\n\n\ndef pytest_collection_modifyitems(items):\n    for item in items:\n"
        "        item.add_marker(pytest.mark.skip('not today'))\n"
    )
    why = "nothing was compared with --eye-baseline: no case recorded a number (2 cases skipped)."
    model = "prod=replay[path=good.csv]"
    assert f"eyechart: {why}" in run(held, model, BASELINE, skipping)
    assert f"ERROR: {why}" in run(held, model, BASELINE, skipping, "--eye-strict", code=USAGE)
    assert "nothing was compared" not in run(held, model, skipping)


def test_a_name_in_the_ini_file(checkpoints: Any) -> None:
    (checkpoints.folder / "pytest.ini").write_text("[pytest]\neye_model = prod=replay[path=good.csv]\n")
    checkpoints.models = ()
    result = checkpoints.call(*checkpoints.usual)
    assert result.ret == 0
    assert {record["case"] for record in checkpoints.records} == {"imagenet/tiny/prod", "imagenet/tiny2/prod"}


def test_reports_call_the_model_by_its_name(written: Any) -> None:
    assert {entry.model for group in load([written.latest]).groups for entry in group.cases} == {"prod"}


@pytest.mark.parametrize(
    ("models", "sentence"),
    [
        (["a b=conse[]"], "has the name 'a b'. Expected letters, digits, '_', '.' and '-'"),
        (["=conse[]"], "has the name ''"),
        (["-a=conse[]"], "has the name '-a'"),
        (["a="], "The model '' cannot be read"),
        (["a=b=conse[]"], "cannot be read"),
        (["a=cnose[]"], "did you mean conse"),
        (["a=conse[]", "a=timm[resnet18]"], "the name 'a' is given to conse[] and to timm[resnet18]"),
    ],
)
def test_a_name_that_cannot_be_meant_is_refused(pytester: pytest.Pytester, models: list[str], sentence: str) -> None:
    options = [f"--eye-model={each}" for each in models]
    result = pytester.runpytest_inprocess("--pyargs", "eyechart.benchmarks", *options)
    printed = "\n".join([*result.outlines, *result.errlines])
    assert result.ret == USAGE, printed
    assert sentence in printed

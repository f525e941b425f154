"""What a preset, a name of training data or `-k` leaves out is named at the end, with how to run it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eyechart.plugins.left_out import suggest_names
from tests.plugins.own_files import OWN, PETS, write


def test_training_data_beside_a_test_split_are_left_out_unless_they_are_named(
    world: Any, own_root: Callable[..., Path]
) -> None:
    own_root(*PETS, *(path.replace("/test/", "/train/") for path in PETS))
    usual = ("--pyargs", "eyechart.benchmarks", "--eye-data=data", "--eye-model=tiny[]", "--collect-only", "-q")
    result = world.call(*usual, "-k", "pets/")
    assert ("pets/test/tiny[]" in result.stdout.str(), "pets/train/tiny[]" in result.stdout.str()) == (True, False)
    assert "eyechart: left out as training data: pets/train; -k pets/train evaluates it" in result.outlines
    assert "pets/train/tiny[]" in world.call(*usual, "-k", "pets/train or pets/test").stdout.str()


@pytest.mark.deep
@pytest.mark.parametrize(
    ("keyword", "hint", "workers"),
    [
        ("imagenet/tny", "did you mean imagenet/tiny", "2"),
        ("imagenet/tiny and zero_shoot", "selects none of", "0"),
    ],
)
def test_a_keyword_that_selects_nothing_is_answered_with_the_nearest_split(
    world: Any, keyword: str, hint: str, workers: str
) -> None:
    result = world.run("-k", keyword, "-n", workers)
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    (line,) = (line for line in result.outlines if line.startswith("eyechart: -k"))
    assert f"-k '{keyword}' selects none of" in line
    assert hint in line


@pytest.mark.parametrize(
    ("keyword", "hint"),
    [
        ("imagnet/", "selects none of 1 case; did you mean imagenet/ or imagenet/val? Splits: imagenet/val."),
        ("imagenet/val and zero_shoot", "selects none of 1 case. Splits: imagenet/val."),
    ],
)
def test_the_nearest_name_is_a_split_or_a_benchmark(keyword: str, hint: str) -> None:
    said = suggest_names(keyword, ["test_knn[imagenet/val/knn[a]]"], ["imagenet/val"])
    assert said == f"eyechart: -k '{keyword}' {hint}"


@pytest.mark.deep
def test_what_a_preset_leaves_out_is_not_run_and_is_printed(world: Any) -> None:
    part = 'whole = "packaged"\n[zero_shot]\nleave_out = ["imagenet/tiny"]\n[supervised]\nleave_out = ["pets/test"]\n'
    (world.folder / "part.toml").write_text(part, encoding="utf-8")
    result = world.passes(*world.usual, "--eye-preset=part.toml", "-n2")
    assert {(record["protocol"], record["split"]) for record in world.records} == {
        ("zero_shot", "tiny2"),
        ("supervised", "tiny"),
        ("supervised", "tiny2"),
    }
    left_out = "left out 1 of 4 cases: --eye-preset=packaged runs everything"
    assert f"the preset part.toml has {left_out}" in result.outlines
    result = world.call(*world.usual, "--eye-preset=part.toml", "-k", "imagenet/tiny/ and zero_shot", "--collect-only")
    assert "the preset part.toml has left out 1 of 1 case: --eye-preset=packaged runs everything" in result.outlines
    assert "selects none of" not in result.stdout.str()


@pytest.mark.deep
def test_a_selection_of_no_case_is_explained_without_an_option(world: Any) -> None:
    """The controller of workers explains it, although it collects nothing."""
    write(world.folder, test_own=OWN)
    result = world.call("test_own.py", "-k", "toybox/sampel/", "-n1")
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    assert "did you mean toybox/sample" in result.stdout.str()

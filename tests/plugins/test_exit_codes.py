"""The exit status says of what kind a failure is, where all failures are of one kind, with workers and without."""

import shutil
from pathlib import Path
from typing import Any

import pytest

REGRESSION, ABSENT, ERRORS, MIXED = 10, 11, 12, 1
FLOOR = "--eye-floor=imagenet/tiny2/zero_shot:acc1>=1"
BOTH = ("-k", "imagenet/tiny2 or imagenet/val")
WORKERS = pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["serial", "workers"])


@pytest.fixture
def erring(world: Any, tmp_path: Path) -> Any:
    """One split of two has a picture that cannot be read."""
    shutil.copytree(world.data, tmp_path / "data")
    world.data, world.models = tmp_path / "data", ("tiny[]",)
    (world.data / "imagenet" / "tiny" / "n01440764" / "tiny-03.png").write_bytes(b"no picture")
    return world


@pytest.fixture
def empty(world: Any, tmp_path: Path) -> Any:
    """One split of two, ImageNet's, is not there."""
    split = tmp_path / "data" / "imagenet"
    split.mkdir(parents=True)
    (split / "tiny2").symlink_to(world.data / "imagenet" / "tiny2")
    world.data, world.models = split.parent, ("tiny[]",)
    return world


@WORKERS
def test_errors_over_the_budget(erring: Any, workers: tuple[str, ...]) -> None:
    assert erring.run(*workers).ret == ERRORS
    assert erring.session["run"]["exit_status"] == ERRORS


@WORKERS
def test_absent_data_under_strict(empty: Any, workers: tuple[str, ...]) -> None:
    assert empty.run("--eye-strict", *workers, *BOTH).ret == ABSENT
    assert empty.session["run"]["exit_status"] == ABSENT


def test_absent_data_otherwise(empty: Any) -> None:
    assert empty.run(*BOTH).ret == 0


def test_a_floor(world: Any) -> None:
    assert world.run(FLOOR).ret == REGRESSION


def test_two_kinds_in_two_cases(erring: Any) -> None:
    assert erring.run(FLOOR).ret == MIXED
    assert erring.session["run"]["exit_status"] == MIXED


def test_two_kinds_in_one_case(erring: Any) -> None:
    assert erring.run(FLOOR.replace("tiny2", "tiny")).ret == MIXED


def test_another_failure_is_of_no_kind(erring: Any) -> None:
    (erring.folder / "test_own.py").write_text("def test_own():\n    assert False\n")
    assert erring.run("-k", "imagenet/tiny or own", "test_own.py").ret == MIXED

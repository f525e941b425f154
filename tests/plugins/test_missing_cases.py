"""A case of the baseline that the session has no test for is named, and fails under `--eye-strict`."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.deep

HELD, STRICT, UPDATE = "--eye-baseline=kept", "--eye-strict", "--eye-update-baseline"
ABSENT = 11
OWN = """
import pytest

@pytest.mark.eyechart("imagenet", protocol="replay")
def test_kept(evaluate):
    evaluate()
"""
CASE = "imagenet/tiny2/replay[path=a.csv] (replay)"
GONE = f"{CASE} is in the baseline kept/"


@pytest.fixture
def removed(held: Any, tmp_path: Path) -> Any:
    """The baseline has two splits, and the data one."""
    shutil.copytree(held.world.data, tmp_path / "data")
    shutil.rmtree(tmp_path / "data" / "imagenet" / "tiny2")
    held.world.data = tmp_path / "data"
    return held


@pytest.fixture
def named(gated: Any, tmp_path: Path) -> Any:
    """The baseline has two named models on two splits, and the data one split."""
    gated.world.models = ("prod=replay[path=a.csv]", "next-2=replay[path=b.csv]")
    gated.answer(file="b.csv")
    gated.kept()
    shutil.copytree(gated.world.data, tmp_path / "data")
    shutil.rmtree(tmp_path / "data" / "imagenet" / "tiny2")
    gated.world.data = tmp_path / "data"
    gated.answer()
    return gated


@pytest.fixture
def models(gated: Any) -> Any:
    """The baseline has two models."""
    gated.world.models = ("replay[path=a.csv]", "replay[path=b.csv]")
    gated.answer(file="b.csv")
    gated.kept()
    return gated


@pytest.mark.parametrize("workers", [(), ("-n2",)], ids=["serial", "workers"])
def test_a_split_that_is_gone_is_named_and_fails_under_strict(removed: Any, workers: tuple[str, ...]) -> None:
    said = removed.ran(HELD, *workers)
    assert said.count(f"eyechart: {GONE}") == said.count("was not run") == 1
    assert "and was not run: there is no split imagenet/tiny2. Restore it, or delete it from the baseline." in said
    said = removed.ran(HELD, STRICT, "--eye-summary=summary.md", *workers, code=ABSENT)
    assert f"ERROR: {GONE}" in said
    assert removed.world.session["run"]["exit_status"] == ABSENT
    summary = (removed.world.folder / "summary.md").read_text()
    assert "Exit status 11: missing data, or a missing case of the baseline" in summary
    assert GONE in summary


@pytest.mark.parametrize("workers", [(), ("-n2",)], ids=["serial", "workers"])
def test_a_split_that_is_gone_is_missing_for_each_named_model(named: Any, workers: tuple[str, ...]) -> None:
    said = named.ran(HELD, STRICT, "--eye-summary=summary.md", *workers, code=ABSENT)
    for model in ("prod", "next-2"):
        assert f"ERROR: imagenet/tiny2/{model} (replay) is in the baseline kept/" in said
    assert said.count("and was not run: there is no split imagenet/tiny2.") == 2
    assert "not asked for" not in said


def test_a_renamed_split_of_one_named_model_of_two_is_missing_and_its_new_name_has_no_baseline(named: Any) -> None:
    shutil.copytree(named.world.data / "imagenet" / "tiny", named.world.data / "imagenet" / "tiny-renamed")
    named.world.models = named.world.models[:1]
    named.answer()
    said = named.ran(HELD, STRICT, code=1)
    assert "imagenet/tiny-renamed/prod (replay) has no baseline." in said
    assert said.count("and was not run: there is no split imagenet/tiny2.") == 1
    assert "2 cases of the baseline not asked for by the options of this session: imagenet/tiny/next-2" in said


def test_a_case_that_is_gone_beside_a_loss_is_a_failure_of_two_kinds(removed: Any) -> None:
    removed.answer(wrong=18)
    assert f"ERROR: {GONE}" in removed.ran(HELD, STRICT, code=1)


@pytest.mark.parametrize("selected", [
    ("-k", "imagenet/tiny and not tiny2"), ("-m", "not eyechart and not parametrize or imagenet"), ("--lf",),
    ("--deselect=benchmarks/classification/test_classification.py::test_replay[imagenet/tiny2/replay[path=a.csv]]",),
])  # fmt: skip
def test_a_case_that_was_deselected_is_not_missing(removed: Any, selected: tuple[str, ...]) -> None:
    said = removed.world.call(*removed.world.usual, HELD, STRICT, *selected)
    assert said.ret in ((0, 5) if selected[0] == "-m" else (0,)), said.stdout.str()
    assert "was not run" not in said.stdout.str()


@pytest.mark.parametrize("kept", [("-k", "imagenet/tiny or imagenet/tiny2"), ("-m", "eyechart"), ("--ff",), ("-x",)])
def test_what_would_select_the_case_does_not_excuse_it(removed: Any, kept: tuple[str, ...]) -> None:
    assert f"ERROR: {GONE}" in removed.ran(HELD, STRICT, *kept, code=ABSENT)


def add_cases(held: Any, splits: Sequence[str]) -> None:
    """Add cases of other splits to the baseline."""
    (file,) = held.files
    baseline = json.loads(file.read_text())
    more = [baseline["cases"][0] | {"case": f"imagenet/{split}/replay[path=a.csv]"} for split in splits]
    file.write_text(json.dumps(baseline | {"cases": [*baseline["cases"], *more]}))


def test_a_skipped_case_is_named_with_its_reason_alone(held: Any) -> None:
    add_cases(held, ["val"])
    said = held.ran(HELD, "-k", "imagenet/tiny or imagenet/val")
    assert "1 case skipped: " in said
    assert "was not run" not in said
    assert "was not run" not in held.ran(HELD, STRICT, "-k", "imagenet/tiny or imagenet/val", code=ABSENT)


def test_a_model_that_the_command_line_does_not_name_is_told_and_no_failure(models: Any) -> None:
    models.world.models = ("replay[path=a.csv]",)
    said = models.ran(HELD, STRICT)
    assert "eyechart: 2 cases of the baseline not asked for by the options of this session: imagenet/tiny/" in said
    assert "was not run" not in said


def test_a_model_that_the_ini_file_no_longer_names_is_missing(models: Any) -> None:
    models.world.models = ()
    ini = models.world.folder / "pytest.ini"
    ini.write_text("[pytest]\neye_model =\n  replay[path=a.csv]\n  replay[path=b.csv]\n")
    models.ran(HELD, STRICT)
    ini.write_text("[pytest]\neye_model = replay[path=a.csv]\n")
    said = models.ran(HELD, STRICT, code=ABSENT)
    assert "imagenet/tiny/replay[path=b.csv] (replay) is in the baseline" in said
    assert "and was not run: no such model was asked for." in said


def test_many_missing_cases_are_folded(held: Any) -> None:
    add_cases(held, [f"tiny-gone{index:02}" for index in range(12)])
    said = held.ran(HELD, STRICT, code=ABSENT)
    assert said.count("was not run: there is no split imagenet/tiny-gone") == 8
    assert "ERROR: 4 more cases of the baseline were not run." in said


def test_a_test_function_that_is_gone_is_missing_where_all_tests_are_collected(held: Any) -> None:
    world = held.world
    (world.folder / "test_own.py").write_text(f"{OWN}\ntest_gone = test_kept\n")
    options = (f"--eye-data={world.data}", "--eye-model=replay[path=a.csv]", "-k", "imagenet/tiny")
    assert world.call(*options, "--eye-baseline=own", UPDATE).ret == 0
    (world.folder / "test_own.py").write_text(OWN)
    strict = world.call(*options, "--eye-baseline=own", STRICT)
    assert strict.ret == ABSENT, strict.stdout.str()
    assert "no test asks for it" in strict.stdout.str()
    assert world.call("test_own.py", *options, "--eye-baseline=own", STRICT).ret == 0

"""A case of the baseline that the session has no test for is named, and fails under `--eye-strict`."""

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from eyechart.gate.session.missing_cases import CaseFunction
from eyechart.plugins.missing_cases import MissingCases

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


CASE_FUNCTION = CaseFunction(
    ["imagenet"], "replay", "test_replay", "", ["test_replay", "test_classification.py", "eyechart"], ["eyechart"]
)
SPLIT = "imagenet/tiny2/replay[path=a.csv]"


@pytest.fixture
def removed(held: Any, tmp_path: Path) -> Any:
    """The baseline has two splits, and the data one."""
    shutil.copytree(held.world.data, tmp_path / "data")
    shutil.rmtree(tmp_path / "data" / "imagenet" / "tiny2")
    held.world.data = tmp_path / "data"
    return held


@pytest.fixture
def parsed(pytester: pytest.Pytester) -> Callable[..., MissingCases]:
    """What a command line selects: the part of the plugin, before it has seen a test."""

    def parsed(*arguments: str) -> MissingCases:
        nothing: Any = None
        return MissingCases(pytester.parseconfig(*arguments), nothing, nothing)

    return parsed


@pytest.mark.parametrize("workers", [(), ("-n2",)], ids=["serial", "workers"])
def test_a_split_that_is_gone_is_named_and_fails_under_strict(removed: Any, workers: tuple[str, ...]) -> None:
    said = removed.ran(HELD, STRICT, "--eye-summary=summary.md", *workers, code=ABSENT)
    assert f"ERROR: {GONE}" in said
    assert said.count("and was not run: there is no split imagenet/tiny2. Restore it, or delete it from the") == 1
    assert removed.world.session["run"]["exit_status"] == ABSENT
    summary = (removed.world.folder / "summary.md").read_text()
    assert "Exit status 11: missing data, or a missing case of the baseline" in summary
    assert GONE in summary


def test_without_strict_it_is_only_said(removed: Any) -> None:
    said = removed.ran(HELD)
    assert said.count(f"eyechart: {GONE}") == said.count("was not run") == 1


def test_a_renamed_split_of_one_named_model_of_two_is_missing_and_its_new_name_has_no_baseline(
    gated: Any, tmp_path: Path
) -> None:
    gated.world.models = ("prod=replay[path=a.csv]", "next-2=replay[path=b.csv]")
    gated.answer(file="b.csv")
    gated.kept()
    shutil.copytree(gated.world.data, tmp_path / "data")
    gated.world.data = tmp_path / "data"
    (tmp_path / "data" / "imagenet" / "tiny2").rename(tmp_path / "data" / "imagenet" / "tiny-renamed")
    gated.world.models = gated.world.models[:1]
    gated.answer(of="")
    said = gated.ran(HELD, STRICT, code=1)
    assert "imagenet/tiny-renamed/prod (replay) has no baseline." in said
    assert said.count("and was not run: there is no split imagenet/tiny2.") == 1
    assert "ERROR: imagenet/tiny2/prod (replay) is in the baseline kept/" in said
    assert "2 cases of the baseline not asked for by the options of this session: imagenet/tiny/next-2" in said


def test_a_case_that_is_gone_beside_a_loss_is_a_failure_of_two_kinds(removed: Any) -> None:
    removed.answer(wrong=18)
    assert f"ERROR: {GONE}" in removed.ran(HELD, STRICT, code=1)


@pytest.mark.parametrize("selected", [
    ("-k", "imagenet/tiny and not tiny2"), ("-m", "not eyechart"),
    (f"--deselect=benchmarks/classification/test_classification.py::test_replay[{SPLIT}]",),
])  # fmt: skip
def test_a_case_that_was_deselected_is_not_missing(
    parsed: Callable[..., MissingCases], selected: tuple[str, ...]
) -> None:
    assert not parsed(*selected).is_selected(CASE_FUNCTION, SPLIT)


@pytest.mark.parametrize("kept", [("-k", "imagenet/tiny or imagenet/tiny2"), ("-m", "eyechart"), ("--ff",), ("-x",)])
def test_what_would_select_the_case_does_not_excuse_it(
    parsed: Callable[..., MissingCases], kept: tuple[str, ...]
) -> None:
    assert parsed(*kept).is_selected(CASE_FUNCTION, SPLIT)
    assert not parsed(*kept).selects_tests


@pytest.mark.parametrize("given", ["--lf", "--stepwise", "--collect-only", "test_own.py::test_it"])
def test_a_part_of_the_tests_has_no_missing_case(parsed: Callable[..., MissingCases], given: str) -> None:
    assert parsed(given).selects_tests


def test_files_and_models_that_are_named_leave_others_out(
    pytester: pytest.Pytester, parsed: Callable[..., MissingCases]
) -> None:
    model = "--eye-model=replay[path=a.csv]"
    pytester.makepyfile(test_own=OWN)
    assert parsed("test_own.py").has_paths
    assert parsed("--ignore=test_own.py").has_paths
    assert not parsed(model).has_paths
    assert parsed(model).requested.names_models
    pytester.makeini("[pytest]\neye_model = replay[path=a.csv]\n")
    named = parsed().requested
    assert (named.names_models, named.models) == (False, ["replay[path=a.csv]"])


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

"""eyechart beside pytest-benchmark, pytest-codspeed and suites that use the same words for other things."""

import re
from typing import Any

import pytest

pytestmark = pytest.mark.deep

TIMED = """
import pytest

@pytest.mark.benchmark(group="mine", min_rounds=1, max_time=0.01)
def test_timed(benchmark):
    assert benchmark(sum, [1, 2]) == 3

@pytest.mark.parametrize("case", ["a", "b"])
def test_case(case):
    assert case in "ab"
"""
MISSING = """
def test_missing_{fixture}({fixture}):
    pass
"""
WORDS = ("case", "dataset", "label_sets", "models", "predictions", "record", "zoo")


IMPORTED = "ignore::pytest.PytestAssertRewriteWarning"  # of what the warm interpreter has imported


def test_timed_tests_and_cases_run_in_one_session(world: Any) -> None:
    world.environment["PYTEST_ADDOPTS"] = "-p no:hypothesispytest -p no:anyio -p no:pytest_cov"
    (world.folder / "test_timed.py").write_text(TIMED)
    strictly = ("--strict-markers", "-W", "error", "-W", IMPORTED)
    result = world.passes("test_timed.py", "-k", "imagenet/tiny or timed or test_case", *strictly)
    assert result.parseoutcomes()["passed"] == 4 + 3
    assert len(world.records) == 4


def test_workers_run_cases_beside_pytest_benchmark(world: Any) -> None:
    world.environment["PYTEST_ADDOPTS"] = f"-p no:hypothesispytest -p no:anyio -p no:pytest_cov -W {IMPORTED}"
    world.passes("-n", "2")
    assert len(world.records) == 4


def test_only_the_mark_eyechart_makes_cases(pytester: pytest.Pytester) -> None:
    lines = pytester.runpytest_inprocess("--markers").outlines
    own = [line for line in lines if "one case for every split" in line]
    assert [line.partition("(")[0] for line in own] == ["@pytest.mark.eyechart"]


def test_fixtures_that_another_suite_lacks_stay_missing(pytester: pytest.Pytester) -> None:
    tests = "".join(MISSING.format(fixture=fixture) for fixture in WORDS)
    pytester.makepyfile(test_missing=tests)
    said = pytester.runpytest_inprocess("test_missing.py").stdout.str()
    assert [fixture for fixture in WORDS if f"fixture '{fixture}' not found" not in said] == []


def test_every_fixture_but_one_begins_with_eye(pytester: pytest.Pytester) -> None:
    sections = pytester.runpytest_inprocess("--fixtures").stdout.str().split("fixtures defined from ")
    own = [section for section in sections if section.startswith("eyechart")]
    names = [found for section in own for found in re.findall(r"^(\w+)(?: \[\w+ scope\])? -- ", section, re.MULTILINE)]
    assert {"eye_dataset", "eye_label_sets", "eye_session", "evaluate"} <= {*names}
    assert all(name.startswith("eye_") or name == "evaluate" for name in names)

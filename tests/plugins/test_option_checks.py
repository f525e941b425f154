"""A file for one benchmark's classes is refused where cases of several are selected, and heard where one is."""

from typing import Any

import pytest

pytestmark = pytest.mark.deep

OPTIONS = ("--eye-labels=Mine={}/classes.csv", "--eye-equivalences=strict:{}/classes.csv", "--eye-names={}/classes.csv")
BOTH = ("--pyargs", "eyechart.benchmarks", "-k", "imagenet/sample or toybox/sample-cutouts", "--eye-model=conse[]")


@pytest.fixture
def given(pytester: pytest.Pytester, request: pytest.FixtureRequest) -> str:
    """An option whose file speaks of ImageNet's classes."""
    text = "file,labels\ntiny-00.jpg,0\n" if "labels" in request.param else "a,b\n1,2\n"
    (pytester.path / "classes.csv").write_text(text)
    return str(request.param).format(pytester.path)


def assert_refused(result: pytest.RunResult, given: str) -> None:
    """One sentence says which option is the reason, and how to choose a benchmark."""
    assert result.ret == pytest.ExitCode.USAGE_ERROR, result.outlines
    (said,) = (line for line in result.errlines if line)
    assert said.startswith(f"ERROR: {given} is a file for the classes of one benchmark, and cases of imagenet and toy")
    assert said.endswith("Choose one with -k imagenet/ or -k toybox/")


@pytest.mark.parametrize("given", OPTIONS, indirect=True, ids=["labels", "equivalences", "names"])
def test_a_file_for_one_benchmark_is_refused_for_two(pytester: pytest.Pytester, given: str) -> None:
    assert_refused(pytester.runpytest_inprocess(*BOTH, given), given)


def test_it_is_refused_once_under_workers(world: Any) -> None:
    option = "--eye-equivalences=strict:classes.csv"
    (world.folder / "classes.csv").write_text("a,b\n1,2\n")
    assert_refused(world.call(*BOTH, option, "-n2"), option)


def test_it_is_heard_where_one_benchmark_is_chosen(world: Any) -> None:
    (world.folder / "classes.csv").write_text("a,b\n1,2\n")
    world.passes("--eye-equivalences=strict:classes.csv")
    assert {record["variant"]["equivalences"] for record in world.records} == {"strict:classes.csv"}


def test_what_is_no_file_is_for_every_benchmark(pytester: pytest.Pytester) -> None:
    named = ("--eye-equivalences=strict:12", "--eye-names=openai", "--eye-templates=7", "--collect-only")
    assert pytester.runpytest_inprocess(*BOTH, *named).ret == pytest.ExitCode.OK


def test_packages_that_contradict_one_another_are_refused_before_any_case(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytester.makepyfile(
        other="from eyechart.results.metric_definitions import MetricDefinition\n"
        'MINE = MetricDefinition("ece", "Another error.", higher_is_better=True)\n'
    )
    folder = pytester.mkdir("other-1.0.dist-info")
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text("[eyechart.metrics]\nmine = other:MINE\n")
    monkeypatch.setenv("PYTHONPATH", str(pytester.path))
    result = pytester.runpytest_subprocess(*BOTH)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        "ERROR: The metric 'ece' is defined twice, by *.shared_metrics:DEFINITIONS and by other:*"
    )

"""A file for one benchmark's classes is refused where cases of several are selected, and heard where one is."""

from typing import Any

import pytest

pytestmark = pytest.mark.deep

OPTIONS = ("--eye-labels=Mine={}/classes.csv", "--eye-equivalences=strict:{}/classes.csv", "--eye-names={}/classes.csv")
BOTH = ("--pyargs", "eyechart.benchmarks", "-k", "imagenet/tiny or toybox/sample-cutouts", "--eye-model=tiny[]")


@pytest.fixture
def given(world: Any, request: pytest.FixtureRequest) -> str:
    """An option whose file speaks of ImageNet's classes."""
    (world.folder / "classes.csv").write_text("a,b\n1,2\n")
    if "labels" in request.param:
        (world.folder / "classes.csv").write_text("file,labels\ntiny-00.jpg,0\n")
    return str(request.param).format(world.folder)


@pytest.mark.parametrize("given", OPTIONS, indirect=True, ids=["labels", "equivalences", "names"])
@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_file_for_one_benchmark_is_refused_for_two(world: Any, given: str, workers: str) -> None:
    result = world.call(*BOTH, f"--eye-data={world.data}", given, "-n", workers)
    assert result.ret == pytest.ExitCode.USAGE_ERROR, result.outlines
    (said,) = (line for line in result.errlines if line)
    assert said.startswith(f"ERROR: {given} is a file for the classes of one benchmark, and cases of imagenet and toy")
    assert said.endswith("Choose one with -k imagenet/ or -k toybox/")
    assert world.asked == 0


@pytest.mark.parametrize("given", OPTIONS[1:2], indirect=True, ids=["equivalences"])
@pytest.mark.parametrize("workers", ["0", "2"])
def test_it_is_heard_where_one_benchmark_is_chosen(world: Any, given: str, workers: str) -> None:
    world.passes(given, "-n", workers)
    assert {record["variant"]["equivalences"] for record in world.records} == {given.partition("=")[2]}


def test_what_is_no_file_is_for_every_benchmark(world: Any) -> None:
    named = ("--eye-equivalences=strict:12", "--eye-names=openai", "--eye-templates=7")
    result = world.call(*BOTH, f"--eye-data={world.data}", *named)
    assert result.parseoutcomes()["passed"] == 3

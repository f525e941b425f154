"""However the cases are run, the records and the kept answers are the same, and each model is loaded once."""

from typing import Any

import pytest

from eyechart.models.runtime.device import count_processors

IMAGES = 2 * (18 + 6)
CASES = 4
BATCH = 4


def test_a_serial_run_asks_every_picture_once(serial: Any) -> None:
    assert serial.asked == IMAGES
    assert len(serial.records) == CASES


def test_a_serial_run_loads_every_model_once(serial: Any) -> None:
    assert serial.loads == ["tiny", "tinyclass"]
    assert serial.session["run"]["loads"] == 2


@pytest.mark.parametrize("workers", ["2", pytest.param("5", marks=pytest.mark.deep)], ids=["two", "more than cases"])
def test_workers_give_the_records_of_a_serial_run(world: Any, serial: Any, workers: str) -> None:
    world.passes("-n", workers)
    assert world.records == serial.records
    assert world.store == serial.store
    assert world.asked == IMAGES
    assert world.loads == ["tiny", "tinyclass"]
    assert world.session["run"]["loads"] == 2


@pytest.mark.deep
def test_without_xdist_the_records_are_the_same(world: Any, serial: Any) -> None:
    world.passes("-p", "no:xdist")
    assert world.records == serial.records


@pytest.mark.parametrize(
    ("how", "workers"), [("die", "0"), pytest.param("die with parent", "2", marks=pytest.mark.deep)]
)
def test_a_killed_run_resumes_and_ends_as_if_it_had_never_stopped(
    world: Any, serial: Any, how: str, workers: str
) -> None:
    world.order("tiny", batch=3, do=how)
    assert world.run("-n", workers).ret == -9
    world.passes("-n", workers)
    assert world.asked == IMAGES + BATCH
    assert world.records == serial.records
    assert world.store == serial.store


@pytest.mark.deep
def test_a_killed_worker_fails_its_case_alone_and_only_the_missing_pictures_are_asked(world: Any, serial: Any) -> None:
    world.order("tiny", batch=3, do="die")
    result = world.run("-n", "2")
    result.assert_outcomes(failed=1, passed=CASES - 1)
    result.stdout.fnmatch_lines(["*worker 'gw?' crashed while running*imagenet/tiny/tiny[[][]]*"])
    killed = [record for record in serial.records if record["case"] == "imagenet/tiny/tiny[]"]
    assert world.records == [record for record in serial.records if record not in killed]
    world.passes()
    assert world.asked == IMAGES + BATCH
    assert world.records == serial.records
    assert world.store == serial.store


@pytest.mark.deep
def test_a_worker_killed_in_its_second_model_leaves_none_behind(world: Any, serial: Any) -> None:
    world.order("tinyclass", batch=3, do="die")
    world.run("-n", "1").assert_outcomes(failed=1, passed=CASES - 1)
    world.passes()
    assert world.records == serial.records


@pytest.mark.deep
def test_workers_divide_the_threads_of_the_processors(world: Any) -> None:
    """Two workers have half of the processors each; an environment that says a number keeps it."""
    code = """
import os
from pathlib import Path

def pytest_runtest_call():
    Path("threads").open("a").write(os.environ["OMP_NUM_THREADS"] + " ")
"""
    world.python = world.warm  # which a run can use: no library reads the variable here
    for given, expected in (("", str(max(1, count_processors() // 2))), ("7", "7")):
        world.environment = {"OMP_NUM_THREADS": given}
        (world.folder / "threads").unlink(missing_ok=True)
        world.passes(world.plugin(code), "-n2")
        assert {*(world.folder / "threads").read_text().split()} == {expected}

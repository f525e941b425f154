"""However the cases are run, the records and the kept answers are the same, and each model is loaded once."""

import os
from types import SimpleNamespace
from typing import Any

import pytest

from eyechart.models.runtime.device import count_processors
from eyechart.plugins.workers import limit_threads

IMAGES = 2 * (18 + 6)
CASES = 4
BATCH = 4


def test_a_serial_run_asks_every_picture_once(serial: Any) -> None:
    assert serial.asked == IMAGES
    assert len(serial.records) == CASES


def test_a_serial_run_loads_every_model_once(serial: Any) -> None:
    assert serial.loads == ["tiny", "tinyclass"]
    assert serial.session["run"]["loads"] == 2


def test_workers_give_the_records_of_a_serial_run(world: Any, serial: Any) -> None:
    world.passes("-n2")
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
def test_more_workers_than_cases_divide_the_threads_of_the_processors(world: Any, serial: Any) -> None:
    code = """
import os
from pathlib import Path

def pytest_runtest_call():
    Path("threads").open("a").write(os.environ["OMP_NUM_THREADS"] + " ")
"""
    world.python = world.warm  # which a run can use: no library reads the variable here
    world.environment = {"OMP_NUM_THREADS": ""}
    world.passes(world.plugin(code), "-n3", "-k", "imagenet/tiny2")
    assert {*(world.folder / "threads").read_text().split()} == {str(max(1, count_processors() // 3))}
    assert world.records == [record for record in serial.records if record["split"] == "tiny2"]


def test_the_environment_may_say_how_many_threads_a_worker_has(monkeypatch: pytest.MonkeyPatch) -> None:
    worker: Any = SimpleNamespace(workerinput={"workercount": 2})
    for given, expected in (("", str(max(1, count_processors() // 2))), ("7", "7")):
        monkeypatch.setenv("OMP_NUM_THREADS", given)
        limit_threads(worker)
        assert os.environ["OMP_NUM_THREADS"] == expected

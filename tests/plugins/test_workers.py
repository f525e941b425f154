"""Workers of pytest-xdist divide the processors, unless the environment says how many threads each has."""

import os
from types import SimpleNamespace
from typing import Any

import pytest

from eyechart.models.runtime.device import count_processors
from eyechart.plugins.workers import limit_threads


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

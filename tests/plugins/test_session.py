"""However the cases are run, the records and the kept answers are the same, and each model is loaded once."""

from typing import Any

import pytest

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

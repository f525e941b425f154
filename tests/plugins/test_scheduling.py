"""All cases of a model go to one worker, and a worker that dies takes one case with it."""

from typing import Any

import pytest

from tests.plugins.own_files import OWN, PLAIN, write

pytestmark = pytest.mark.deep
SCHEDULER = """
def pytest_sessionfinish(session):
    dsession = session.config.pluginmanager.get_plugin("dsession")
    if dsession:
        print("\\nSCHEDULER", type(dsession.sched.scheduling).__name__)
"""


@pytest.mark.parametrize(("test", "scheduler"), [(PLAIN, "LoadScheduling"), (OWN, "ModelScheduling")])
def test_workers_are_scheduled_by_model_only_where_there_are_cases(world: Any, test: str, scheduler: str) -> None:
    write(world.folder, test_own=test, extra=SCHEDULER)
    result = world.call("test_own.py", "-n1", "-s", "-pextra", "-k", "plain or toybox/sample-noto-v1/open_clip")
    assert result.ret == 0, result.stdout.str()
    assert f"SCHEDULER {scheduler}" in result.outlines


def test_a_killed_worker_fails_its_case_alone_and_only_the_missing_pictures_are_asked(world: Any, serial: Any) -> None:
    world.order("tiny", batch=3, do="die")
    result = world.run("-n", "2")
    result.assert_outcomes(failed=1, passed=3)
    result.stdout.fnmatch_lines(["*worker 'gw?' crashed while running*imagenet/tiny/tiny[[][]]*"])
    killed = [record for record in serial.records if record["case"] == "imagenet/tiny/tiny[]"]
    assert world.records == [record for record in serial.records if record not in killed]
    world.passes()
    assert world.asked == serial.asked + 4  # the pictures of the batch that died
    assert world.records == serial.records
    assert world.store == serial.store

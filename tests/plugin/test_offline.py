"""Offline is a mode: the default models answer the packaged pictures while every connection is refused."""

from typing import Any

import pytest

REFUSED = """
import os
import socket

def refuse(self, address):
    if self.family != getattr(socket, "AF_UNIX", None):
        open("connected", "a").write(f"{address}\\n")
        raise OSError(f"a connection to {address} was tried")

socket.socket.connect = socket.socket.connect_ex = refuse

def pytest_sessionfinish():
    print("OFFLINE", os.environ.get("HF_HUB_OFFLINE"))
"""


def test_the_default_models_need_no_network(world: Any) -> None:
    arguments = ["-k", "imagenet/sample/", "--eye-offline", "--eye-limit=6", "-s", world.plugin(REFUSED)]
    result = world.call("--pyargs", "eyechart.benchmarks", *arguments)
    result.assert_outcomes(passed=2, deselected=result.parseoutcomes()["deselected"])
    result.stdout.fnmatch_lines(["*OFFLINE 1"])
    assert not (world.folder / "connected").exists()
    assert [record["protocol"] for record in world.records] == ["zero_shot", "supervised"]


@pytest.mark.parametrize(("given", "told"), [((), "False"), (("--eye-offline",), "True")])
def test_models_are_told_whether_to_stay_offline(world: Any, given: tuple[str, ...], told: str) -> None:
    world.models = ("tiny[]",)
    world.passes("--eye-limit=1", *given)
    assert world.lines("made") == [["tiny", "cpu", told]]

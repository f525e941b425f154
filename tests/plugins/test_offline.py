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


@pytest.mark.parametrize(
    ("cases", "protocols"),
    [
        ("toybox/sample-noto-v1/open_clip", ["zero_shot"]),
        pytest.param("imagenet/sample/", ["zero_shot", "supervised"], marks=pytest.mark.deep),
    ],
)
def test_the_default_models_need_no_network(world: Any, cases: str, protocols: list[str]) -> None:
    arguments = ["-k", cases, "--eye-offline", "--eye-limit=2", "--eye-templates=1", "-s", world.plugin(REFUSED)]
    result = world.call("--pyargs", "eyechart.benchmarks", *arguments)
    result.assert_outcomes(passed=len(protocols), deselected=result.parseoutcomes()["deselected"])
    result.stdout.fnmatch_lines(["*OFFLINE 1"])
    assert not (world.folder / "connected").exists()
    assert [record["protocol"] for record in world.records] == protocols


@pytest.mark.parametrize(("given", "told"), [((), "False"), (("--eye-offline",), "True")])
def test_models_are_told_whether_to_stay_offline(world: Any, given: tuple[str, ...], told: str) -> None:
    world.models = ("tiny[]",)
    world.passes("--eye-limit=1", *given)
    assert world.lines("made") == [["tiny", "cpu", told]]

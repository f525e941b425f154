"""Offline is a mode: the default models answer the packaged pictures while every connection is refused."""

from typing import Any

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


def test_what_is_not_on_this_machine_is_named_offline(world: Any) -> None:
    world.models = ("open_clip[ViT-B-32,pretrained=laion2b_s34b_b79k]",)
    result = world.run("--eye-offline", "-k", "imagenet/tiny2", world.plugin(REFUSED))
    result.assert_outcomes(errors=1, deselected=result.parseoutcomes()["deselected"])
    result.stdout.fnmatch_lines(["*is not on this machine, and --eye-offline forbids fetching it. *path."])
    assert not (world.folder / "connected").exists()

"""A class of the user's own answers a folder of images in two processes of a Ray cluster, which the session starts."""

from typing import Any

from PIL import Image

MODULE = """
import os
from tinyeyes import Tiny, log

class MyModel(Tiny):
    def see(self, images):
        log("process", os.getpid())
        return super().see(images)
"""
CASES = ("--pyargs", "eyechart.benchmarks", "-k", "pets/", "--eye-data=data", "--eye-offline")
IMAGES = 12


def test_processes_of_a_local_cluster_answer_as_one_process_does(world: Any, new_world: Any) -> None:
    one = new_world()
    for each in (one, world):
        (each.folder / "my_module.py").write_text(MODULE)
        for number in range(IMAGES):
            path = each.folder / "data" / "pets" / "test" / ("cat", "dog")[number % 2] / f"{number}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.new("RGB", (8, 8), (number * 20, 0, 0)).save(path)
    arguments = (*CASES, "--eye-model=mine=my_module:MyModel[batch_size=2]")
    result = one.call(*arguments)
    assert result.ret == 0, result.stdout.str()
    world.warm = ()  # Ray starts its processes with the interpreter of the session
    result = world.call(*arguments, "--eye-ray=local", "--eye-ray-actors=2")
    assert result.ret == 0, result.stdout.str() + result.stderr.str()
    assert world.store == one.store
    assert world.asked == one.asked == IMAGES
    assert [record["metrics"] for record in world.records] == [record["metrics"] for record in one.records]
    assert len({*map(tuple, world.lines("process"))}) <= 2

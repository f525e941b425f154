"""The same arguments draw the same world, a part as in the whole, and another seed another one."""

from collections.abc import Callable
from pathlib import Path

import pytest


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_another_seed_gives_other_pictures_in_the_same_files(
    draw_small: Callable[..., Path], small_world: Path, tmp_path: Path
) -> None:
    draw_small(tmp_path, "--seed", "1", "--part", "birds")
    birds = {name: data for name, data in files(small_world).items() if name.startswith("realbirdid/drawn/images")}
    other = {name: data for name, data in files(tmp_path).items() if name in birds}
    assert other.keys() == birds.keys()
    assert all(data != birds[name] for name, data in other.items())


@pytest.mark.parametrize("part", ["scenes", pytest.param("birds", marks=pytest.mark.deep)])
def test_a_part_drawn_again_is_the_same_as_in_the_whole(
    draw_small: Callable[..., Path], small_world: Path, tmp_path: Path, part: str
) -> None:
    draw_small(tmp_path, "--part", part)
    whole, again = files(small_world), files(tmp_path)
    assert again
    assert all(data == whole[name] for name, data in again.items())

"""Shards at a URL: the answers are those about the same shards in a folder, whoever reads them."""

from collections.abc import Callable
from pathlib import Path
from runpy import run_path
from typing import Any

import pytest
from webdataset import TarWriter

serve = run_path(str(Path(__file__).parents[1] / "range_server.py"))["serve"]
pytestmark = pytest.mark.deep
MODEL = "tinyclass[]"


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory, picture_root: Path) -> Path:
    """A data root whose split has the pictures of a folder in two shards."""
    root = tmp_path_factory.mktemp("shards")
    folder = root / "imagenet" / "tiny"
    folder.mkdir(parents=True)
    (folder / "nshards.txt").write_text("2\n")
    paths = sorted((picture_root / "imagenet" / "tiny").rglob("*.*"))
    for shard in range(2):
        with TarWriter(str(folder / f"{shard}.tar")) as tar:
            for number, path in enumerate(paths[shard::2]):
                key = f"{shard}-{number:02}"
                tar.write({"__key__": key, path.suffix.removeprefix("."): path.read_bytes(), "cls": number % 5})
    return root


@pytest.fixture(scope="module")
def local(new_world: Callable[[], Any], shards: Path) -> Any:
    """A world after a run about the shards in their folder."""
    world = new_world()
    world.models, world.data = (MODEL,), shards
    world.passes()
    return world


def test_processes_read_ranges_and_the_store_is_that_of_a_folder(world: Any, local: Any, shards: Path) -> None:
    world.models = (MODEL,)
    with serve(shards) as server:
        world.passes(f"--eye-data={server.url}", "--eye-devices=2")
        assert any(path.endswith(".tar") for path, *_ in server.ranges)
        assert world.store == local.store
        assert {record["data"]["root"] for record in world.records} == {server.url}
        asked = world.asked
        world.passes(f"--eye-data={server.url}")
        assert world.asked == asked


def test_actors_read_ranges(world: Any, on_cluster: str, local: Any, shards: Path) -> None:
    world.models = (MODEL,)
    with serve(shards) as server:
        world.passes(f"--eye-data={server.url}", on_cluster, "--eye-ray-actors=2")
    assert world.store == local.store


def test_offline_no_connection_is_opened(world: Any) -> None:
    result = world.run("--eye-data=http://127.0.0.1:9/data", "--eye-offline")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*http://127.0.0.1:9/data is no local folder, and offline mode opens no connection*"])

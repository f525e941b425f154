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


def test_processes_read_ranges_and_the_store_is_that_of_a_folder(
    world: Any, new_world: Callable[[], Any], shards: Path
) -> None:
    local = new_world()
    local.models, local.data = (MODEL,), shards
    local.passes()
    world.models = (MODEL,)
    with serve(shards) as server:
        world.passes(f"--eye-data={server.url}", "--eye-devices=2")
        assert any(path.endswith(".tar") for path, *_ in server.ranges)
        assert world.store == local.store
        assert {record["data"]["root"] for record in world.records} == {server.url}


def test_offline_no_connection_is_opened(pytester: pytest.Pytester) -> None:
    url = "http://127.0.0.1:9/data"
    result = pytester.runpytest_inprocess("--pyargs", "eyechart.benchmarks", f"--eye-data={url}", "--eye-offline")
    assert result.ret == 4
    result.stderr.fnmatch_lines([f"*{url} is no local folder, and offline mode opens no connection*"])

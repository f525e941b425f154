"""Shards at a URL: found, indexed once, read by ranges of bytes, and refused with a sentence."""

import pickle
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from shutil import copytree
from typing import Any

import fsspec
import numpy as np
import pytest
from PIL import Image
from webdataset import TarWriter

from eyechart.data.dataset.dataset import Dataset
from eyechart.data.readers.remote_shards import _version_of
from eyechart.data.splits.open_split import list_splits, open_split
from eyechart.errors import DataError
from tests.range_server import Server, serve

COUNT = 150


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A data root with a split of three shards, its class names above it and slices beside it."""
    folder = tmp_path / "root" / "pets" / "test"
    folder.mkdir(parents=True)
    (folder / "nshards.txt").write_text("3\n")
    (folder.parent / "classnames.txt").write_text("cat\ndog\nemu\n")
    (folder / "slices.csv").write_text("key,light\ns000,day\ns001,night\n")
    colours = np.random.default_rng(0)
    for shard in range(3):
        with TarWriter(str(folder / f"{shard}.tar")) as tar:
            for number in range(shard, COUNT, 3):
                pixels = colours.integers(0, 255, (24, 24, 3)).astype(np.uint8)
                tar.write({"__key__": f"s{number:03}", "png": Image.fromarray(pixels), "cls": number % 3})
    return tmp_path / "root"


@pytest.fixture
def server(root: Path) -> Iterator[Server]:
    """A server of the data root that sends ranges of bytes."""
    with serve(root) as server:
        yield server


def open_root(root: str, **options: Any) -> Dataset:
    (split,) = [ref for ref in list_splits(root) if str(ref) == "pets/test"]
    return open_split(split, **options)


def contents(dataset: Dataset, rows: range) -> list[tuple[int, bytes]]:
    return [*dataset.source.read([*rows])]


def facts(dataset: Dataset) -> tuple[object, ...]:
    variables = [(variable.name, variable.values, variable.codes.tolist()) for variable in dataset.slices]
    return dataset.index, dataset.names, dataset.label_sets["original"].labels.tolist(), variables


@pytest.mark.parametrize("level", ["", "/pets", "/pets/test"])
def test_a_url_has_the_splits_of_the_folder(root: Path, server: Server, level: str) -> None:
    local = open_root(str(root))
    for url in (f"{server.url}{level}", f"file://{root}{level}"):
        remote = open_root(url)
        assert facts(remote) == facts(local)
        assert remote.fingerprint == local.fingerprint
        assert contents(remote, range(COUNT)) == contents(local, range(COUNT))


def test_images_are_read_by_few_ranges(root: Path, server: Server) -> None:
    dataset = open_root(server.url)
    server.ranges.clear()
    assert contents(dataset, range(10, 30)) == contents(open_root(str(root)), range(10, 30))
    ((path, start, stop),) = server.ranges  # neighbours in a shard are one range
    assert path == "/pets/test/0.tar"
    assert stop - start < (root / "pets" / "test" / "0.tar").stat().st_size / 2
    server.ranges.clear()
    assert len(contents(dataset, range(0, COUNT, 50))) == 3
    assert len(server.ranges) == 3


def test_a_part_is_read_anywhere_by_many_threads(root: Path, server: Server) -> None:
    part = pickle.loads(pickle.dumps(open_root(server.url).part([3, 70, 149])))
    expected = [data for row in (3, 70, 149) for _, data in contents(open_root(str(root)), range(row, row + 1))]
    with ThreadPoolExecutor(8) as threads:
        for found in threads.map(lambda _: [data for _, data in part.read(range(3))], range(16)):
            assert found == expected
    assert part.source.location(1).startswith(f"{server.url}/pets/test/1.tar at byte ")


def test_an_index_is_made_once(server: Server, tmp_path: Path) -> None:
    first = open_root(server.url, cache=tmp_path / "cache")
    server.ranges.clear()
    assert facts(open_root(server.url, cache=tmp_path / "cache")) == facts(first)
    assert not server.ranges


def test_a_changed_shard_is_indexed_anew(root: Path, server: Server, tmp_path: Path) -> None:
    first = open_root(server.url, cache=tmp_path / "cache")
    path = root / "pets" / "test" / "0.tar"
    with TarWriter(str(path)) as tar:
        for number in range(0, COUNT, 3):
            tar.write({"__key__": f"s{number:03}", "png": Image.new("RGB", (8, 8)), "cls": 1})
    fsspec.filesystem("http").invalidate_cache()
    assert open_root(server.url, cache=tmp_path / "cache").fingerprint != first.fingerprint


def test_a_server_that_fails_for_a_moment_is_asked_again(root: Path, server: Server) -> None:
    dataset = open_root(server.url)
    server.broken = 2
    assert contents(dataset, range(3)) == contents(open_root(str(root)), range(3))


def test_an_error_that_fsspec_returns_instead_of_bytes_is_tried_again(
    root: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As versions before 2026.6 do."""
    dataset, files = open_root(server.url), fsspec.filesystem("http")
    read, left = files.cat_ranges, [1]

    def failing(paths: list[str], *arguments: Any, **options: Any) -> list[Any]:
        return [OSError("503")] * len(paths) if left and left.pop() else read(paths, *arguments, **options)

    monkeypatch.setattr(files, "cat_ranges", failing)
    assert contents(dataset, range(3)) == contents(open_root(str(root)), range(3))


def test_a_shard_that_is_listed_and_not_allowed_is_named(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = fsspec.filesystem("file")
    info = files.info

    def forbidden(path: str, **options: Any) -> Any:
        if str(path).endswith("1.tar"):
            raise PermissionError("403")
        return info(path, **options)

    monkeypatch.setattr(files, "info", forbidden)
    with pytest.raises(DataError, match=r"pets/test/1\.tar cannot be read \(PermissionError: 403\)"):
        open_root(f"file://{root}", cache=tmp_path / "cache")


def test_without_a_version_a_shard_is_indexed_each_time() -> None:
    plain = {"name": "a", "size": 1, "type": "file", "url": "https://host/a"}
    assert _version_of(plain) != _version_of(plain)
    assert _version_of(plain | {"ETag": "1"}) != _version_of(plain | {"ETag": "2"})


@pytest.mark.parametrize("how", ["fails", "is removed", "sends no ranges"])
def test_what_cannot_be_read_any_more(root: Path, server: Server, how: str) -> None:
    dataset = open_root(server.url)
    if how == "fails":
        server.broken = 99
    elif how == "is removed":
        (root / "pets" / "test" / "0.tar").unlink()
    else:
        server.with_ranges = False
    sentence = "does not send ranges" if how == "sends no ranges" else "was there when it was indexed"
    with pytest.raises(DataError, match=sentence):
        contents(dataset, range(3))


def test_a_server_that_fails_while_shards_are_indexed(server: Server) -> None:
    server.broken = 99
    with pytest.raises(DataError, match=r"0\.tar cannot be read .*503.*run the command again"):
        open_root(server.url)


def test_what_systems_leave_behind_is_no_split_and_no_shard(root: Path) -> None:
    copytree(root / "pets", root / "__MACOSX")
    (root / "pets" / "test" / "._0.tar").write_bytes(b"x")
    assert [str(ref) for ref in list_splits(root.as_uri()) if ref.layout == "shards"] == ["pets/test"]
    assert open_root(root.as_uri()).notes == ()


def test_no_shards(server: Server, root: Path) -> None:
    (root / "pets" / "test" / "nshards.txt").unlink()
    with pytest.raises(DataError, match=r"holds no shards: expected URL/<benchmark>/<split>/nshards.txt"):
        list_splits(server.url)


def test_a_missing_shard_is_named_by_its_url(server: Server, root: Path) -> None:
    (root / "pets" / "test" / "1.tar").unlink()
    with pytest.raises(DataError, match=f"{server.url}/pets/test does not have 1 of the 3 shards"):
        open_root(server.url)


def test_a_truncated_shard_is_named_by_its_url(server: Server, root: Path) -> None:
    path = root / "pets" / "test" / "1.tar"
    path.write_bytes(path.read_bytes()[:2000])
    with pytest.raises(DataError, match=f"{server.url}/pets/test/1.tar is truncated"):
        open_root(server.url)


@pytest.mark.parametrize(
    ("url", "offline", "sentence"),
    [
        ("nonsense://place", False, "nonsense://place cannot be opened .* Expected a URL that fsspec knows"),
        ("http://127.0.0.1:9/data", False, "http://127.0.0.1:9/data cannot be listed"),
        ("http://127.0.0.1:9/data", True, "offline mode opens no connection"),
    ],
)
def test_urls_that_cannot_be_read(url: str, offline: bool, sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        list_splits(url, offline=offline)

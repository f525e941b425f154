"""Weights files are hashed once, also by other processes, and again after any change."""

import os
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from eyechart.models.weights import digests, weight_source
from eyechart.models.weights.digests import set_digest_folder

OLD = 1_600_000_000


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files that were read in full."""
    seen: list[Path] = []
    read = digests._read

    def counted(path: Path) -> str:
        seen.append(path)
        return read(path)

    monkeypatch.setattr(digests, "_read", counted)
    return seen


@pytest.fixture
def new_process(tmp_path: Path) -> Iterator[Callable[[], None]]:
    """Forget what this process knows, as another process would not know it; the kept digests stay."""

    def begin() -> None:
        digests._digest.cache_clear()
        set_digest_folder(tmp_path / "store" / "weights")

    begin()
    yield begin
    set_digest_folder(None)
    digests._digest.cache_clear()


def written(path: Path, data: bytes, changed: float = OLD) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    os.utime(path, (changed, changed))
    return path


def test_another_process_does_not_read_the_file_again(
    tmp_path: Path, reads: list[Path], new_process: Callable[[], None]
) -> None:
    path = written(tmp_path / "weights.pt", b"one")
    for _ in range(3):
        assert weight_source.digest(path) == sha256(b"one").hexdigest()
        new_process()
    assert reads == [path]


@pytest.mark.parametrize(
    "change",
    [
        lambda path: written(path, b"two"[:2]),
        lambda path: written(path, b"two", OLD + 1),
        lambda path: written(path.with_name("new"), b"two").replace(path),
        lambda path: written(path, b"two"),
    ],
    ids=["size", "time", "inode", "content"],
)
def test_a_changed_file_is_read_again(
    tmp_path: Path, reads: list[Path], new_process: Callable[[], None], change: Callable[[Path], object]
) -> None:
    path = written(tmp_path / "weights.pt", b"one")
    weight_source.digest(path)
    change(path)
    assert weight_source.digest(path) == sha256(path.read_bytes()).hexdigest()
    new_process()
    assert weight_source.digest(path) == sha256(path.read_bytes()).hexdigest()
    assert len(reads) == 2


def test_a_file_that_was_changed_just_now_is_not_kept(
    tmp_path: Path, reads: list[Path], new_process: Callable[[], None]
) -> None:
    path = tmp_path / "weights.pt"
    path.write_bytes(b"one")
    ahead = path.stat().st_mtime + 3600  # no clock can have passed it
    os.utime(path, (ahead, ahead))
    weight_source.digest(path)
    path.write_bytes(b"two")
    os.utime(path, (ahead, ahead))
    new_process()
    assert weight_source.digest(path) == sha256(b"two").hexdigest()
    assert len(reads) == 2


def test_a_link_is_the_file_that_it_leads_to(
    tmp_path: Path, reads: list[Path], new_process: Callable[[], None]
) -> None:
    one, two = written(tmp_path / "one.pt", b"one"), written(tmp_path / "two.pt", b"two")
    link = tmp_path / "link.pt"
    for target in (one, two):
        link.unlink(missing_ok=True)
        link.symlink_to(target)
        assert weight_source.digest(link) == sha256(target.read_bytes()).hexdigest()
    assert reads == [one, two]


def test_a_blob_of_the_hub_is_not_read(tmp_path: Path, reads: list[Path], new_process: Callable[[], None]) -> None:
    data = b"weights"
    blob = written(tmp_path / "models--o--n" / "blobs" / sha256(data).hexdigest(), data)
    link = tmp_path / "models--o--n" / "snapshots" / "main" / "model.safetensors"
    link.parent.mkdir(parents=True)
    link.symlink_to(blob)
    assert weight_source.digest(link) == sha256(data).hexdigest()
    assert reads == []


@pytest.mark.parametrize("name", ["a" * 40, "A" * 64, "g" * 64])
def test_a_blob_with_another_name_is_read(
    tmp_path: Path, reads: list[Path], new_process: Callable[[], None], name: str
) -> None:
    link = tmp_path / "model.safetensors"
    link.symlink_to(written(tmp_path / "blobs" / name, b"weights"))
    assert weight_source.digest(link) == sha256(b"weights").hexdigest()
    assert len(reads) == 1


@pytest.mark.parametrize("kept", [b"", b"{}", b"null", b'{"state": 1}', b"\xff"])
def test_a_damaged_note_is_written_anew(
    tmp_path: Path, reads: list[Path], new_process: Callable[[], None], kept: bytes
) -> None:
    path = written(tmp_path / "weights.pt", b"one")
    weight_source.digest(path)
    (note,) = (tmp_path / "store" / "weights").iterdir()
    note.write_bytes(kept)
    for _ in range(2):
        new_process()
        assert weight_source.digest(path) == sha256(b"one").hexdigest()
    assert len(reads) == 2


def test_a_folder_that_cannot_be_written_costs_only_time(
    tmp_path: Path, reads: list[Path], new_process: Callable[[], None]
) -> None:
    path = written(tmp_path / "weights.pt", b"one")
    (tmp_path / "store").write_bytes(b"a file in the folder's place")
    assert weight_source.digest(path) == sha256(b"one").hexdigest()

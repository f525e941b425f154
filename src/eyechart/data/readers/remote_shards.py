"""WebDataset shards at a URL, such as s3:// or hf://: fsspec lists them, and images are read by ranges of bytes."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from time import sleep, time_ns
from typing import Any, BinaryIO

from eyechart.data.discovery import AUXILIARY_FILES
from eyechart.data.index.file_index import IndexEntry
from eyechart.data.index.index_cache import FileFacts
from eyechart.data.labels.class_names import TEMPLATES_FILE as TEMPLATES
from eyechart.data.names import is_system
from eyechart.data.splits.registry import SplitRef
from eyechart.errors import DataError
from eyechart.files.urls import describe, explain_errors, needs_connection, open_url

BLOCK = 2**23  # bytes that are read at once while a shard is indexed
KEPT_BLOCKS = 4  # a sample whose members are further apart is read again
IMAGES = 64  # images whose ranges are read at the same time
GAP = 2**16  # bytes between two ranges that are read as one, since a request takes longer than these
RANGE = 2**24  # bytes of a range at most
TRIES = 4
NO_VERSION = ("name", "size", "type", "url", "mimetype", "partial")  # what a changed file may have, too
ABOVE = ("classnames.txt", "equivalences.csv", TEMPLATES)  # may be in the folder above the split


def survey_url(url: str, *, offline: bool = False) -> list[SplitRef]:
    """Return the splits at a URL: URL/<benchmark>/<split>, URL/<split> or the URL itself, with their `nshards.txt`.

    Raises DataError if there are none, if the URL cannot be listed, and for one that needs a connection if `offline`.
    """
    files, root = open_data(url, offline=offline)
    with explain_errors(DataError, f"{url} cannot be listed", ": correct the URL, or allow it."):
        levels = (_data_below(files.glob(f"{root}/{depth * '*/'}nshards.txt"), depth) for depth in (2, 1, 0))
        listings: list[str] = next(filter(None, levels), [])
    if not listings:
        raise DataError(
            f"{url} holds no shards: expected URL/<benchmark>/<split>/nshards.txt beside 0.tar and so on. Other "
            "layouts are read from a folder of this machine."
        )
    return [_remote_split(str(files.unstrip_protocol(path)).rpartition("/")[0]) for path in listings]


def _data_below(paths: Sequence[str], depth: int) -> list[str]:
    """Return the files whose folders, as many as `depth`, no system left behind.

    >>> _data_below([".cache/pets/test/nshards.txt", "r/__MACOSX/test/nshards.txt"], 2)
    ['.cache/pets/test/nshards.txt']
    """
    return [path for path in map(str, paths) if not any(map(is_system, path.split("/")[-1 - depth : -1]))]


def _remote_split(url: str) -> SplitRef:
    """Return the split at a URL, named by its last two folders.

    >>> str(_remote_split("s3://bucket/data/wds_cars/test"))
    'wds_cars/test'
    """
    parts = url.partition("://")[2].rstrip("/").split("/")
    return SplitRef(parts[-2] if len(parts) > 1 else "data", parts[-1], "shards", url)


@contextmanager
def remote_folder(url: str, *, offline: bool = False) -> Iterator[tuple[Path, "_RemoteShards"]]:
    """Yield a temporary copy of the small files of a split and of the folder above it, and its shards.

    A DataError that names the copy is raised again with the URL.
    """
    files, root = open_data(url, offline=offline)
    with TemporaryDirectory() as top:
        folder = Path(top) / "folder"
        folder.mkdir()
        with explain_errors(DataError, f"{url} cannot be read", ": correct the URL, or allow it."):
            names = {str(path).rpartition("/")[2] for path in files.ls(root, detail=False)}
            for name in sorted({"nshards.txt", *AUXILIARY_FILES} & names):
                files.get_file(f"{root}/{name}", str(folder / name))
            above = root.rpartition("/")[0]
            for name in ABOVE:
                if name not in names and files.exists(f"{above}/{name}"):
                    files.get_file(f"{above}/{name}", str(folder / name))
        try:
            yield folder, _RemoteShards(url, frozenset(names))
        except DataError as error:
            raise DataError(str(error).replace(str(folder), url)) from error


@dataclass(frozen=True)
class _RemoteShards:
    """The shards of a split at a URL; `names` are the names of all files there."""

    url: str
    names: frozenset[str]

    def facts(self, names: Sequence[str]) -> list[FileFacts]:
        """Return what the file system says about shards: a changed one has another size, date or digest."""
        files, root = open_url(self.url, DataError)
        facts = []
        for name in names:
            remedy = ": allow it, or run the command again."
            with explain_errors(DataError, f"{self.url}/{name} cannot be read", remedy):
                info = files.info(f"{root}/{name}")
            facts.append(FileFacts(f"{self.url}/{name}", info["size"] or 0, _version_of(info)))
        return facts

    @contextmanager
    def open(self, name: str) -> Iterator[BinaryIO]:
        """Open a shard for reading once from its beginning to its end."""
        files, root = open_url(self.url, DataError)
        options = {"block_size": BLOCK, "cache_type": "blockcache", "cache_options": {"maxblocks": KEPT_BLOCKS}}
        with (
            explain_errors(DataError, f"{self.url}/{name} cannot be read", ": run the command again."),
            files.open(f"{root}/{name}", "rb", **options) as file,
        ):
            yield file

    def has_labels(self, entries: Sequence[IndexEntry]) -> bool:  # noqa: ARG002
        """Return True: a changed shard has another version, and is not read again to look."""
        return True

    def source(self, entries: Sequence[IndexEntry]) -> "_RemoteSource":
        """Return the source of the images of all entries."""
        return _RemoteSource(self.url, entries)


def _version_of(info: Mapping[str, Any]) -> int:
    """Return a number that differs after a change of the file; it always differs if the file system has no version.

    >>> _version_of({"size": 1, "ETag": "x", "url": "a"}) == _version_of({"size": 1, "ETag": "x", "url": "b"})
    True
    """
    versions = sorted((key, str(value)) for key, value in info.items() if key not in NO_VERSION)
    return int(sha256(repr(versions).encode()).hexdigest()[:15], 16) if versions else time_ns()


@dataclass(frozen=True)
class _RemoteSource:
    """A source of images in shards at a URL, with one entry per row; any process and thread may read it."""

    url: str
    entries: Sequence[IndexEntry]

    def read(self, rows: Sequence[int]) -> Iterator[tuple[int, bytes]]:
        """Yield (row, image bytes) in the requested order; ranges of 64 images are read at the same time."""
        left = iter(rows)
        while batch := list(islice(left, IMAGES)):
            yield from zip(batch, self._read([self.entries[row] for row in batch]), strict=True)

    def part(self, rows: Sequence[int]) -> "_RemoteSource":
        """Return the source of some rows alone."""
        return _RemoteSource(self.url, [self.entries[row] for row in rows])

    def location(self, row: int) -> str:
        """Return the URL of a shard, and where the image begins in it."""
        return f"{self.url}/{self.entries[row].path} at byte {self.entries[row].offset:,}"

    def _read(self, entries: Sequence[IndexEntry]) -> Iterator[bytes]:
        """Yield the images of some entries."""
        from fsspec.utils import merge_offset_ranges

        files, root = open_url(self.url, DataError)
        ranges = merge_offset_ranges(
            [f"{root}/{entry.path}" for entry in entries],
            [entry.offset for entry in entries],
            [entry.offset + entry.size for entry in entries],
            max_gap=GAP,
            max_block=RANGE,
        )
        pieces = [*zip(*ranges, self._fetch(files, *ranges), strict=True)]
        for entry in entries:
            start, path = entry.offset, f"{root}/{entry.path}"
            begin, data = next(
                (begin, data)
                for name, begin, end, data in pieces
                if name == path and begin <= start and start + entry.size <= end
            )
            yield data[start - begin : start - begin + entry.size]

    def _fetch(self, files: Any, paths: list[str], starts: list[int], ends: list[int]) -> list[bytes]:
        """Return the bytes of ranges. Raises DataError if they cannot be read, also when tried again."""
        for attempt in range(TRIES):
            try:
                pieces: list[bytes] = files.cat_ranges(paths, starts, ends, on_error="raise")
                for piece in pieces:
                    if isinstance(piece, BaseException):  # before fsspec 2026.6, whatever `on_error` is
                        raise piece
                break
            except Exception as error:
                if isinstance(error, FileNotFoundError) or attempt == TRIES - 1:
                    raise DataError(
                        f"{self.url} was there when it was indexed and cannot be read now ({describe(error)}): when it "
                        "can be, run the same command again. All answers so far are stored."
                    ) from error
                sleep(2**attempt / 4)
        for path, start, end, piece in zip(paths, starts, ends, pieces, strict=True):
            if len(piece) != end - start:
                raise DataError(
                    f"{path}: {len(piece):,} bytes came for the {end - start:,} bytes from {start:,}. The shard was "
                    "changed, or the server does not send ranges: copy the shards to one that does."
                )
        return pieces


def open_data(url: str, *, offline: bool) -> tuple[Any, str]:
    """Return the file system of a URL and the path on it. Raises DataError if it needs a connection and `offline`."""
    if offline and needs_connection(url):
        raise DataError(
            f"{url} is no local folder, and offline mode opens no connection: copy it, and give its folder."
        )
    return open_url(url, DataError)

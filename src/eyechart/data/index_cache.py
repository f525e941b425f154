"""Cache the indexes of data sets, so that images are hashed once and not in every run."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import cache as memoize
from hashlib import sha256
from os import sep
from pathlib import Path
from tempfile import NamedTemporaryFile

import msgspec

from eyechart.data.file_index import IndexEntry
from eyechart.errors import DataError

FORMAT = 1


def load_or_build(
    cache: Path | None, files: Iterable[Path], build: Callable[[], Sequence[IndexEntry]], *, reader: str
) -> Sequence[IndexEntry]:
    """Return the index of some files from the cache, or call `build` and cache its result.

    The key covers the path, size and modification time of every file, the name of the reader and the format. A corrupt
    entry is rebuilt. A cache folder that is not writable is ignored.
    """
    if cache is None:
        return build()
    path = cache / f"{_key(files, reader)}.json"
    entries = _read_entries(path)
    if entries is None:
        entries = build()
        with suppress(OSError):
            _write_entries(path, entries)
    return entries


def _key(files: Iterable[Path], reader: str) -> str:
    resolve_folder = memoize(Path.resolve)  # which costs more than anything else here, and is the same for many files

    def resolve(path: Path) -> str:
        return str(path.resolve()) if path.is_symlink() else f"{resolve_folder(path.parent)}{sep}{path.name}"

    stats = ((path, path.stat()) for path in files)
    try:
        facts = [(resolve(path), stat.st_size, stat.st_mtime_ns) for path, stat in stats]
    except OSError as error:
        raise DataError(f"{error.filename} cannot be read ({error.strerror}): copy it again, or remove it.") from error
    return sha256(msgspec.json.encode((FORMAT, reader, facts))).hexdigest()


def _read_entries(path: Path) -> Sequence[IndexEntry] | None:
    """Return the entries of a cache file, None if its checksum does not match."""
    try:
        checksum, _, body = path.read_bytes().partition(b"\n")
        if checksum.decode() != sha256(body).hexdigest():
            return None
        return msgspec.json.decode(body, type=tuple[IndexEntry, ...])
    except (OSError, UnicodeDecodeError, msgspec.DecodeError):
        return None


def _write_entries(path: Path, entries: Sequence[IndexEntry]) -> None:
    body = msgspec.json.encode(entries)
    path.parent.mkdir(parents=True, exist_ok=True)
    with NamedTemporaryFile(dir=path.parent, delete=False) as file:
        try:
            file.write(sha256(body).hexdigest().encode() + b"\n" + body)
            file.close()
            Path(file.name).replace(path)
        except OSError:
            Path(file.name).unlink(missing_ok=True)
            raise

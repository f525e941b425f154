"""The sha256 of weight files, cached across processes so that a file is read in full only once."""

import re
import time
from contextlib import suppress
from functools import cache
from hashlib import file_digest, sha256
from pathlib import Path
from tempfile import NamedTemporaryFile

import msgspec

BLOB = re.compile(r"[0-9a-f]{64}")
FRESH = 2_000_000_000  # nanoseconds before hashing in which a further write may leave the time of change as it is


class FileState(msgspec.Struct, frozen=True):
    """The state of a file that is known without reading it; any change invalidates a cached digest.

    A copy may keep size and date (`cp -p`, rsync), and only the time of the last change of its entry tells it.
    """

    path: str
    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int
    device: int


class _CachedDigest(msgspec.Struct, frozen=True):
    """A file's state when it was hashed, and its sha256."""

    state: FileState
    sha256: str


class _Folder:
    """The folder of cached digests; None: only this process."""

    path: Path | None = None


def set_digest_folder(folder: Path | None) -> None:
    """Cache digests in a folder that other processes read as well."""
    _Folder.path = folder


def digest_folder() -> Path | None:
    """Return the folder of cached digests, None if there is none."""
    return _Folder.path


def file_sha256(path: Path) -> str:
    """Return the sha256 of a file's bytes; the file is read only without a cached digest. Raises OSError.

    A file of the hub's cache is a link to a file in `blobs/` whose name is the sha256 of its bytes.
    """
    real = path.resolve(strict=True)
    if path.is_symlink() and real.parent.name == "blobs" and BLOB.fullmatch(real.name):
        return real.name
    return _digest(file_state(real), _Folder.path)


def file_state(path: Path) -> FileState:
    """Return the state of a file at a path without links. Raises OSError."""
    status = path.stat()
    return FileState(str(path), status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_dev)


@cache
def _digest(state: FileState, folder: Path | None) -> str:
    index = folder / f"{sha256(state.path.encode(errors='surrogateescape')).hexdigest()}.json" if folder else None
    if index and (digest := _kept(index, state)):
        return digest
    began = time.time_ns()
    digest = _read(Path(state.path))
    settled = state.mtime_ns < began - FRESH  # as git does: a file changed just now may change again unnoticed
    if index and settled and file_state(Path(state.path)) == state:
        with suppress(OSError):  # only time is lost
            _keep(index, _CachedDigest(state, digest))
    return digest


def _read(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def _kept(location: Path, state: FileState) -> str | None:
    try:
        cached = msgspec.json.decode(location.read_bytes(), type=_CachedDigest)
    except (OSError, msgspec.DecodeError):
        return None
    return cached.sha256 if cached.state == state and BLOB.fullmatch(cached.sha256) else None


def _keep(location: Path, kept: _CachedDigest) -> None:
    location.parent.mkdir(parents=True, exist_ok=True)
    with NamedTemporaryFile(dir=location.parent, delete=False) as file:
        try:
            file.write(msgspec.json.encode(kept))
            file.close()
            Path(file.name).replace(location)
        except OSError:
            Path(file.name).unlink(missing_ok=True)
            raise

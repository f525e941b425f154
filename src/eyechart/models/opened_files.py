"""The files that code of the user reads, as `sys.addaudithook` reports them.

Only files that Python opens are reported: the libraries of safetensors or ONNX open theirs themselves.
"""

import os
import sys
import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from sysconfig import get_paths
from types import FrameType

STANDARD_LIBRARY = Path(get_paths()["stdlib"]).resolve()
EYECHART = str(Path(__file__).parents[1])
SYSTEM = ("/proc/", "/sys/", "/etc/")
SECRETS = ("token", "stored_tokens", ".netrc", "netrc")  # of the hub; they are of a person, not of a model


class _Reading:
    """The files that some threads read and write while a context is entered."""

    def __init__(self) -> None:
        self.others = {thread.ident for thread in threading.enumerate()} - {threading.get_ident()}
        self.read: set[str] = set()
        self.written: set[str] = set()

    def hear(self, path: str, writes: bool) -> None:
        """Note a file that this thread, or one that was started since, opens."""
        if threading.get_ident() not in self.others:
            (self.written if writes else self.read).add(path)


class _Code:
    """The files that the code in some source files reads, whatever thread runs it, without the known ones."""

    def __init__(self, sources: Collection[str], known: Collection[str]) -> None:
        self.sources, self.known = frozenset(sources), frozenset(known)
        self.folders = tuple(f"{path}{os.sep}" for path in known if Path(path).is_dir())
        self.read: set[str] = set()

    def hear(self, path: str, writes: bool) -> None:
        """Note a file if the innermost frame of the user or of eyechart is the user's."""
        if writes or path in self.known or path in self.read or path.startswith(self.folders):
            return
        frame: FrameType | None = sys._getframe(2)
        while frame is not None:
            name = frame.f_code.co_filename
            if name in self.sources:
                if _is_of_a_model(path):
                    self.read.add(path)
                return
            if name.startswith(EYECHART):
                return
            frame = frame.f_back


_READINGS: list[_Reading] = []
_CODES: dict[str, _Code] = {}


@cache
def _listen() -> None:
    """Add the hook to this process, once: Python cannot remove one."""
    sys.addaudithook(_hear)


def _hear(event: str, arguments: tuple[object, ...]) -> None:
    if event != "open" or not (_READINGS or _CODES):
        return
    name, mode, flags = arguments
    if not isinstance(name, str | bytes | os.PathLike):
        return  # the number of an open file
    path = os.path.abspath(os.fsdecode(name))  # noqa: PTH100  # a Path costs more, and every file of the process is here
    access = flags & (os.O_WRONLY | os.O_RDWR) if isinstance(flags, int) else 0
    writes = any(letter in "wax+" for letter in mode) if isinstance(mode, str) else bool(access)
    for reading in (*_READINGS,):
        reading.hear(path, writes)
    if not _READINGS:
        for code in (*_CODES.values(),):
            code.hear(path, writes)


@contextmanager
def files_read(package: Path | None = None) -> Iterator[set[Path]]:
    """Collect the files that are read, and not written, until the context is left; the set is filled at its end.

    Args:
        package: The folder of an installed package whose files count, too.
    """
    _listen()
    reading, files = _Reading(), set[Path]()
    _READINGS.append(reading)
    try:
        yield files
    finally:
        _READINGS.remove(reading)
        names = reading.read - reading.written
        files |= {Path(name) for name in names if _is_of_a_model(name, package)}


def watch_code(name: str, sources: Collection[Path], known: Collection[Path]) -> set[str]:
    """Return the files that the code in some source files reads from now on; the set grows.

    Args:
        name: What the code is; it is watched once.
        sources: The source files.
        known: Files that are left out.
    """
    _listen()
    names = {str(known_file.absolute()) for known_file in known} | {str(known_file.resolve()) for known_file in known}
    _CODES[name] = _Code({str(path) for path in sources}, names)
    return _CODES[name].read


def _is_of_a_model(name: str, package: Path | None = None) -> bool:
    """Return whether a file may be a part of a model: no module of Python, library, system file or secret."""
    path = Path(name)
    if path.suffix == ".pyc" or path.name in SECRETS or name.startswith((*SYSTEM, EYECHART)) or not path.is_file():
        return False
    if path.suffix == ".py" and any(getattr(module, "__file__", None) == name for module in [*sys.modules.values()]):
        return False
    return not is_installed(path) or (package is not None and path.is_relative_to(package))


def is_installed(path: Path) -> bool:
    """Return whether a path is below the folder of the installed packages or of the standard library."""
    return not {"site-packages", "dist-packages"}.isdisjoint(path.parts) or path.is_relative_to(STANDARD_LIBRARY)


def is_user_file(name: str) -> bool:
    """Return whether a file of a frame is code of the user: no library, and no part of eyechart or of Python."""
    path = Path(name)
    return not (name.startswith("<") or path.is_relative_to(EYECHART) or is_installed(path))

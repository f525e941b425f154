"""What installed packages offer: their entry points, and small data files of heavy packages without an import."""

import importlib.util
import sys
from collections.abc import Callable
from functools import lru_cache
from importlib.metadata import EntryPoint, EntryPoints, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from eyechart.errors import DataError, SpecError
from eyechart.messages.install_commands import install_command


def find_entry_points(group: str) -> tuple[EntryPoint, ...]:
    """Return the entry points of a group by name, eyechart's own first."""
    found = _points(tuple((folder, _changed(folder)) for folder in sys.path))(group=group)
    return tuple(sorted(found, key=lambda point: (not is_own(point), point.name, point.value)))


@lru_cache(maxsize=1)
def _points(_folders: tuple[tuple[str, int], ...]) -> Callable[..., EntryPoints]:
    """Return what selects from the entry points of all packages in folders that changed at some times.

    A session asks for several groups, and Python reads the facts of every package for each.
    """
    return entry_points().select


def _changed(folder: str) -> int:
    """Return when an entry was last added to a folder or removed from it, 0 if there is no such folder."""
    try:
        return Path(folder or ".").stat().st_mtime_ns
    except OSError:
        return 0


def load_entry_point(point: EntryPoint) -> Any:
    """Return the object that an entry point names.

    Raises:
        SpecError: If it cannot be imported.
    """
    try:
        return point.load()
    except (ImportError, AttributeError) as error:
        package = f" of the package {point.dist.name}" if point.dist else ""
        raise SpecError(
            f"The entry point '{point.name}' of {point.group}{package} names {point.value}, which cannot be imported "
            f"({error}). Correct the entry point and install the package again, or uninstall it."
        ) from error


def describe_same_name(kind: str, name: str, first: str, second: str) -> str:
    """Return the message for two packages that register one name."""
    return f"Two packages register the {kind} '{name}': {first} and {second}. Uninstall one, or rename its entry point."


def is_own(point: EntryPoint) -> bool:
    """Return whether an entry point is one of eyechart itself."""
    return point.value.startswith("eyechart.")


def find_files(group: str, suffix: str) -> dict[str, Path]:
    """Return the files with a suffix in the packages that the entry points of a group name, by stem.

    Raises:
        DataError: If an entry point names no package, or if two packages have a file of one name.
    """
    by_stem: dict[str, Path] = {}
    for point in find_entry_points(group):
        for path in list_files(point, suffix):
            if path.stem in by_stem:
                raise DataError(
                    f"Two packages have a file '{path.stem}' of {group}: {by_stem[path.stem]} and {path}. "
                    "Uninstall one, or rename its file."
                )
            by_stem[path.stem] = path
    return by_stem


def list_files(point: EntryPoint, suffix: str) -> list[Path]:
    """Return the files with a suffix in the package that an entry point names, sorted; nothing is imported.

    Raises:
        DataError: If the entry point names no package.
    """
    root, *parts = point.value.split(".")
    spec = importlib.util.find_spec(root)
    folders = [Path(folder, *parts) for folder in (spec and spec.submodule_search_locations) or ()]
    folder = next((folder for folder in folders if folder.is_dir()), None)
    if folder is None:
        raise DataError(
            f"The entry point '{point.name}' of {point.group} names {point.value}, which is no package. Expected a "
            f"package whose folder has {suffix} files."
        )
    return sorted(folder.glob(f"*{suffix}"))


def packaged_file(package: str, *parts: str) -> Path:
    """Return the path of a file of an installed package without importing it."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise DataError(f"The package '{package}', which holds {'/'.join(parts)}, is not installed. {_remedy()}")
    path = Path(spec.submodule_search_locations[0], *parts)
    if not path.is_file():
        raise DataError(f"{path} is missing from the installed package '{package}'. {_remedy()}")
    return path


def packaged_module(package: str, name: str) -> ModuleType:
    """Import one module of an installed package without running the package's imports."""
    path = packaged_file(package, f"{name}.py")
    spec = importlib.util.spec_from_file_location(f"_eyechart_{package}_{name}", path)
    if spec is None or spec.loader is None:
        raise DataError(f"{path} cannot be read as a Python file. {_remedy()}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _remedy() -> str:
    return f"Install it with: {install_command('models')}"

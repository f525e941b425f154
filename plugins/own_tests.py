"""Names of the test functions of cases: a user's own test is part of the case's name, a packaged one is not."""

from collections.abc import Iterable
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

from eyechart.evaluation.settings import Case

from .case_ids import escaped

PACKAGE = "eyechart.benchmarks"
FUNCTIONS = pytest.StashKey[dict[tuple[str, str, str], str]]()  # node ids of functions by name, protocol and case


def test_name(item: pytest.Item) -> str:
    """Return the name of a test in its case, such as `test_own.py::test_it`.

    The name is "" for a packaged test without other parameters. It has no folder, since the folder in a node id depends
    on where pytest is started. It includes the parameters other than the case.
    """
    inner = item.nodeid.partition("::")[2]
    callspec = getattr(item, "callspec", None)
    parameters = ""
    if callspec is not None:
        inner = inner.removesuffix(f"[{callspec.id}]")
        parameters = callspec.id
        for value in callspec.params.values():
            if isinstance(value, Case):
                for name in (value.id, escaped(value.id)):
                    parameters = parameters.replace(name, "").strip("-")
    rest = f"[{parameters}]" if parameters else ""
    if is_packaged(item.path) and not rest:
        return ""
    return f"{item.path.name}::{inner}{rest}"


def is_packaged(path: Path) -> bool:
    """Return whether a file is a packaged benchmark, installed or in a clone."""
    return any(
        path.resolve().is_relative_to(home)
        or (path.parent.parent.name == home.name and (home / path.parent.name / path.name).is_file())
        for home in _benchmark_folders()
    )


@cache
def _benchmark_folders() -> tuple[Path, ...]:
    """Return the folders of the packaged benchmarks."""
    spec = find_spec(PACKAGE)
    return tuple(Path(home).resolve() for home in (spec.submodule_search_locations or ())) if spec else ()


def check_unique_names(config: pytest.Config, path: Path, nodeid: str, cases: Iterable[Case]) -> None:
    """Refuse a second test function of the same name, file name, protocol and case.

    The refusal is an error of the collection, so that it is shown once, with or without workers.
    """
    functions = config.stash.setdefault(FUNCTIONS, {})
    name = "" if is_packaged(path) else path.name
    for case in cases:
        key = (f"{name}::{nodeid.partition('::')[2]}", case.protocol, case.id)
        if (other := functions.setdefault(key, nodeid)) != nodeid:
            raise pytest.Collector.CollectError(
                f"{other} and {nodeid} have the same name and ask the same ({case.id}, {case.protocol}), so that their "
                "records could not be distinguished. Rename one of the functions or files."
            )

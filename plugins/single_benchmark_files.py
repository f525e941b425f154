"""A file of the user's own speaks of one benchmark's classes, and is not held against those of another."""

from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from eyechart.data.class_names import VOCABULARIES
from eyechart.protocol.settings import Settings

from .cases import find_case
from .settings import get_settings
from .workers import is_worker


def file_options(asked: Settings) -> Iterator[str]:
    """The options that give a file of class indices or of class names."""
    yield from (f"--eye-labels={one.name}={one.path}" for one in asked.labels)
    if asked.equivalences.removeprefix("strict:") not in ("12", "none"):
        yield f"--eye-equivalences={asked.equivalences}"
    if asked.names not in VOCABULARIES:
        yield f"--eye-names={asked.names}"


def check_single_benchmark(config: pytest.Config, ids: Iterable[str]) -> None:
    """Refuse a file where the cases selected are of several benchmarks."""
    found = sorted({case["benchmark"] for name in ids if (case := find_case(config, name))})
    given = next(file_options(get_settings(config)), None) if len(found) > 1 else None
    if given:
        raise pytest.UsageError(
            f"{given} is a file for the classes of one benchmark, and cases of {' and '.join(found)} are selected. "
            f"Choose one with {' or '.join(f'-k {name}/' for name in found)}"
        )


def pytest_collection_finish(session: pytest.Session) -> None:
    """Look at what `-k` left; a worker leaves the refusal to its controller, which says it once."""
    if not is_worker(session.config):
        check_single_benchmark(session.config, [item.nodeid for item in session.items])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_node_collection_finished(node: Any, ids: list[str]) -> None:
    """Look at what a worker found."""
    check_single_benchmark(node.config, ids)

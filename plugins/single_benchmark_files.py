"""A file of the user's own speaks of one benchmark's classes, and is not held against those of another."""

from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from eyechart.data.class_names import VOCABULARIES
from eyechart.protocol.settings import Settings

from .cases import find_case
from .settings import get_settings
from .workers import is_worker


def file_options(settings: Settings) -> Iterator[str]:
    """The options that give a file of class indices or of class names."""
    yield from (f"--eye-labels={labels.name}={labels.path}" for labels in settings.labels)
    if settings.equivalences.removeprefix("strict:") not in ("12", "none"):
        yield f"--eye-equivalences={settings.equivalences}"
    if settings.names not in VOCABULARIES:
        yield f"--eye-names={settings.names}"


def check_single_benchmark(config: pytest.Config, ids: Iterable[str]) -> None:
    """Refuse a file where the cases selected are of several benchmarks."""
    benchmarks = sorted({case["benchmark"] for name in ids if (case := find_case(config, name))})
    option = next(file_options(get_settings(config)), None) if len(benchmarks) > 1 else None
    if option:
        raise pytest.UsageError(
            f"{option} is a file for the classes of one benchmark, and cases of {' and '.join(benchmarks)} are "
            f"selected. Choose one with {' or '.join(f'-k {name}/' for name in benchmarks)}"
        )


def pytest_collection_finish(session: pytest.Session) -> None:
    """Look at what `-k` left; a worker leaves the refusal to its controller, which says it once."""
    if not is_worker(session.config):
        check_single_benchmark(session.config, [item.nodeid for item in session.items])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_node_collection_finished(node: Any, ids: list[str]) -> None:
    """Look at what a worker found."""
    check_single_benchmark(node.config, ids)

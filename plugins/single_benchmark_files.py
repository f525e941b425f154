"""Check of files with class indices or names: such a file is valid for the classes of one benchmark only."""

from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from eyechart.data.labels.class_names import VOCABULARIES
from eyechart.evaluation.settings import Settings

from .cases import find_case
from .settings import get_settings
from .workers import is_worker


def _file_options(settings: Settings) -> Iterator[str]:
    """Yield the options that name a file of class indices or class names."""
    yield from (f"--eye-labels={labels.name}={labels.path}" for labels in settings.labels)
    if settings.equivalences.removeprefix("strict:") not in ("12", "none"):
        yield f"--eye-equivalences={settings.equivalences}"
    if settings.names not in VOCABULARIES:
        yield f"--eye-names={settings.names}"


def _check_single_benchmark(config: pytest.Config, ids: Iterable[str]) -> None:
    """Refuse such a file if the selected cases are of several benchmarks."""
    benchmarks = sorted({case["benchmark"] for name in ids if (case := find_case(config, name))})
    option = next(_file_options(get_settings(config)), None) if len(benchmarks) > 1 else None
    if option:
        raise pytest.UsageError(
            f"{option} is a file for the classes of one benchmark, and cases of {' and '.join(benchmarks)} are "
            f"selected. Choose one with {' or '.join(f'-k {name}/' for name in benchmarks)}"
        )


def pytest_collection_finish(session: pytest.Session) -> None:
    """Check the selected cases; under pytest-xdist only the controller checks, so that the error is shown once."""
    if not is_worker(session.config):
        _check_single_benchmark(session.config, [item.nodeid for item in session.items])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_node_collection_finished(node: Any, ids: list[str]) -> None:
    """Check the cases that a worker collected."""
    _check_single_benchmark(node.config, ids)

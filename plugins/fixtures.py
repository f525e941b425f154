"""The fixtures of the plugin: settings, the run's folder, progress and the name of a test.

`eyechart.fixtures` requests them by name, since neither package imports the other.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:  # every pytest session imports this module
    from eyechart.evaluation.settings import Case, Settings
    from eyechart.gate.sequential.stop_early import SequentialTest

    from .activation import Activation


@pytest.fixture(scope="session")
def eye_settings(request: pytest.FixtureRequest) -> Settings:
    """Return the options as typed values."""
    from .settings import get_settings

    return get_settings(request.config)


@pytest.fixture(scope="session")
def eye_run(request: pytest.FixtureRequest) -> Path:
    """Return the run's folder. It is created when the first file is written."""
    return activation(request).folder


@pytest.fixture
def eye_test(request: pytest.FixtureRequest) -> str:
    """Return the name of a test that is not packaged, a part of its case's name; "" for a packaged test."""
    from .own_tests import test_name

    return test_name(request.node)


@pytest.fixture(scope="session")
def eye_progress(request: pytest.FixtureRequest) -> Callable[[str], Callable[[int, int, str], None]]:
    """Return a function that returns the progress function of a case."""
    activation(request).activate()
    progress: Any = request.config.pluginmanager.get_plugin("eyechart-progress")
    if progress is None:  # -p no:eyechart-progress
        return lambda _case: lambda _done, _total, _unit: None
    return progress.make_progress  # type: ignore[no-any-return]


@pytest.fixture(scope="session")
def eye_sequential(request: pytest.FixtureRequest) -> Callable[[Case], SequentialTest | None]:
    """Return a function that returns the test which decides how many images of a case are asked."""
    activation(request).activate()
    sequential: Any = request.config.pluginmanager.get_plugin("eyechart-sequential")
    return sequential.find_test  # type: ignore[no-any-return]


def activation(request: pytest.FixtureRequest) -> Activation:
    """Return the registered `Activation` of the session."""
    part: Any = request.config.pluginmanager.get_plugin("eyechart-activation")
    return part  # type: ignore[no-any-return]

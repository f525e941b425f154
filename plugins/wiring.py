"""What the fixtures get from the plugin, by name: the two surfaces never import one another."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eyechart.protocol.settings import Settings

from .own_tests import name_of
from .settings import settings


@pytest.fixture(scope="session")
def eye_settings(request: pytest.FixtureRequest) -> Settings:
    """The options as typed values."""
    return settings(request.config)


@pytest.fixture(scope="session")
def eye_run(request: pytest.FixtureRequest) -> Path:
    """The run's folder, made when something is written into it."""
    return part(request, "recorder").folder  # type: ignore[no-any-return]


@pytest.fixture
def eye_test(request: pytest.FixtureRequest) -> str:
    """The name of a test that is not packaged, which belongs to its case."""
    return name_of(request.node)


@pytest.fixture(scope="session")
def eye_progress(request: pytest.FixtureRequest) -> Callable[[str], Callable[[int, int, str], None]]:
    """Make a progress function for a case by name."""
    return part(request, "progress").of_case  # type: ignore[no-any-return]


def part(request: pytest.FixtureRequest, name: str) -> Any:
    """A part of the plugin, as it was registered."""
    return request.config.pluginmanager.get_plugin(f"eyechart-{name}")

"""The pytest plugin.

Every pytest session in an environment with eyechart imports this module, so it imports nothing slow. `registration`
registers the parts that sessions with benchmarks need; `activation` decides when they are needed.
"""

from unicodedata import combining, normalize

import pytest

from . import options
from .activation import Activation


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the group of `--eye-…` options."""
    options.add_options(parser)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config, args: list[str]) -> None:
    """Refuse a misspelled option and suggest the nearest name; pytest itself would suggest none."""
    options.check_spelling(early_config, args)


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker, the fixtures, and the part that activates the rest of the plugin."""
    config.addinivalue_line(
        "markers",
        "eyechart(*benchmarks, protocol): one case for every split of these × every model; without names, of the "
        "protocol's benchmarks",
    )
    if any(map(combining, config.option.keyword)):  # as macOS completes names; pytest refuses marks without a letter
        config.option.keyword = normalize("NFC", config.option.keyword)
    manager = config.pluginmanager
    manager.import_plugin("eyechart.fixtures")
    manager.register(activation := Activation(config), "eyechart-activation")
    if options.has_any_option(config):
        activation.activate()

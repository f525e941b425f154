"""The pytest plugin: options, cases, one scheduler, a recorder, progress and a summary."""

import os

import pytest

from . import cases, endings, junit, one_benchmark, options, settings, wiring
from .briefing import Briefing
from .endings import Endings
from .gate import Gate
from .missing_cases import MissingCases
from .progress import Progress
from .recorder import Recorder, is_worker
from .selection import Selection
from .summary import Summary

OFFLINE = ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TRANSFORMERS_OFFLINE")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the group of `--eye-…` options."""
    options.add(parser)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config, args: list[str]) -> None:
    """Answer a typo in an option before pytest refuses it without a hint."""
    options.refuse_typos(early_config, args)


def pytest_configure(config: pytest.Config) -> None:
    """Wire the parts and the fixtures by name."""
    config.addinivalue_line("markers", "eyechart(*names, protocol): one case for every split of these × every model")
    manager = config.pluginmanager
    if not is_worker(config):
        settings.check(config)
    if settings.settings(config).offline:
        os.environ.update(dict.fromkeys(OFFLINE, "1"))  # read by these libraries when they are imported
    recorder = Recorder(config)
    manager.register(cases, "eyechart-cases")
    manager.register(one_benchmark, "eyechart-one-benchmark")
    manager.register(Selection(config), "eyechart-selection")
    manager.register(wiring, "eyechart-wiring")
    manager.register(recorder, "eyechart-recorder")
    manager.register(Progress(config, recorder), "eyechart-progress")
    manager.register(Summary(recorder), "eyechart-summary")
    manager.register(endings, "eyechart-endings")
    # The hooks of the session's end run in the reverse order: the gate, missing cases, then the exit status.
    manager.register(ending := Endings(), "eyechart-ending")
    gate = Gate(config, recorder)
    manager.register(MissingCases(config, gate, ending), "eyechart-missing-cases")
    manager.register(gate, "eyechart-gate")
    manager.register(Briefing(config, gate), "eyechart-briefing")
    manager.register(junit, "eyechart-junit")
    if manager.hasplugin("xdist"):
        from .scheduling import Scheduling

        manager.register(Scheduling(recorder), "eyechart-scheduling")
    manager.import_plugin("eyechart.fixtures")

"""Activation of the plugin: by an option of eyechart, or by the first test that uses one of its fixtures.

Before the activation, a session has loaded only the options and the declarations of fixtures. A controller of
pytest-xdist collects no tests; it decides from the ids that a worker collected.
"""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from eyechart.files.folders import run_name

from . import options
from .workers import RUN, sent_by_worker


class Activation:
    """Imports and registers the rest of the plugin when it is needed."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.started = time.time()
        self.active = False
        here = config.invocation_params.dir
        run_folder = getattr(config, "workerinput", {}).get(RUN)
        self.folder = Path(run_folder) if run_folder else here / options.get_option(config, "out") / run_name()

    def activate(self) -> None:
        """Register the rest of the plugin, once."""
        if not self.active:
            from eyechart.models.runtime.device import let_waiting_threads_sleep

            let_waiting_threads_sleep()  # before NumPy is imported, which reads how
            from .registration import register

            register(self.config, self.folder, self.started)
            self.active = True

    def activate_in(self, hook: str, **arguments: object) -> None:
        """Activate during a call of a hook, and call the hook for the parts that were registered during this call."""
        manager = self.config.pluginmanager
        earlier = manager.get_plugins()
        try:
            self.activate()
        except pytest.UsageError as error:
            raise pytest.Collector.CollectError(str(error)) from error
        manager.subset_hook_caller(hook, earlier)(**arguments)

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Activate for a test that uses a fixture of eyechart, directly or through other fixtures."""
        if not self.active and options.needs_plugin(metafunc.fixturenames):
            self.activate_in("pytest_generate_tests", metafunc=metafunc)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Send the path of the run's folder to a worker."""
        node.workerinput[RUN] = str(self.folder)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> object:
        """Return a scheduler that groups cases by model, None if the user chose another distribution."""
        if config.getvalue("dist") != "load":
            return None
        return _CaseAwareScheduling(self, config, log)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: Any, ids: Sequence[str]) -> None:
        """Activate on the controller if a worker collected a case."""
        from .case_ids import case_pattern

        if not self.active and any(map(case_pattern(()).search, ids)):
            self.activate_in("pytest_xdist_node_collection_finished", node=node, ids=ids)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        """Activate on the controller if a worker was active, even if all of its cases were deselected."""
        if not self.active and sent_by_worker(node, RUN):
            self.activate_in("pytest_testnodedown", node=node, error=error)


class _CaseAwareScheduling:
    """Schedules by model if the first worker that finishes its collection has cases, otherwise as pytest-xdist does."""

    def __init__(self, activation: Activation, config: pytest.Config, log: Any) -> None:
        from xdist.scheduler import LoadScheduling

        self.activation = activation
        self.scheduling = LoadScheduling(config, log)
        self.decided = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self.scheduling, name)

    def add_node_collection(self, node: Any, collection: Sequence[str]) -> None:
        """Add the tests that a worker collected; the first collection decides on the scheduling."""
        if self.activation.active and not self.decided:
            from .scheduling import schedule_by_model

            self.scheduling = schedule_by_model(self.scheduling, collection)
        self.decided = True
        self.scheduling.add_node_collection(node, collection)

"""One worker a model under pytest-xdist, so that each model is loaded once. Correctness rests on the store's lock."""

import re
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

from .recorder import Recorder

CASE = re.compile(r"\[[\w.-]+/[\w.-]+/(?P<model>.+)\]$")


class ModelScheduling(LoadScopeScheduling):  # type: ignore[misc]
    """Sends all cases of a model to one worker; any other test is a scope of its own."""

    def _split_scope(self, nodeid: str) -> str:
        found = CASE.search(nodeid)
        return f"model {found['model']}" if found else nodeid


class Scheduling:
    """The hooks that pytest-xdist adds."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder

    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> ModelScheduling | None:
        """Schedule by model unless the user chose another distribution."""
        return ModelScheduling(config, log) if config.getvalue("dist") == "load" else None

    def pytest_configure_node(self, node: Any) -> None:
        """Tell a worker where the run's folder is."""
        node.workerinput["eyechart_run"] = str(self.recorder.folder)

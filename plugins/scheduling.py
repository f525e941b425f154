"""One worker a model under pytest-xdist, so that each model is loaded once. Correctness rests on the store's lock."""

from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

from .cases import find_case
from .recorder import Recorder


class ModelScheduling(LoadScopeScheduling):  # type: ignore[misc]
    """Sends all cases of a model to one worker; any other test is a scope of its own."""

    def _split_scope(self, nodeid: str) -> str:
        found = find_case(self.config, nodeid)
        return f"model {found['model']}" if found else nodeid

    def remove_node(self, node: Any) -> str | None:
        """Give a dead worker's tests to others, but for those that are done and the one that it died of.

        The scheduler underneath runs that one again, on one worker after the other, and waits forever for a worker
        whose share of the work is done already.
        """
        left = pending(self.assigned_work[node])
        died_of = next((nodeid for tests in left.values() for nodeid in tests), None)
        self.assigned_work[node] = pending(left, but=died_of)
        super().remove_node(node)
        return died_of


def pending(work: dict[str, dict[str, bool]], but: str | None = None) -> dict[str, dict[str, bool]]:
    """The scopes and tests that are still to be run."""
    left = {
        scope: dict.fromkeys((nodeid for nodeid, done in tests.items() if not done and nodeid != but), False)
        for scope, tests in work.items()
    }
    return {scope: tests for scope, tests in left.items() if tests}


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

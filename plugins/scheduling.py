"""Scheduling under pytest-xdist: one worker for each model, so that each model is loaded once.

Correct results do not depend on it: the store has a lock.
"""

from collections.abc import Sequence
from typing import Any

from xdist.scheduler import LoadScheduling, LoadScopeScheduling

from .cases import find_case


class ModelScheduling(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """Sends all cases of a model to one worker; any other test has its own scope."""

    def _split_scope(self, nodeid: str) -> str:
        case = find_case(self.config, nodeid)
        return f"model {case['model']}" if case else nodeid

    def remove_node(self, node: Any) -> str | None:
        """Assign the pending tests of a crashed worker to others, without the test that crashed it. Return this test.

        The base class would run this test again on every worker, and wait forever for a worker without pending tests.
        """
        left = pending(self.assigned_work[node])
        died_of = next((nodeid for tests in left.values() for nodeid in tests), None)
        self.assigned_work[node] = pending(left, but=died_of)
        super().remove_node(node)
        return died_of


def schedule_by_model(scheduling: LoadScheduling, tests: Sequence[str]) -> LoadScheduling | ModelScheduling:
    """Return a scheduler by model with the workers of `scheduling` if a test is a case, else `scheduling`."""
    if not any(find_case(scheduling.config, nodeid) for nodeid in tests):
        return scheduling
    by_model = ModelScheduling(scheduling.config, scheduling.log)
    for node in scheduling.nodes:
        by_model.add_node(node)
    return by_model


def pending(work: dict[str, dict[str, bool]], but: str | None = None) -> dict[str, dict[str, bool]]:
    """Return the scopes with the tests that are not done, without the test `but`."""
    left = {
        scope: dict.fromkeys((nodeid for nodeid, done in tests.items() if not done and nodeid != but), False)
        for scope, tests in work.items()
    }
    return {scope: tests for scope, tests in left.items() if tests}

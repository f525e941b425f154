"""One worker a model under pytest-xdist, so that each model is loaded once. Correctness rests on the store's lock."""

from collections.abc import Sequence
from typing import Any

from xdist.scheduler import LoadScheduling, LoadScopeScheduling

from .cases import find_case


class ModelScheduling(LoadScopeScheduling):  # type: ignore[misc]
    """Sends all cases of a model to one worker; any other test is a scope of its own."""

    def _split_scope(self, nodeid: str) -> str:
        case = find_case(self.config, nodeid)
        return f"model {case['model']}" if case else nodeid

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


def schedule_by_model(scheduling: LoadScheduling, tests: Sequence[str]) -> LoadScheduling | ModelScheduling:
    """Return a scheduler by model for the workers of another one if there is a case among the tests, else that one."""
    if not any(find_case(scheduling.config, nodeid) for nodeid in tests):
        return scheduling
    by_model = ModelScheduling(scheduling.config, scheduling.log)
    for node in scheduling.nodes:
        by_model.add_node(node)
    return by_model


def pending(work: dict[str, dict[str, bool]], but: str | None = None) -> dict[str, dict[str, bool]]:
    """The scopes and tests that are still to be run."""
    left = {
        scope: dict.fromkeys((nodeid for nodeid, done in tests.items() if not done and nodeid != but), False)
        for scope, tests in work.items()
    }
    return {scope: tests for scope, tests in left.items() if tests}

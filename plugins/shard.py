"""`--eye-shard=3/16`: one of several jobs that divide the cases among themselves."""

import pytest

from eyechart.plurals import count_of

from .settings import Shard


class ShardOfCases:
    """Keeps the tests of one shard: a stretch of the sorted tests, so that a model is in as few shards as possible."""

    def __init__(self, shard: Shard) -> None:
        self.shard = shard
        self.count = self.total = 0

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Deselect the tests of other shards, after -k and -m."""
        kept = self.shard.places(len(items))
        others = [item for place, item in enumerate(items) if place not in kept]
        self.count, self.total = len(kept), len(items)
        items[:] = [items[place] for place in kept]
        if others:
            config.hook.pytest_deselected(items=others)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """A shard without tests is no error if the others have some."""
        if self.total and not self.count and session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
            session.exitstatus = pytest.ExitCode.OK

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print how many tests the shard has."""
        if self.total:
            tests = f"{self.count} of {count_of(self.total, 'test')}"
            terminalreporter.write_line(f"eyechart: shard {self.shard} has {tests}")

"""`--eye-shard=3/16`: one of several jobs that divide the cases among themselves."""

import re
from dataclasses import dataclass

import pytest

from eyechart.messages.plurals import count_of

from .cases import get_case
from .options import get_option


@dataclass(frozen=True)
class _Shard:
    """One of several jobs that divide tests among themselves, numbered from 1."""

    number: int
    count: int

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"

    def indices(self, total: int) -> range:
        """Return the indices of the tests of this job among all of them.

        >>> [list(_Shard(number, 3).indices(4)) for number in (1, 2, 3)]
        [[0], [1], [2, 3]]
        """
        return range((self.number - 1) * total // self.count, self.number * total // self.count)


def read_shard(config: pytest.Config) -> _Shard | None:
    """Return the shard of `--eye-shard`, None without it."""
    if not (text := str(get_option(config, "shard"))):
        return None
    match = re.fullmatch(r"(\d+)/(\d+)", text)
    if not match or not 1 <= int(match[1]) <= int(match[2]):
        raise pytest.UsageError(
            f"--eye-shard={text}: expected K/N, where K is from 1 to N, such as 3/16 for the third of 16 jobs."
        )
    for name in ("baseline", "update-baseline"):
        if get_option(config, name):
            raise pytest.UsageError(
                f"--eye-shard has a part of the cases. Leave out --eye-{name}, merge the stores of all shards, and "
                "compare in a run of all cases."
            )
    return _Shard(int(match[1]), int(match[2]))


class ShardOfCases:
    """Keeps the tests of one shard: a stretch of all tests by model and name, so that few shards load the same model.

    The order in which a job collects tests does not matter, nor that of its models.
    """

    def __init__(self, shard: _Shard) -> None:
        self.shard = shard
        self.count = self.total = 0

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Deselect the tests of other shards, after -k and -m."""
        ordered = sorted(items, key=_model_and_name)
        kept = {id(ordered[index]) for index in self.shard.indices(len(items))}
        others = [item for item in items if id(item) not in kept]
        self.count, self.total = len(kept), len(items)
        items[:] = [item for item in items if id(item) in kept]
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


def _model_and_name(item: pytest.Item) -> tuple[str, str]:
    """Return the model of a case, "" for any other test, and the name of the test."""
    case = get_case(item)
    return case.model.name if case else "", item.nodeid

"""Suggestions for a `-k` expression that selects no case, or names a protocol that a model has no case of."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from eyechart.messages.plurals import count_of
from eyechart.messages.suggestions import did_you_mean
from eyechart.models.registry import capabilities, scoring_obstacle
from eyechart.models.spec import ModelSpec
from eyechart.protocol.registry import get_protocol, protocol_targets

from .cases import HAS_BENCHMARK, get_case, split_names
from .settings import get_settings
from .workers import is_worker

WORD = re.compile(r"[^\s()]+")
OPERATORS = ("and", "or", "not")
EXCLUDED = re.compile(r"\bnot\s+[^\s()]+")
LEFT_OUT = "eyechart_deselected"
MAX_LISTED = 8


class KeywordSuggestions:
    """Collects the ids of the deselected cases, and prints the suggestions."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.deselected: list[str] = []

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        """Store the ids of deselected cases."""
        self.deselected += [item.nodeid for item in items if get_case(item)]

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        """Send the ids from a worker to the controller, which does not collect."""
        if is_worker(self.config):
            self.config.workeroutput[LEFT_OUT] = self.deselected  # type: ignore[attr-defined]

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Read the deselected ids of a worker; every worker collects the same."""
        self.deselected = getattr(node, "workeroutput", {}).get(LEFT_OUT, self.deselected)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter, exitstatus: int) -> None:
        """Print why models have no case of a protocol in `-k`, and the nearest splits if `-k` selected no case."""
        keyword = self.config.getoption("keyword")
        if keyword and self.config.stash.get(HAS_BENCHMARK, bool(self.deselected)):
            for line in _explain_missing_scores(keyword, get_settings(self.config).models):
                terminalreporter.write_line(line)
        if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and keyword and self.deselected:
            terminalreporter.write_line(suggest_names(keyword, self.deselected, self.splits))

    @property
    def splits(self) -> list[str]:
        """The names of all available splits."""
        return split_names(self.config)


def suggest_names(keyword: str, cases: Sequence[str], splits: Sequence[str]) -> str:
    """Return a sentence on a `-k` expression that selects no case, with the nearest names for its unknown words.

    >>> suggest_names("imagenet/vla", ["test_knn[imagenet/val/knn[a]]"], ["imagenet/val"])
    "eyechart: -k 'imagenet/vla' selects none of 1 case; did you mean imagenet/val or imagenet/? Splits: imagenet/val."
    """
    words = [word for word in WORD.findall(keyword) if word not in OPERATORS]
    unknown = [word for word in words if not any(word.casefold() in case.casefold() for case in cases)]
    names = [*splits, *dict.fromkeys(f"{split.partition('/')[0]}/" for split in splits)]
    near = next((hint for word in unknown if (hint := did_you_mean(word, names)) != "."), ".")
    more = f" and {len(splits) - MAX_LISTED} more" if len(splits) > MAX_LISTED else ""
    count = count_of(len(cases), "case")
    line = f"eyechart: -k '{keyword}' selects none of {count}{near} Splits: {', '.join(splits[:MAX_LISTED])}{more}."
    own = [word for word in unknown if not protocol_targets().get(word, "eyechart.").startswith("eyechart.")]
    return line + "".join(f" No test function that was collected has the protocol {name}." for name in own)


def _explain_missing_scores(keyword: str, models: Sequence[ModelSpec]) -> Iterator[str]:
    """Yield a sentence for each model that has no case of a protocol in a `-k` expression, for want of scores.

    >>> from eyechart.models.spec import parse_spec
    >>> (line,) = _explain_missing_scores("posterior and not species", [parse_spec("anthropic[claude-opus-4-5]")])
    >>> line.partition(": its API")[0]
    "eyechart: no case of posterior: 'anthropic[claude-opus-4-5]' has no log-probabilities of given answers"
    """
    words = {word.removeprefix("test_") for word in WORD.findall(EXCLUDED.sub("", keyword))}
    requested = [name for name in protocol_targets() if name in words and "scorer" in get_protocol(name).requires]
    for model in models:
        missing = [name for name in requested if not get_protocol(name).supports(capabilities(model))]
        if missing and (why := scoring_obstacle(model)):
            yield f"eyechart: no case of {', '.join(missing)}: {why}"

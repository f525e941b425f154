"""Cases that a preset leaves out: they are deselected, and the end of the terminal says which, and how to run them."""

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import pytest

from eyechart.plurals import count_of
from eyechart.protocol.presets import Preset, read_preset

from .cases import get_case
from .options import get_option
from .settings import get_preset
from .workers import is_worker

LEFT_OUT = "eyechart_left_out"  # the key in the output of a worker


class LeftOutByPreset:
    """Deselects the cases of splits that the preset leaves out of a protocol."""

    def __init__(self, config: pytest.Config) -> None:
        self.config, self.preset = config, get_preset(config)
        self.cases: list[tuple[str, str]] = []
        self.protocols: set[str] = set()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Deselect cases that nothing else deselected, and store their protocols and splits."""
        kept, left = [], []
        for item in items:
            case = get_case(item)
            if case:
                self.protocols.add(case.protocol)
            if case and case.whole_split in self.preset.left_out.get(case.protocol, ()):
                left.append(item)
                self.cases.append((case.protocol, case.whole_split))
            else:
                kept.append(item)
        if left:
            items[:] = kept
            self.config.hook.pytest_deselected(items=left)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        """Send what was found from a worker to the controller, which does not collect."""
        if is_worker(self.config):
            self.config.workeroutput[LEFT_OUT] = (self.cases, [*self.protocols])  # type: ignore[attr-defined]

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Read what a worker found; every worker collects the same."""
        self.cases, self.protocols = getattr(node, "workeroutput", {}).get(LEFT_OUT, (self.cases, self.protocols))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print what was left out, and the option that runs it."""
        name = get_option(self.config, "preset")
        if parts := [*describe_cases(self.cases), *describe_settings(self.preset, self.protocols)]:
            everything = f": --eye-preset={self.preset.whole} runs everything" if self.preset.whole else ""
            terminalreporter.write_line(f"the preset {name} has {', '.join(parts)}{everything}")


def describe_cases(cases: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield the number of cases that were left out, with their protocols and splits.

    >>> [*describe_cases([("mcq", "toybox/a"), ("mcq", "toybox/b"), ("posterior", "toybox/a")])]
    ['left out 3 cases (mcq, posterior of toybox/a, toybox/b)']
    """
    if cases:
        protocols, splits = ({*names} for names in zip(*cases, strict=True))
        yield f"left out {count_of(len(cases), 'case')} ({', '.join(sorted(protocols))} of {', '.join(sorted(splits))})"


def describe_settings(preset: Preset, protocols: Collection[str]) -> Iterator[str]:
    """Yield the settings of a preset for some protocols that the preset of the whole does not have."""
    if preset.whole:
        whole = read_preset(preset.whole).settings
        for setting in preset.settings:
            if setting not in whole and setting.protocol in protocols:
                yield f"set {setting.protocol}.{setting.option}={setting.values}"

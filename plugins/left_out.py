"""Cases that are left out by a preset, or as training data: the terminal says which, and how to run them."""

from collections.abc import Collection, Iterator
from typing import Any

import pytest

from eyechart.evaluation.presets import Preset, read_preset
from eyechart.messages.plurals import count_of

from .cases import get_case
from .options import get_option
from .settings import get_preset
from .workers import is_worker

LEFT_OUT, LEFT_OUT_TRAINING = "eyechart_left_out", "eyechart_left_out_training"  # keys in the output of a worker
TRAINING = frozenset({"train", "training", "trainval", "train_val", "trn"})  # names of splits


class LeftOutByPreset:
    """Deselects the cases of splits that the preset leaves out of a protocol."""

    def __init__(self, config: pytest.Config) -> None:
        self.config, self.preset = config, get_preset(config)
        self.left = self.kept = 0
        self.protocols: set[str] = set()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Deselect cases that nothing else deselected, and count them and the others."""
        kept, left = [], []
        for item in items:
            case = get_case(item)
            if case:
                self.protocols.add(case.protocol)
            if case and case.whole_split in self.preset.left_out.get(case.protocol, ()):
                left.append(item)
            else:
                kept.append(item)
                self.kept += case is not None
        self.left = len(left)
        if left:
            items[:] = kept
            self.config.hook.pytest_deselected(items=left)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        """Send what was found from a worker to the controller, which does not collect."""
        if is_worker(self.config):
            self.config.workeroutput[LEFT_OUT] = (self.left, self.kept, [*self.protocols])  # type: ignore[attr-defined]

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Read what a worker found; every worker collects the same."""
        counts = getattr(node, "workeroutput", {}).get(LEFT_OUT, (self.left, self.kept, self.protocols))
        self.left, self.kept, self.protocols = counts

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print how much was left out, and the option that runs it."""
        name = get_option(self.config, "preset")
        if parts := [*describe_count(self.left, self.kept), *_describe_settings(self.preset, self.protocols)]:
            everything = f": --eye-preset={self.preset.whole} runs everything" if self.preset.whole else ""
            terminalreporter.write_line(f"the preset {name} has {', '.join(parts)}{everything}")


class LeftOutTraining:
    """Deselects splits that are called `train` beside other splits of their benchmark, unless they are named.

    They are named by `-k` or by the id of a case. `-k pets/` names a benchmark: it selects what models are tested on.
    """

    def __init__(self, config: pytest.Config) -> None:
        self.config, self.splits = config, list[str]()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Deselect cases that nothing else deselected."""
        cases = {item: case for item in items if (case := get_case(item))}
        tested = {case.benchmark for case in cases.values() if case.split.casefold() not in TRAINING}
        named = " ".join([self.config.getoption("keyword"), *(arg.partition("::")[2] for arg in self.config.args)])
        left = {
            item: case.whole_split
            for item, case in cases.items()
            if case.split.casefold() in TRAINING and case.benchmark in tested and case.split not in named
        }
        self.splits = sorted({*left.values()})
        if left:
            items[:] = [item for item in items if item not in left]
            self.config.hook.pytest_deselected(items=[*left])

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        """Send what was left out from a worker to the controller, which does not collect."""
        if is_worker(self.config):
            self.config.workeroutput[LEFT_OUT_TRAINING] = self.splits  # type: ignore[attr-defined]

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Read what a worker left out; every worker collects the same."""
        self.splits = getattr(node, "workeroutput", {}).get(LEFT_OUT_TRAINING, self.splits)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print which splits were left out, and how to evaluate them."""
        if self.splits:
            terminalreporter.write_line(
                f"eyechart: left out as training data: {', '.join(self.splits)}; -k {self.splits[0]} evaluates it"
            )


def describe_count(left: int, kept: int) -> Iterator[str]:
    """Yield the number of cases that were left out, and of all.

    >>> [*describe_count(3, 9)]
    ['left out 3 of 12 cases']
    """
    if left:
        yield f"left out {left} of {count_of(left + kept, 'case')}"


def _describe_settings(preset: Preset, protocols: Collection[str]) -> Iterator[str]:
    """Yield the settings of a preset for some protocols that the preset of the whole does not have."""
    if preset.whole:
        whole = read_preset(preset.whole).settings
        for setting in preset.settings:
            if setting not in whole and setting.protocol in protocols:
                yield f"set {setting.protocol}.{setting.option}={setting.values}"

"""Cases that are left out by a preset, as training data, or by `-k`: the terminal says which, and how to run them."""

import re
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import pytest

from eyechart.evaluation.presets import Preset, read_preset
from eyechart.messages.plurals import count_of
from eyechart.messages.suggestions import did_you_mean
from eyechart.models.registry import capabilities, scoring_obstacle
from eyechart.models.spec import ModelSpec
from eyechart.protocol.registry import get_protocol, protocol_modules

from .cases import HAS_BENCHMARK, get_case, split_names
from .options import get_option
from .settings import get_preset, get_settings
from .workers import send_to_controller, sent_by_worker

# Keys in the output of a worker:
LEFT_OUT, LEFT_OUT_TRAINING, DESELECTED = "eyechart_left_out", "eyechart_left_out_training", "eyechart_deselected"
TRAINING = frozenset({"train", "training", "trainval", "train_val", "trn"})  # names of splits
WORD = re.compile(r"[^\s()]+")
OPERATORS = ("and", "or", "not")
EXCLUDED = re.compile(r"\bnot\s+[^\s()]+")
MAX_LISTED = 8


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
            if case and case.whole_split in self.preset.splits_left_out(case.protocol):
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
        send_to_controller(self.config, LEFT_OUT, (self.left, self.kept, [*self.protocols]))

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Read what a worker found; every worker collects the same."""
        if counts := sent_by_worker(node, LEFT_OUT):
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
        send_to_controller(self.config, LEFT_OUT_TRAINING, self.splits)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Read what a worker left out; every worker collects the same."""
        self.splits = sent_by_worker(node, LEFT_OUT_TRAINING) or self.splits

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


class KeywordSuggestions:
    """Prints suggestions for a `-k` that selects no case, or names a protocol that a model has no case of.

    Cases that `-k` selected may be left out as `training` data or by the `preset`, which these parts print.
    """

    def __init__(self, config: pytest.Config, training: LeftOutTraining, preset: LeftOutByPreset) -> None:
        self.config, self.training, self.preset = config, training, preset
        self.deselected: list[str] = []

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        """Store the ids of deselected cases."""
        self.deselected += [item.nodeid for item in items if get_case(item)]

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        """Send the ids from a worker to the controller, which does not collect."""
        send_to_controller(self.config, DESELECTED, self.deselected)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Read the deselected ids of a worker; every worker collects the same."""
        self.deselected = sent_by_worker(node, DESELECTED) or self.deselected

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter, exitstatus: int) -> None:
        """Print why models have no case of a protocol in `-k`, and the nearest splits if `-k` selected no case."""
        keyword = self.config.getoption("keyword")
        if keyword and self.config.stash.get(HAS_BENCHMARK, bool(self.deselected)):
            for line in _explain_missing_scores(keyword, get_settings(self.config).models):
                terminalreporter.write_line(line)
        selected = self.training.splits or self.preset.left
        if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and keyword and self.deselected and not selected:
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
    own = [word for word in unknown if not protocol_modules().get(word, "eyechart.").startswith("eyechart.")]
    return line + "".join(f" No test function that was collected has the protocol {name}." for name in own)


def _explain_missing_scores(keyword: str, models: Sequence[ModelSpec]) -> Iterator[str]:
    """Yield a sentence for each model that has no case of a protocol in a `-k` expression, for want of scores.

    >>> from eyechart.models.spec import parse_spec
    >>> (line,) = _explain_missing_scores("posterior and not species", [parse_spec("anthropic[claude-opus-4-5]")])
    >>> line.partition(": its API")[0]
    "eyechart: no case of posterior: 'anthropic[claude-opus-4-5]' has no log-probabilities of given answers"
    """
    words = {word.removeprefix("test_") for word in WORD.findall(EXCLUDED.sub("", keyword))}
    requested = [name for name in protocol_modules() if name in words and "scorer" in get_protocol(name).requires]
    for model in models:
        missing = [name for name in requested if not get_protocol(name).supports(capabilities(model))]
        if missing and (why := scoring_obstacle(model)):
            yield f"eyechart: no case of {', '.join(missing)}: {why}"

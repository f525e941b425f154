"""Cases of the baseline without a test in the session, because a split, model or test was removed or renamed.

A collected case is run, skipped with a reason, or deselected. A case that was not collected is missing, unless the
command line excludes it.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from unicodedata import normalize

import pytest
from _pytest.mark.expression import Expression

from eyechart.data.splits.registry import packaged_benchmarks
from eyechart.gate.session.gate_status import ABSENT
from eyechart.messages.plurals import count_of
from eyechart.results.evidence import Evidence

from .case_ids import spellings
from .cases import ANY, get_case, get_marker, split_names
from .exit_codes import ExitCodes
from .gate import Gate
from .options import get_option
from .own_tests import is_packaged
from .settings import get_settings
from .workers import is_worker

COLLECTED = "eyechart_collected"
OWN_TEST = re.compile(r"[@,]test=(?P<test>[^,\[]+::[^\[]+)(?:\[.*\])?$")
MAX_LISTED = 8
DONE = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED)
REMEDY = "Restore it, or delete it from the baseline."


class MissingCases:
    """Reports the cases of the baseline that were not collected; under `--eye-strict` they count as missing data."""

    def __init__(self, config: pytest.Config, gate: Gate, exit_codes: ExitCodes) -> None:
        self.config, self.gate, self.exit_codes = config, gate, exit_codes
        self.functions: list[dict[str, Any]] = []
        self.cases: list[tuple[str, str]] = []
        self.is_complete = not getattr(config.option, "numprocesses", None)  # a controller waits for a worker

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Store the test functions that request cases, with the names and marks that `-k` and `-m` match."""
        marker = get_marker(metafunc.definition)
        if marker is not None:
            item = metafunc.definition
            marks = [mark.name for mark in item.iter_markers()]
            names = [node.name for node in item.listchain() if not isinstance(node, pytest.Directory | pytest.Session)]
            folders = [node.name for node in item.listchain() if isinstance(node, pytest.Directory)][1:]
            self.functions.append({
                "benchmarks": [*marker.args],
                "protocol": marker.kwargs["protocol"],
                "function": item.nodeid.rpartition("::")[2],
                "test": "" if is_packaged(item.path) else f"{item.path.name}::{item.nodeid.partition('::')[2]}",
                "names": [*names, *folders, *marks],
                "marks": marks,
            })  # fmt: skip

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Store the cases, before any is deselected."""
        self.cases = [(normalize("NFC", case.id), case.protocol) for case in map(get_case, items) if case]

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Read the collection of a worker; every worker collects the same."""
        collected = getattr(node, "workeroutput", {}).get(COLLECTED)
        if collected:
            self.functions, self.cases = (
                collected["functions"],
                [(case, protocol) for case, protocol in collected["cases"]],
            )
            self.is_complete = True

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Report the missing cases, after the gate and before the exit status is set.

        A worker sends its collection to the controller instead.
        """
        if is_worker(self.config):
            collected = {"functions": self.functions, "cases": self.cases}
            self.config.workeroutput[COLLECTED] = collected  # type: ignore[attr-defined]
        elif self.is_complete and session.exitstatus in DONE and not self.selects_tests:
            self.report_missing()

    def report_missing(self) -> None:
        """Add the missing cases to the messages of the gate; under `--eye-strict` to its errors, with the exit code."""
        lines, others = [], []
        baselines = self.gate.session.baselines
        for (case, protocol), evidence in baselines.heads.items():
            why = self.reason(evidence)
            if why and self.is_left_out(evidence):
                others.append(f"{case} ({protocol})")
            elif why:
                where = self.relative_path(baselines.paths[case, protocol])
                lines.append(f"{case} ({protocol}) is in the baseline {where} and was not run: {why}. {REMEDY}")
        strict = bool(get_option(self.config, "strict"))
        (self.gate.session.errors if strict else self.gate.session.messages).extend(_fold_lines(lines))
        if others:
            count = count_of(len(others), "case")
            shown = f"{', '.join(others[:MAX_LISTED])}{', …' * (len(others) > MAX_LISTED)}"
            self.gate.session.messages.append(
                f"{count} of the baseline not asked for by the options of this session: {shown}"
            )
        if lines and strict:
            self.exit_codes.kinds.setdefault("baseline", set()).add(ABSENT)

    @property
    def selects_tests(self) -> bool:
        """Whether the command line names single tests, has `--lf` or `--stepwise`, or runs no test."""
        option = self.config.option
        chosen = any("::" in argument for argument in self.config.args)
        return chosen or any(
            getattr(option, name, False) for name in ("lf", "stepwise", "collectonly", "setupplan", "setuponly")
        )

    def reason(self, evidence: Evidence) -> str:
        """Return why a case of the baseline was not collected; "" if it was, or if the command line deselects it."""
        case, test = _split_case_name(evidence)
        functions = [function for function in self.functions if _requests_case(function, evidence, test)]
        if (case, evidence.protocol) in self.cases and functions:
            return ""
        if not functions:
            return "" if self.has_paths else "no test asks for it"
        if not any(self.is_selected(function, case) for function in functions):
            return ""
        benchmark, split, *_ = case.split("/")
        if f"{benchmark}/{split}" not in [normalize("NFC", name) for name in split_names(self.config)]:
            return f"there is no split {benchmark}/{split}"
        if evidence.model not in self.model_names:
            return "no such model was asked for"
        return "no test has these options"

    @property
    def has_paths(self) -> bool:
        """Whether the command line selects or ignores files."""
        ignored = any(getattr(self.config.option, name, None) for name in ("ignore", "ignore_glob"))
        return ignored or self.config.args_source is pytest.Config.ArgsSource.ARGS

    @property
    def model_names(self) -> list[str]:
        """The names of the session's models in cases."""
        return [model.name for model in get_settings(self.config).models]

    def is_left_out(self, evidence: Evidence) -> bool:
        """Return whether the command line requests other models, or other option values of the protocol."""
        getoption = self.config.getoption
        if getoption("eye_model") and evidence.model not in self.model_names:
            return True
        if not getoption("eye_set") and not getoption("eye_preset"):
            return False
        prefix = normalize("NFC", "/".join([*evidence.case.split("/", 2)[:2], evidence.model]))
        return any(
            protocol == evidence.protocol and (case == prefix or case.startswith(f"{prefix}@"))
            for case, protocol in self.cases
        )

    def is_selected(self, function: Mapping[str, Any], case: str) -> bool:
        """Return whether `-k`, `-m` and `--deselect` select a case of a test function."""
        name = f"{function['function']}[{case}]"
        deselected = [nodeid.rpartition("::")[2] for nodeid in self.config.option.deselect or () if "::" in nodeid]
        if any(name.startswith(prefix) for prefix in deselected):
            return False
        names = [text.lower() for text in (*function["names"], name, *spellings(name))]
        keyword, marks = self.config.option.keyword, self.config.option.markexpr
        return (not keyword or matches(keyword, lambda word: any(word.lower() in text for text in names))) and (
            not marks or matches(marks, lambda word: word in function["marks"])
        )

    def relative_path(self, path: Path) -> Path:
        """Return a path relative to the folder of the session, or unchanged if it is outside."""
        here = self.config.invocation_params.dir
        return path.relative_to(here) if path.is_relative_to(here) else path


def matches(expression: str, known: Any) -> bool:
    """Return the value of an expression of `-k` or `-m`; `known` returns the value of a word."""

    def matcher(word: str, /, **_: object) -> bool:
        return bool(known(word))

    return Expression.compile(expression).evaluate(matcher)


def _requests_case(function: Mapping[str, Any], evidence: Evidence, test: str) -> bool:
    """Return whether a test function requests a case if its split and model exist."""
    benchmark, named = evidence.case.partition("/")[0], function["benchmarks"]
    suits = benchmark in named or (ANY in named and benchmark not in packaged_benchmarks())
    packaged = not function["test"] and (not test or test.endswith(f"::{function['function']}"))
    own = function["test"] and function["test"] == test
    return bool(suits and function["protocol"] == evidence.protocol and (packaged or own))


def _split_case_name(evidence: Evidence) -> tuple[str, str]:
    """Return the case as in its node id, and the name of the user's own test function, "" for a packaged one."""
    case = normalize("NFC", evidence.case)
    match = OWN_TEST.search(case)
    return (case[: match.start()], match["test"]) if match else (case, "")


def _fold_lines(lines: Sequence[str]) -> Iterator[str]:
    """Yield the first lines, and a line with the number of the others."""
    yield from lines[:MAX_LISTED]
    if len(lines) > MAX_LISTED:
        rest = count_of(len(lines) - MAX_LISTED, "more case of the baseline was", "more cases of the baseline were")
        yield f"{rest} not run."

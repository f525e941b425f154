"""Collects what a session asks for, so that the gate can report the cases of the baseline that no test asks for."""

from collections.abc import Callable
from dataclasses import asdict
from typing import Any
from unicodedata import normalize

import pytest
from _pytest.mark.expression import Expression

from eyechart.gate.session.gate_status import ABSENT
from eyechart.gate.session.missing_cases import CaseFunction, RequestedCases

from .case_ids import spellings
from .cases import benchmark_names, get_case, get_marker, is_packaged, protocol_name, split_names
from .exit_codes import ExitCodes
from .gate import Gate
from .settings import get_settings
from .workers import is_worker, send_to_controller, sent_by_worker

COLLECTED = "eyechart_collected"
DONE = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED)


class MissingCases:
    """Reports the cases of the baseline that were not collected; under `--eye-strict` they count as missing data."""

    def __init__(self, config: pytest.Config, gate: Gate, exit_codes: ExitCodes) -> None:
        self.config, self.gate, self.exit_codes = config, gate, exit_codes
        self.functions: list[CaseFunction] = []
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
            self.functions.append(
                CaseFunction(
                    benchmarks=[*benchmark_names(marker)],
                    protocol=protocol_name(marker) or "",
                    name=item.nodeid.rpartition("::")[2],
                    test="" if is_packaged(item.path) else f"{item.path.name}::{item.nodeid.partition('::')[2]}",
                    words=[*names, *folders, *marks],
                    marks=marks,
                )
            )

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Store the cases, before any is deselected."""
        self.cases = [(normalize("NFC", case.id), case.protocol) for case in map(get_case, items) if case]

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Read the collection of a worker; every worker collects the same."""
        if collected := sent_by_worker(node, COLLECTED):
            self.functions = [CaseFunction(**function) for function in collected["functions"]]
            self.cases = [(case, protocol) for case, protocol in collected["cases"]]
            self.is_complete = True
            if not self.cases:  # ids of other tests may look like those of cases
                self.gate.recorder.has_cases = False

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Report the missing cases, after the gate and before the exit status is set.

        A worker sends its collection to the controller instead.
        """
        if is_worker(self.config):
            collected = {"functions": [*map(asdict, self.functions)], "cases": self.cases}
            send_to_controller(self.config, COLLECTED, collected)
            return
        is_whole = self.is_complete and session.exitstatus in DONE and not self.selects_tests
        if is_whole and self.gate.session.report_missing(self.requested):
            self.exit_codes.kinds.setdefault("baseline", set()).add(ABSENT)

    @property
    def selects_tests(self) -> bool:
        """Whether the command line names single tests, has `--lf` or `--stepwise`, or runs no test."""
        option = self.config.option
        chosen = any("::" in argument for argument in self.config.args)
        return chosen or any(
            getattr(option, name, False) for name in ("lf", "stepwise", "collectonly", "setupplan", "setuponly")
        )

    @property
    def requested(self) -> RequestedCases:
        """What the session asks for."""
        getoption = self.config.getoption
        return RequestedCases(
            functions=self.functions,
            cases=self.cases,
            models=[model.name for model in get_settings(self.config).models],
            splits=lambda: split_names(self.config),
            is_selected=self.is_selected,
            selects_files=self.has_paths,
            names_models=bool(getoption("eye_model")),
            sets_options=bool(getoption("eye_set") or getoption("eye_preset")),
        )

    @property
    def has_paths(self) -> bool:
        """Whether the command line selects or ignores files."""
        ignored = any(getattr(self.config.option, name, None) for name in ("ignore", "ignore_glob"))
        return ignored or self.config.args_source is pytest.Config.ArgsSource.ARGS

    def is_selected(self, function: CaseFunction, case: str) -> bool:
        """Return whether `-k`, `-m` and `--deselect` select a case of a test function."""
        name = f"{function.name}[{case}]"
        deselected = [nodeid.rpartition("::")[2] for nodeid in self.config.option.deselect or () if "::" in nodeid]
        if any(name.startswith(prefix) for prefix in deselected):
            return False
        names = [text.lower() for text in (*function.words, name, *spellings(name))]
        keyword, marks = self.config.option.keyword, self.config.option.markexpr
        return (not keyword or matches(keyword, lambda word: any(word.lower() in text for text in names))) and (
            not marks or matches(marks, lambda word: word in function.marks)
        )


def matches(expression: str, known: Callable[[str], bool]) -> bool:
    """Return the value of an expression of `-k` or `-m`; `known` returns the value of a word."""

    def matcher(word: str, /, **_: object) -> bool:
        return known(word)

    return Expression.compile(expression).evaluate(matcher)

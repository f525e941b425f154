"""Cases of the baseline without a test in the session, because a split, model or test was removed or renamed.

A collected case is run, skipped with a reason, or deselected. A case that was not collected is missing, unless the
command line excludes it.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from unicodedata import normalize

from eyechart.data.splits.registry import includes_benchmark
from eyechart.messages.plurals import count_of
from eyechart.results.evidence import Evidence

OWN_TEST = re.compile(r"[@,]test=(?P<test>[^,\[]+::[^\[]+)(?:\[.*\])?$")
MAX_LISTED = 8
REMEDY = "Restore it, or delete it from the baseline."


@dataclass(frozen=True)
class CaseFunction:
    """A test function that requests cases of some benchmarks under a protocol.

    `test` is its name in cases, "" for a packaged one. `words` and `marks` are what `-k` and `-m` match.
    """

    benchmarks: Sequence[str]
    protocol: str
    name: str
    test: str
    words: Sequence[str]
    marks: Sequence[str]

    def requests(self, evidence: Evidence, test: str) -> bool:
        """Return whether the function requests a case if its split and model exist; `test` is the one of the case."""
        suits = includes_benchmark(self.benchmarks, evidence.case.partition("/")[0], None)
        packaged = not self.test and (not test or test.endswith(f"::{self.name}"))
        own = bool(self.test) and self.test == test
        return suits and self.protocol == evidence.protocol and (packaged or own)


@dataclass(frozen=True)
class RequestedCases:
    """What a session asks for: its test functions, the cases that were collected, and the choices of the command line.

    `cases` have their protocols. `splits` returns the splits that are there, which takes time. `is_selected` returns
    whether the command line selects a case of a function. `names_models` and `sets_options` are whether it has
    `--eye-model`, or values of protocol options.
    """

    functions: Sequence[CaseFunction]
    cases: Collection[tuple[str, str]]
    models: Collection[str]
    splits: Callable[[], Iterable[str]]
    is_selected: Callable[[CaseFunction, str], bool]
    selects_files: bool = False
    names_models: bool = False
    sets_options: bool = False

    def why_missing(self, evidence: Evidence) -> str:
        """Return why a case of the baseline was not collected; "" if it was, or if the command line deselects it."""
        case, test = _split_case_name(evidence)
        functions = [function for function in self.functions if function.requests(evidence, test)]
        if (case, evidence.protocol) in self.cases and functions:
            return ""
        if not functions:
            return "" if self.selects_files else "no test asks for it"
        if not any(self.is_selected(function, case) for function in functions):
            return ""
        benchmark, split, *_ = case.split("/")
        if f"{benchmark}/{split}" not in [normalize("NFC", name) for name in self.splits()]:
            return f"there is no split {benchmark}/{split}"
        if evidence.model not in self.models:
            return "no such model was asked for"
        return "no test has these options"

    def is_left_out(self, evidence: Evidence) -> bool:
        """Return whether the command line requests other models, or other option values of the protocol."""
        if self.names_models and evidence.model not in self.models:
            return True
        if not self.sets_options:
            return False
        prefix = normalize("NFC", "/".join([*evidence.case.split("/", 2)[:2], evidence.model]))
        return any(
            protocol == evidence.protocol and (case == prefix or case.startswith(f"{prefix}@"))
            for case, protocol in self.cases
        )


def _split_case_name(evidence: Evidence) -> tuple[str, str]:
    """Return the case as in its node id, and the name of the user's own test function, "" for a packaged one."""
    case = normalize("NFC", evidence.case)
    match = OWN_TEST.search(case)
    return (case[: match.start()], match["test"]) if match else (case, "")


def describe_missing_case(evidence: Evidence, path: str, why: str) -> str:
    """Return that a case of the baseline was not run, and why."""
    return f"{evidence.case} ({evidence.protocol}) is in the baseline {path} and was not run: {why}. {REMEDY}"


def describe_left_out(cases: Sequence[Evidence]) -> str:
    """Return which cases of the baseline the options of the session do not ask for."""
    names = [f"{evidence.case} ({evidence.protocol})" for evidence in cases]
    shown = f"{', '.join(names[:MAX_LISTED])}{', …' * (len(names) > MAX_LISTED)}"
    return f"{count_of(len(names), 'case')} of the baseline not asked for by the options of this session: {shown}"


def fold_lines(lines: Sequence[str]) -> Iterator[str]:
    """Yield the first lines, and a line with the number of the others."""
    yield from lines[:MAX_LISTED]
    if len(lines) > MAX_LISTED:
        rest = count_of(len(lines) - MAX_LISTED, "more case of the baseline was", "more cases of the baseline were")
        yield f"{rest} not run."

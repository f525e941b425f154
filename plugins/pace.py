"""The pace of a session: how many cases are done, and how long the others will take.

A case takes its requests × the seconds of a request. It has as many requests as the same test on the same split had
with another model, else as many as an average case. A request takes as long as in the finished cases of the same test
and model, else of the same test, else of all. Only cases that asked something new set the pace: one whose answers are
stored takes almost no time, and another one is expected to ask. Without such a case there is no estimate. The time to
load models, which is spent once for all cases of a model, does not count.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypedDict

from tqdm import tqdm


class State(TypedDict):
    """A case that is running. `done` of `total` requests have answers; `fresh` of these came in `asking` seconds.

    `cost` is what they cost so far, and all will; "" if it is not known.
    """

    case: str
    phase: str
    seconds: float
    done: int
    total: int
    fresh: int
    asking: float
    unit: str
    cost: str


class CaseParts(NamedTuple):
    """The parts of a case that its costs depend on."""

    test: str
    split: str
    model: str
    choices: str

    @classmethod
    def of(cls, case: re.Match[str]) -> "CaseParts":
        """Return the parts of a node id."""
        split = f"{case['benchmark']}/{case['split']}"
        return cls(case.string[: case.start()], split, case["model"], case["choices"] or "")

    @property
    def title(self) -> str:
        """The test and the case, for the terminal.

        >>> CaseParts("a.py::test_open_world", "toybox/sample", "hf[toybox-mllm]", "epochs=3").title
        'open_world toybox/sample/hf[toybox-mllm]@epochs=3'
        """
        test = self.test.rpartition("::")[2].removeprefix("test_")
        return f"{test} {self.split}/{self.model}{'@' * bool(self.choices)}{self.choices}"


@dataclass
class Pace:
    """The cases of a session by node id, and what those that are finished took."""

    cases: dict[str, CaseParts] = field(default_factory=dict)
    counted: str = "cases"
    finished: set[str] = field(default_factory=set)
    sizes: dict[tuple[str, ...], int] = field(default_factory=dict)
    spent: dict[tuple[str, ...], tuple[float, int]] = field(default_factory=dict)  # seconds and answers of groups

    def finish(self, case: str, seconds: float, requests: int, fresh: int) -> None:
        """Add a case that is finished, with the number of its requests and of those that a model answered now."""
        self.finished.add(case)
        parts = self.cases[case]
        if requests:
            self.sizes[parts.test, parts.split, parts.choices] = requests
        for group in _similar_cases(parts) if fresh else ():
            before, count = self.spent.get(group, (0.0, 0))
            self.spent[group] = before + seconds, count + fresh

    def expected_seconds(self, case: str) -> float:
        """Return how long a case will take; there must be a pace."""
        parts = self.cases[case]
        requests = self.sizes.get((parts.test, parts.split, parts.choices))
        seconds, count = next(self.spent[group] for group in _similar_cases(parts) if group in self.spent)
        return seconds / count * (requests or sum(self.sizes.values()) / len(self.sizes))

    def seconds_left(self, running: Sequence[State]) -> float | None:
        """Return how long the cases that are not finished will take, if as many run at once as now; None if unknown."""
        if not self.spent or self.cases.keys() <= self.finished:
            return None
        waiting = self.cases.keys() - self.finished - {state["case"] for state in running}
        left = sum(map(self.expected_seconds, waiting)) + sum(map(self.rest_of, running))
        return left / max(1, len(running))

    def rest_of(self, state: State) -> float:
        """Return how long a running case will take: by its own counts or by other cases, whichever is longer."""
        own = (state["total"] - state["done"]) * state["asking"] / state["fresh"] if state["fresh"] else 0.0
        return max(own, self.expected_seconds(state["case"]) - state["seconds"])

    def describe(self, running: Sequence[State]) -> str:
        """Return the number of finished cases and the time left."""
        left = self.seconds_left(running)
        count = f"{len(self.finished)}/{len(self.cases)} {self.counted}"
        return count if left is None else f"{count}, {tqdm.format_interval(left)} left"


def _similar_cases(case: CaseParts) -> tuple[tuple[str, ...], ...]:
    """Return the groups of cases that are like a case, the most similar one first."""
    return (case.test, case.model), (case.test,), ()

"""Verdicts on all metrics of two runs; `compare` and the page use them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isnan

from eyechart.errors import SpecError
from eyechart.gate.comparison.compare_metrics import MetricComparison
from eyechart.gate.session.compare_cases import CaseComparison, Key, SessionComparison
from eyechart.gate.slices.slice_tests import SliceChanges, count_slices
from eyechart.gate.verdicts.decide import IMPROVEMENT, INCONCLUSIVE, REGRESSION, VERDICTS, Verdict
from eyechart.gate.verdicts.value_texts import is_percent_change
from eyechart.gate.verdicts.verdict_messages import count_verdicts
from eyechart.messages.plurals import count_of
from eyechart.reports.tables.render import DIFFERENCE, FRACTION, P_VALUE, PERCENT, Cell, NumberCell, NumberFormat, Row

COLUMNS = ("Before, %", "After, %", "Δ", "n", "Lost", "Gained", "p", "Adjusted p", "Test", "Verdict")
SIDES = ("before", "after")
CHANGE = NumberFormat(100, 2, signed=True)


@dataclass(frozen=True)
class RunComparison:
    """A comparison as tables and the page show it: the most important verdicts first."""

    session: SessionComparison

    @cached_property
    def verdicts(self) -> tuple[tuple[Key, Verdict], ...]:
        """The verdict of every metric, with the key of its case."""
        ranked = ((key, verdict) for key, verdicts in self.session.verdicts_of.items() for verdict in verdicts)
        return tuple(sorted(ranked, key=_sort_key))

    @cached_property
    def slices(self) -> tuple[tuple[Key, Verdict], ...]:
        """The verdicts on the slices that changed significantly, with the key of their case."""
        key_of = {id(number): key for key, case in self.session.cases.items() for number in case.numbers}
        changed = (verdict for verdict in self.session.slices if verdict.decision != INCONCLUSIVE)
        return tuple(sorted(((key_of[id(verdict.comparison.whole)], verdict) for verdict in changed), key=_sort_key))

    @property
    def models(self) -> tuple[Verdict, ...]:
        """The pooled decisions on the models that have several cases."""
        return self.session.pooled

    @property
    def slice_changes(self) -> Sequence[SliceChanges]:
        """The slices of all cases."""
        return self.session.slice_changes

    @property
    def compared(self) -> Mapping[Key, CaseComparison]:
        """The cases that were compared."""
        return self.session.compared

    @property
    def refused(self) -> Mapping[Key, Sequence[str]]:
        """The cases that cannot be compared, and why."""
        return self.session.refused

    @property
    def every(self) -> list[Verdict]:
        """The verdicts that decide on the whole."""
        return self.session.every

    def __str__(self) -> str:
        return count_verdicts(self.session.of_cases, self.models).removeprefix("gate: ")

    def count_slices(self) -> str:
        """Return how many slices lost and gained, such as `1 of 20 slices lost, 2 gained`."""
        lost, gained = (sum(part.decision == word for _, part in self.slices) for word in (REGRESSION, IMPROVEMENT))
        return f"{lost} of {count_of(count_slices(self.slice_changes), 'slice')} lost, {gained} gained"

    def describe_slices(self, alpha: float) -> str:
        """Return how many slices lost and gained, and how many changed too little for any result."""
        few = sum(int((part.least[part.indices] >= alpha).sum()) for part in self.slice_changes)
        return f"{self.count_slices()}; {few} have too few changed samples for a significant change"


def _sort_key(item: tuple[Key, Verdict]) -> tuple[int, float, float, Key, str]:
    """Return the sort key of a verdict: losses first, then p, size and name."""
    key, verdict = item
    comparison, p = verdict.comparison, verdict.adjusted
    size = 0.0 if isnan(comparison.delta) else -abs(comparison.delta)
    return VERDICTS.index(verdict.decision), 0.0 if isnan(p) else p, size, key, comparison.name


def verdict_cells(verdict: Verdict) -> Row:
    """Return the cells of one metric: before, after, change, counts, p-values, test and verdict."""
    comparison = verdict.comparison
    style = PERCENT if is_percent_change(comparison) else FRACTION
    counts: tuple[Cell, Cell] = (comparison.n_lost, comparison.gained) if comparison.counts_samples else (None, None)
    return (
        *(NumberCell(value, style=style) for value in (comparison.before, comparison.after)),
        change_cell(comparison),
        *(comparison.n, *counts),
        *(NumberCell(p, style=P_VALUE) for p in (comparison.p, verdict.adjusted)),
        *(comparison.method, verdict.decision),
    )


def change_cell(comparison: MetricComparison) -> NumberCell:
    """Return a change with its interval, if there is one."""
    has_interval = comparison.ci is not None and not any(map(isnan, comparison.ci))
    return NumberCell(
        comparison.delta,
        ci=(comparison.ci.low, comparison.ci.high) if comparison.ci and has_interval else None,
        style=CHANGE if is_percent_change(comparison) else DIFFERENCE,
    )


def refusal_notes(outcome: RunComparison) -> Iterator[str]:
    """Yield why cases are not compared."""
    for key, reasons in outcome.refused.items():
        yield f"{case_label(key)} is not compared: {'; '.join(reasons)}."


def one_sided_notes(cases: Mapping[Key, CaseComparison]) -> Iterator[str]:
    """Yield the metrics that have a value on one side only."""
    for side, name in zip(SIDES, ("missing", "added"), strict=True):
        for key, case in cases.items():
            if names := getattr(case, name):
                yield f"{case_label(key)} has a value only {side}: {', '.join(names)}."


def difference_notes(cases: Mapping[Key, CaseComparison]) -> Iterator[str]:
    """Yield other differences of the runs, each once for all cases it concerns."""
    cases_by_remark: dict[str, list[Key]] = {}
    for key, case in cases.items():
        for remark in case.remarks:
            cases_by_remark.setdefault(remark, []).append(key)
    for remark, keys in cases_by_remark.items():
        yield f"{remark}{'.' if len(keys) == len(cases) else f': {join_labels(keys)}.'}"


def join_labels(keys: Iterable[Key]) -> str:
    """Return the names of cases, separated by commas."""
    return ", ".join(map(case_label, keys))


def case_label(key: Key) -> str:
    """Return the name of a case with its protocol."""
    return f"{key[0]} ({key[1]})"


def parse_alpha(text: str) -> float:
    """Return a level of significance."""
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not 0 < value < 0.5:
        raise SpecError(f"'{text}' is not a significance level above 0 and below 0.5, such as 0.05")
    return value

"""Verdicts on all metrics of two runs; `compare` and the page use them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import isnan
from pathlib import Path

from eyechart.errors import SpecError
from eyechart.gate.comparison.changed_data import describe_changed_samples
from eyechart.gate.comparison.compare_metrics import (
    MetricComparison,
    compare_metrics,
    differences,
    missing_metrics,
    remarks,
)
from eyechart.gate.slices.slice_tests import (
    SliceChanges,
    compare_case_slices,
    count_slices,
    count_untestable,
    decide_slices,
)
from eyechart.gate.verdicts.decide import (
    IMPROVEMENT,
    INCONCLUSIVE,
    REGRESSION,
    VERDICTS,
    Rule,
    Verdict,
    decide_with_models,
)
from eyechart.gate.verdicts.value_texts import is_percent_change
from eyechart.gate.verdicts.verdict_messages import count_verdicts
from eyechart.messages.plurals import count_of
from eyechart.reports.tables.render import DIFFERENCE, FRACTION, P_VALUE, PERCENT, Cell, NumberCell, NumberFormat, Row
from eyechart.results.evidence import Evidence
from eyechart.results.shared_samples import share_samples

Key = tuple[str, ...]  # a case, its protocol, and what else distinguishes it from others
Pairs = Mapping[Key, tuple[Evidence, Evidence]]  # before and after
COLUMNS = ("Before, %", "After, %", "Δ", "n", "Lost", "Gained", "p", "Adjusted p", "Test", "Verdict")
SIDES = ("before", "after")
CHANGE = NumberFormat(100, 2, signed=True)


@dataclass(frozen=True)
class RunComparison:
    """The verdict of every metric, most important first; the cases compared, and the cases not comparable and why.

    `models` are the pooled decisions on the models that have several cases. `slices` are the verdicts on
    those of `slice_changes` that changed significantly, most important first.
    """

    verdicts: tuple[tuple[Key, Verdict], ...]
    compared: Pairs
    refused: Mapping[Key, Sequence[str]]
    models: tuple[Verdict, ...] = ()
    slices: tuple[tuple[Key, Verdict], ...] = ()
    slice_changes: tuple[SliceChanges, ...] = ()

    @property
    def every(self) -> list[Verdict]:
        """The verdicts of all metrics and models."""
        return [*(verdict for _, verdict in self.verdicts), *self.models]

    def __str__(self) -> str:
        return count_verdicts([verdict for _, verdict in self.verdicts], self.models).removeprefix("gate: ")

    def count_slices(self) -> str:
        """Return how many slices lost and gained, such as `1 of 20 slices lost, 2 gained`."""
        lost, gained = (sum(part.decision == word for _, part in self.slices) for word in (REGRESSION, IMPROVEMENT))
        return f"{lost} of {count_of(count_slices(self.slice_changes), 'slice')} lost, {gained} gained"

    def describe_slices(self, alpha: float) -> str:
        """Return how many slices lost and gained, and how many changed too little for any result."""
        few = count_untestable(self.slice_changes, alpha)
        return f"{self.count_slices()}; {few} have too few changed samples for a significant change"


def compare_cases(pairs: Pairs, rule: Rule, folders: Mapping[Key, Path]) -> RunComparison:
    """Compare every metric that both sides have, and the slices of cases.

    `folders` hold the evidence and the slices of the cases after; a baseline has none.
    """
    whole = pairs
    runs = {key: after for key, (_, after) in pairs.items()}
    pairs = {key: share_samples(*pair)[:2] for key, pair in pairs.items()}
    refused = {
        key: [*describe_changed_samples(*whole[key], SIDES), *reasons]
        for key, pair in pairs.items()
        if (reasons := differences(*pair, SIDES))
    }
    comparable = {key: pair for key, pair in pairs.items() if key not in refused}
    of_case = {key: [*compare_metrics(*pair)] for key, pair in comparable.items()}
    key_of = {id(comparison): key for key, comparisons in of_case.items() for comparison in comparisons}
    verdicts, models = decide_with_models([*chain.from_iterable(of_case.values())], rule)
    slices = [
        part
        for key, pair in comparable.items()
        if key in folders
        for part in compare_case_slices(*pair, runs[key], of_case[key], folders[key])
    ]
    changed = [verdict for verdict in decide_slices(slices, rule) if verdict.decision != INCONCLUSIVE]
    return RunComparison(
        tuple(sorted(((key_of[id(verdict.comparison)], verdict) for verdict in verdicts), key=sort_key)),
        comparable,
        refused,
        tuple(models),
        tuple(sorted(((key_of[id(verdict.comparison.whole)], verdict) for verdict in changed), key=sort_key)),
        tuple(slices),
    )


def sort_key(item: tuple[Key, Verdict]) -> tuple[int, float, float, Key, str]:
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


def one_sided_notes(pairs: Pairs) -> Iterator[str]:
    """Yield the metrics that have a value on one side only."""
    for side, step in ((SIDES[0], 1), (SIDES[1], -1)):
        for key, pair in pairs.items():
            if names := missing_metrics(*pair[::step]):
                yield f"{case_label(key)} has a value only {side}: {', '.join(names)}."


def difference_notes(pairs: Pairs) -> Iterator[str]:
    """Yield other differences of the runs, each once for all cases it concerns."""
    cases_by_remark: dict[str, list[Key]] = {}
    for key, pair in pairs.items():
        for remark in remarks(*pair, SIDES):
            cases_by_remark.setdefault(remark, []).append(key)
    for remark, keys in cases_by_remark.items():
        yield f"{remark}{'.' if len(keys) == len(pairs) else f': {join_labels(keys)}.'}"


def join_labels(keys: Iterable[Key]) -> str:
    """Return the names of cases, separated by commas."""
    return ", ".join(map(case_label, keys))


def case_label(key: Key) -> str:
    """Return the name of a case with its protocol."""
    return f"{key[0]} ({key[1]})"


def parse_alpha(text: str) -> float:
    """Return a level of significance."""
    value = _parse_float(text)
    if not 0 < value < 0.5:
        raise SpecError(f"'{text}' is not a significance level above 0 and below 0.5, such as 0.05")
    return value


def _parse_float(text: str) -> float:
    """Return a number, or NaN if the text is none."""
    try:
        return float(text)
    except ValueError:
        return float("nan")

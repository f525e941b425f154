"""`compare`: two runs, or two models of one, number by number over the same samples."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from eyechart.errors import ReportError, SpecError
from eyechart.gate.comparing import Verdict
from eyechart.gate.evidence import Evidence
from eyechart.spec import did_you_mean, parse

from .evidence_io import Cases, read_cases, source_names
from .render import Cell, Row, Table
from .runs import model_name
from .verdicts import (
    COLUMNS,
    DEFAULT_RULE,
    SIDES,
    Key,
    Pairs,
    Rule,
    case_label,
    compare_cases,
    difference_notes,
    one_sided_notes,
    refusal_notes,
    verdict_cells,
)

T = TypeVar("T")
COUNTS = ("Before n", "After n")
KEY_COLUMNS = ("Case", "Protocol", "Metric", "Labels", "Category")
NOTES = (
    "Numbers in %; brackets: 95 % intervals of the change. n: the samples that have both.",
    "Lost: right before and wrong after; gained: the other way.",
    "p: two-sided, then after Holm's correction over all rows.",
)


@dataclass(frozen=True)
class MatchedSides:
    """What is compared: the cases of either side, by what says that two are about the same, and the side's name."""

    names: tuple[str, str]
    before: Cases
    after: Cases


def match_runs(places: Sequence[Path]) -> MatchedSides:
    """Two runs or baselines, case by case."""
    found, names = [*map(read_cases, places)], source_names(places)
    return MatchedSides((names[0], names[1]), found[0], found[1])


def match_models(places: Sequence[Path], specs: Sequence[str]) -> MatchedSides:
    """Two models, of one run or of one run each, by split, choices and protocol."""
    first, last = (cases_of_model(place, spec) for place, spec in zip((places[0], places[-1]), specs, strict=True))
    return MatchedSides((specs[0], specs[1]), first, last)


def cases_of_model(place: Path, spec: str) -> Cases:
    """A model's cases, by what was asked."""
    found = read_cases(place)
    known = dict.fromkeys(each.model for each in found.values())
    chosen = [model for model in known if spec in (model, model_name(model)) or model == normalise_spec(spec)]
    if not chosen:
        near = did_you_mean(spec, [*known])
        raise ReportError(f"--models: {place} has no model '{spec}'{near} Its models are: {', '.join(known)}.")
    return {(case_without_model(each), each.protocol): each for each in found.values() if each.model == chosen[0]}


def case_without_model(evidence: Evidence) -> str:
    """Return the case without its model: benchmark, split and choices."""
    benchmark, split, rest = evidence.case.split("/", 2)
    return f"{benchmark}/{split}{rest.removeprefix(evidence.model)}"


def normalise_spec(spec: str) -> str:
    """A model as records spell it; what cannot be read stays as it is."""
    try:
        return str(parse(spec))
    except SpecError:
        return spec


def comparison_table(sides: MatchedSides, rule: Rule = DEFAULT_RULE) -> Table:
    """Every number that both sides have, losses and the surest changes first."""
    pairs = common_cases(sides)
    found = compare_cases(pairs, rule)
    refused = [*refusal_notes(found)]
    if not found.compared:
        raise ReportError(
            f"{sides.names[0]} and {sides.names[1]} are not about the same. {' '.join(refused)} Run both on the same "
            "data, with the same ground truths and options."
        )
    lower = sorted({verdict.found.proof.name for _, verdict in found.verdicts if verdict.found.proof.better < 0})
    better = (
        f"Higher is better{', but for ' + ', '.join(lower) if lower else ''}; numbers without a direction are left out."
    )
    said = (
        *NOTES,
        better,
        str(rule),
        f"Before: {sides.names[0]}. After: {sides.names[1]}.",
        *refused,
        *unmatched_notes(sides),
    )
    differ = any(verdict.found.counts for _, verdict in found.verdicts)
    rows = tuple(comparison_row(key, verdict, both=differ) for key, verdict in found.verdicts)
    columns = with_counts(COLUMNS, COUNTS) if differ else COLUMNS
    title = f"{sides.names[0]} and {sides.names[1]}: {found}"
    context = dict(zip(SIDES, sides.names, strict=True))
    return Table(
        title,
        (*KEY_COLUMNS, *columns),
        rows,
        (*said, *one_sided_notes(found.compared), *difference_notes(found.compared)),
        context,
    )


def comparison_row(key: Key, verdict: Verdict, *, both: bool) -> Row:
    """One number; with the n of either side where these differ in any row."""
    found = verdict.found
    counts: Sequence[Cell] = found.counts or (found.n, found.n)
    told = with_counts(verdict_cells(verdict), counts) if both else verdict_cells(verdict)
    return (*key, *found.proof.key, *told)


def with_counts(told: Sequence[T], counts: Sequence[T]) -> tuple[T, ...]:
    """The cells of a row with two more after that of the shared n."""
    place = COLUMNS.index("n") + 1
    return (*told[:place], *counts, *told[place:])


def common_cases(sides: MatchedSides) -> Pairs:
    """The cases of both sides."""
    names = [key for key in sorted(sides.before) if key in sides.after]
    found: Pairs = {key: (sides.before[key], sides.after[key]) for key in names}
    if not found:
        had = [", ".join(map(case_label, sorted(side))) for side in (sides.before, sides.after)]
        raise ReportError(
            f"{sides.names[0]} and {sides.names[1]} have no case in common: {had[0]} on one side, {had[1]} on the "
            "other. Compare what was asked in the same way; two models of two runs, with --models SPEC SPEC."
        )
    return found


def unmatched_notes(sides: MatchedSides) -> Iterator[str]:
    """Cases that one side has alone."""
    for when, mine, other in ((SIDES[0], sides.before, sides.after), (SIDES[1], sides.after, sides.before)):
        if only := [case_label(key) for key in sorted(mine) if key not in other]:
            yield f"Only {when}, and not compared: {', '.join(only)}."

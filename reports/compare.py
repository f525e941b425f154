"""`compare`: two runs, or two models of one, number by number over the same samples."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from pathlib import Path

from eyechart.errors import ReportError, SpecError
from eyechart.gate.comparing import DIRECTIONS, Compared, compared, differences, missing, remarks
from eyechart.gate.evidence import Evidence
from eyechart.metrics.significance import holm
from eyechart.spec import did_you_mean, parse

from .proven import Cases, cases
from .render import CHANCE, Cell, Number, Row, Style, Table
from .runs import model_name

COLUMNS = ("Case", "Protocol", "Metric", "Labels", "Category")
TESTED = ("Before, %", "After, %", "Δ", "n", "Lost", "Gained", "p", "p after Holm", "Test")
CHANGED = Style(100, 2, signed=True)
WHEN = ("before", "after")
LESS = ", ".join(name for name, way in DIRECTIONS.items() if way < 0)
SAID = (
    "Numbers in %; brackets: 95 % intervals of the change. n: the samples that have both.",
    "Lost: right before and wrong after; gained: the other way.",
    "p: two-sided, then after Holm's correction over all rows.",
    f"More is better, but for {LESS}. Numbers of which neither is better are not compared.",
)


@dataclass(frozen=True)
class Sides:
    """What is compared: the cases of either side, by what says that two are about the same, and the side's name."""

    names: tuple[str, str]
    before: Cases
    after: Cases


def runs(places: Sequence[Path]) -> Sides:
    """Two runs or baselines, case by case."""
    one, other = places
    return Sides((str(one), str(other)), cases(one), cases(other))


def models(places: Sequence[Path], specs: Sequence[str]) -> Sides:
    """Two models, of one run or of one run each, by split, choices and protocol."""
    first, last = (of_model(place, spec) for place, spec in zip((places[0], places[-1]), specs, strict=True))
    return Sides((specs[0], specs[1]), first, last)


def of_model(place: Path, spec: str) -> Cases:
    """A model's cases, by what was asked."""
    found = cases(place)
    known = dict.fromkeys(each.model for each in found.values())
    chosen = [model for model in known if spec in (model, model_name(model)) or model == spelled(spec)]
    if not chosen:
        near = did_you_mean(spec, [*known])
        raise ReportError(f"--models: {place} has no model '{spec}'{near} Its models are: {', '.join(known)}.")
    return {
        (each.case.replace(f"/{chosen[0]}", "", 1), each.protocol): each
        for each in found.values()
        if each.model == chosen[0]
    }


def spelled(spec: str) -> str:
    """A model as records spell it; what cannot be read stays as it is."""
    try:
        return str(parse(spec))
    except SpecError:
        return spec


def table(sides: Sides) -> Table:
    """Every number that both sides have, the surest changes first."""
    pairs = matched(sides)
    different = {key: found for key, pair in pairs.items() if (found := differences(*pair, WHEN))}
    refused = [f"{label(key)} is not compared: {'; '.join(found)}." for key, found in different.items()]
    if len(different) == len(pairs):
        raise ReportError(
            f"{sides.names[0]} and {sides.names[1]} are not about the same. {' '.join(refused)} Run both on the same "
            "data, with the same ground truths and options."
        )
    kept = {key: pair for key, pair in pairs.items() if key not in different}
    notes = (*SAID, f"Before: {sides.names[0]}. After: {sides.names[1]}.", *refused, *lone(sides), *gone(kept))
    rows = tested([(key, each) for key, pair in kept.items() for each in compared(*pair)])
    title = f"{sides.names[0]} and {sides.names[1]}: {len(rows)} numbers compared"
    context = dict(zip(WHEN, sides.names, strict=True))
    return Table(title, (*COLUMNS, *TESTED), rows, (*notes, *changed(kept)), context)


Key = tuple[str, str]
Pairs = Mapping[Key, tuple[Evidence, Evidence]]


def matched(sides: Sides) -> Pairs:
    """The cases of both sides."""
    found = {key: (sides.before[key], sides.after[key]) for key in sorted(sides.before) if key in sides.after}
    if not found:
        had = [", ".join(map(label, sorted(side))) for side in (sides.before, sides.after)]
        raise ReportError(
            f"{sides.names[0]} and {sides.names[1]} have no case in common: {had[0]} on one side, {had[1]} on the "
            "other. Compare what was asked in the same way; two models of two runs, with --models SPEC SPEC."
        )
    return found


def tested(found: Sequence[tuple[Key, Compared]]) -> tuple[Row, ...]:
    """The rows: by p after correction, then by the size of the change, then by name."""
    adjusted = holm([each.p for _, each in found]).tolist()
    rows = [(key, each, p) for (key, each), p in zip(found, adjusted, strict=True)]
    return tuple(row(*one) for one in sorted(rows, key=lambda one: order(*one)))


def order(key: Key, found: Compared, adjusted: float) -> tuple[bool, float, float, Key, str]:
    """What rows are sorted by; what could not be tested comes last."""
    size = 0.0 if isnan(found.delta) else -abs(found.delta)
    return isnan(adjusted), 0.0 if isnan(adjusted) else adjusted, size, key, found.name


def row(key: Key, found: Compared, adjusted: float) -> Row:
    """One number."""
    pairs = found.method == "exact McNemar"
    counts: tuple[Cell, Cell] = (len(found.lost), found.gained) if pairs else (None, None)
    proof = found.proof
    return (
        *key,
        *(proof.name, proof.labels, proof.category),
        *(Number(found.before), Number(found.after), change(found)),
        *(found.n, *counts),
        *(Number(p, style=CHANCE) for p in (found.p, adjusted)),
        found.method,
    )


def change(found: Compared) -> Number:
    """A change with its interval, where there is one."""
    known = found.ci is not None and not any(map(isnan, found.ci))
    return Number(found.delta, ci=(found.ci.low, found.ci.high) if found.ci and known else None, style=CHANGED)


def lone(sides: Sides) -> Iterator[str]:
    """Cases that one side has alone."""
    for when, mine, other in ((WHEN[0], sides.before, sides.after), (WHEN[1], sides.after, sides.before)):
        if only := [label(key) for key in sorted(mine) if key not in other]:
            yield f"Only {when}, and not compared: {', '.join(only)}."


def gone(pairs: Pairs) -> Iterator[str]:
    """Numbers that have a value on one side alone."""
    for when, step in ((WHEN[0], 1), (WHEN[1], -1)):
        for key, pair in pairs.items():
            if only := missing(*pair[::step]):
                yield f"{label(key)} has a value only {when}: {', '.join(only)}."


def changed(pairs: Pairs) -> Iterator[str]:
    """What else is different, once for all cases that it is said of."""
    said: dict[str, list[Key]] = {}
    for key, pair in pairs.items():
        for remark in remarks(*pair, WHEN):
            said.setdefault(remark, []).append(key)
    for remark, keys in said.items():
        yield f"{remark}{'.' if len(keys) == len(pairs) else f': {listed(keys)}.'}"


def listed(keys: Iterable[Key]) -> str:
    """Cases by name."""
    return ", ".join(map(label, keys))


def label(key: Key) -> str:
    """A case and how it was asked."""
    return f"{key[0]} ({key[1]})"

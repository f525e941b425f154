"""The tables of compressed variants, and the sentences below them."""

from collections.abc import Iterator, Sequence
from math import isnan
from statistics import median

from eyechart.gate.comparison.compare_metrics import MetricComparison
from eyechart.gate.verdicts.value_texts import format_points
from eyechart.inference.engines.speed import IMAGES, ROUNDS
from eyechart.messages.plurals import count_of
from eyechart.reports.comparison.compression import (
    EQUAL,
    KEPT,
    NOT_SHOWN,
    ORIGINAL,
    WORSE,
    CompressedCase,
)
from eyechart.reports.comparison.compression_chart import describe_dominated
from eyechart.reports.comparison.verdict_cells import change_cell
from eyechart.reports.tables.render import Cell, NumberCell, NumberFormat, Row, Table

MEGABYTES, RATIO, SCORE_CHANGE = NumberFormat(1e-6, 2), NumberFormat(1, 2), NumberFormat(1, 6)
IMAGES_PER_SECOND = NumberFormat(1, 1)
BUSY = 0.1  # share of the machine that other processes take before a note names it
COLUMNS = (
    *("Variant", "Verdict", "MB", "Smaller, ×", "Images/s", "Faster, ×", "{metric}, %", "Change, points"),
    *("Flips", "Flips, %", "Lost", "Gained", "Noise floor", "Excludes, points", "Largest score change"),
)
SPEED_NOTES = (
    "Faster: median of the ratios of {rounds} rounds of {images} prepared images, in turns with the original.",
    "Brackets of faster: the smallest and the largest ratio of a round.",
)
NOTES = (
    "Flips: changed predictions. Lost: right before and wrong after; gained: wrong before and right after.",
    "Noise floor: the smallest loss, in points, that the gate detects with a probability of 80 % beside these changes.",
    "Excludes: a loss of so many points or more is excluded, one-sided at {level}.",
    "equal: every score moved less than half of the smallest top-1 margin, so that no answer can have changed.",
    "kept: a loss of {margin} is excluded. worse: a significant loss at {alpha}. not shown: none of these.",
)


def compression_tables(cases: Sequence[CompressedCase]) -> list[Table]:
    """Return a table for each case of the original, with a row for it and one for each variant."""
    return [
        _case_table([case for case in cases if case.key == key]) for key in dict.fromkeys(case.key for case in cases)
    ]


def _case_table(cases: Sequence[CompressedCase]) -> Table:
    first, rule = cases[0], cases[0].comparison.rule
    case, protocol = first.key
    number = first.primary.comparison if first.primary else None
    columns = tuple(column.format(metric=number.metric.name if number else "Score") for column in COLUMNS)
    words = {
        "margin": format_points(first.margin),
        "alpha": f"{rule.alpha:g}",
        "level": f"{1 - rule.alpha:g}",
    }
    images = f"{count_of(first.flips.n, 'sample')}, {first.floor.n:,} with an outcome"
    return Table(
        f"{first.original.name} on {case} ({protocol}): {images}; margin {words['margin']}",
        columns,
        (_original_row(cases, number), *map(_variant_row, cases)),
        (
            *(note.format(**words) for note in NOTES),
            *dict.fromkeys(
                f"{item.variant.name} differs in {item.variant.difference}."
                for item in cases
                if item.variant.difference
            ),
            *_speed_notes(cases),
            *(note for item in cases for note in item.notes),
            *_conclusions(cases),
        ),
        {"case": case, "protocol": protocol},
    )


def _speed_notes(cases: Sequence[CompressedCase]) -> Iterator[str]:
    """Yield how the speed pass was made, if it was, and whether other processes took much of the machine."""
    speeds = [case.variant.speed for case in cases if case.variant.speed]
    if speeds:
        yield from (note.format(rounds=ROUNDS, images=IMAGES) for note in SPEED_NOTES)
        yield f"Speed with {count_of(speeds[0].threads, 'thread')}, unless a specification says threads=."
        if (others := max(speed.others for speed in speeds)) >= BUSY:
            yield f"Other processes took up to {others:.0%} of the machine: compare ratios, not images per second."


def _original_row(cases: Sequence[CompressedCase], number: MetricComparison | None) -> Row:
    case = cases[0]
    size = NumberCell(case.original.size, style=MEGABYTES) if case.original.size else None
    value = NumberCell(number.before) if number else None
    speeds = [case.variant.speed.original for case in cases if case.variant.speed]
    speed = NumberCell(median(speeds), style=IMAGES_PER_SECOND) if speeds else None
    return (ORIGINAL, None, size, None, speed, None, value, *([None] * (len(COLUMNS) - 7)))


def _variant_row(case: CompressedCase) -> Row:
    number = case.primary.comparison if case.primary else None
    limit = case.primary.limit if case.primary else float("nan")
    speed = case.variant.speed
    change: tuple[Cell, Cell] = (NumberCell(number.after), change_cell(number)) if number else (None, None)
    return (
        case.variant.name,
        case.verdict,
        NumberCell(case.variant.size, style=MEGABYTES) if case.variant.size else None,
        NumberCell(case.smaller, style=RATIO),
        NumberCell(speed.images_per_second, style=IMAGES_PER_SECOND) if speed else None,
        NumberCell(speed.ratio, ci=speed.rounds, style=RATIO) if speed else None,
        *change,
        case.flips.changed,
        NumberCell(case.flips.rate, ci=case.flips.ci),
        *(case.floor.lost, case.floor.gained),
        NumberCell(case.floor.detectable, ci=case.floor.detectable_ci),
        NumberCell(limit),
        NumberCell(case.scores and case.scores.largest, style=SCORE_CHANGE),
    )


def _conclusions(cases: Sequence[CompressedCase]) -> Iterator[str]:
    """Yield a sentence for each verdict that some variants have, with what settles those that are not shown."""
    for verdict in (EQUAL, KEPT, WORSE, NOT_SHOWN):
        if names := [case.variant.name for case in cases if case.verdict == verdict]:
            yield f"{verdict}: {', '.join(names)}."
    if names := [
        case.variant.name
        for case in cases
        if case.verdict in (EQUAL, KEPT) and case.is_faster and round(case.smaller, 2) > 1
    ]:
        yield f"Smaller, faster in every round, and equal or kept: {', '.join(names)}."
    yield from describe_dominated(cases)
    for case in cases:
        if case.verdict == NOT_SHOWN and case.primary is not None:
            more = case.primary.samples_to_decide()
            limit = case.primary.limit
            settled = f" About {count_of(more, 'more image')} would exclude it if there is none." if more else ""
            below = "" if isnan(limit) else f"; one of {format_points(limit)} is"
            yield f"{case.variant.name}: a loss of {format_points(case.margin)} is not excluded{below}.{settled}"

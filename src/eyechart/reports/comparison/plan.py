"""`plan`: how many samples the gate needs for a verdict, before they are asked about."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from math import ceil
from pathlib import Path

from eyechart.errors import NotComparableError
from eyechart.gate.comparison.compare_metrics import compare_metrics, differences
from eyechart.gate.sequential.stop_early import block_sizes, level_of_case
from eyechart.gate.verdicts.value_texts import format_points
from eyechart.reports.comparison.run_comparison import match_runs
from eyechart.reports.tables.render import Cell, NumberCell, Row, Table
from eyechart.results.shared_samples import share_samples
from eyechart.statistics.intervals import effective_wilson
from eyechart.statistics.noninferiority import margin_power
from eyechart.statistics.sample_sizes import samples_for_power, sequential_samples
from eyechart.statistics.significance import loss_power

SUPPOSED = 0.05  # the proportion of samples whose outcome changes, if no earlier comparison is given
LARGER = 1.6  # how many times as often outcomes may change as was supposed
UPPER = 0.6  # the level of an interval whose upper end is a limit of 80 %
SEQUENTIAL = 4  # times the fixed number of samples, up to which the sequential gate is simulated
NO_LOSS, LOSS = "no loss of the margin is shown", "a loss of the margin is found"


@dataclass(frozen=True)
class _Expectation:
    """What is expected of the comparison that is planned.

    `discordance` is the proportion of samples whose outcome changes, and `larger` the one that it may be as well. `n`
    divided by `design_effect` is the number of independent samples. `seconds` and `cost` are for one sample.
    """

    discordance: float
    larger: float
    design_effect: float = 1.0
    seconds: float | None = None
    cost: float | None = None
    source: str = ""


def suppose(discordance: float, design_effect: float) -> _Expectation:
    """Return the expectation without an earlier comparison."""
    larger = min(1.0, LARGER * discordance)
    source = (
        f"{100 * discordance:.4g} % of outcomes are supposed to change, and the design effect to be "
        f"{design_effect:.4g}. Name two runs, BEFORE AFTER, to take both from them."
    )
    return _Expectation(discordance, larger, design_effect, source=source)


def expect_as_before(before: Path, after: Path) -> _Expectation:
    """Return the expectation from two earlier runs: from the primary metrics of the cases that both have.

    Raises:
        NotComparableError: If no primary metric is a proportion over samples that both have.
    """
    sides = match_runs([before, after])
    compared = [
        comparison
        for key, now in sides.after.items()
        if key in sides.before
        for old, new, _ in [share_samples(sides.before[key], now)]
        if not differences(old, new)
        for comparison in compare_metrics(old, new)
        if comparison.primary and comparison.is_proportion and comparison.n
    ]
    if not compared:
        raise NotComparableError(
            f"{sides.names[0]} and {sides.names[1]} have no accuracy over the same samples in common. Name two runs of "
            "the same cases, or use --discordance=SHARE."
        )
    n = sum(comparison.n for comparison in compared)
    effective = sum(comparison.effective_n for comparison in compared)
    changed = sum(comparison.n_lost + comparison.gained for comparison in compared)
    cases = {comparison.case for comparison in compared}
    records = [record for record in sides.records if record.case in cases]
    samples = sum(record.data.n for record in records)
    costs = [record.usage.cost for record in records if record.usage and record.usage.cost is not None]
    source = (
        f"{changed:,} of {n:,} outcomes changed between {sides.names[0]} and {sides.names[1]}; the larger share is the "
        "upper limit of 80 %."
    )
    return _Expectation(
        changed / n,
        effective_wilson(changed / n, effective, UPPER).high,
        max(1.0, n / effective),
        sum(record.seconds for record in records) / samples if samples else None,
        sum(costs) / samples if samples and len(costs) == len(records) else None,
        source,
    )


def plan_table(expected: _Expectation, margin: float, models: int, alpha: float, power: float) -> Table:
    """Return the numbers of samples that both verdicts need, as often as outcomes are expected to change."""
    shares = dict.fromkeys([expected.discordance, expected.larger])
    rows = [_plan_row(expected, NO_LOSS, share, margin, models, alpha, power) for share in shares]
    with_loss = dict.fromkeys(max(share, margin) for share in shares)  # where samples are lost, as many change
    rows += [_plan_row(expected, LOSS, share, margin, models, alpha, power) for share in with_loss]
    columns = ("Verdict", "Changed, %", "Each model", *(("All models",) if models > 1 else ()), "Sequential")
    timed = (*(("Time",) if expected.seconds else ()), *(("Cost, USD",) if expected.cost else ()))
    title = f"Samples for a margin of {format_points(margin)}" + (f" and {models} models" if models > 1 else "")
    return Table(title, (*columns, *timed), tuple(rows), tuple(_notes(expected, models, alpha, power)), {})


def _plan_row(
    expected: _Expectation, verdict: str, share: float, margin: float, models: int, alpha: float, power: float
) -> Row:
    """Return the row of a verdict and a proportion of changed samples."""
    level = alpha / models if verdict == LOSS else alpha

    def reached(n: int) -> float:
        return loss_power(n, share, margin, level) if verdict == LOSS else margin_power(n, share, margin, level)

    fixed = [samples_for_power(reached, target) for target in dict.fromkeys((power, power ** (1 / models)))]
    samples = [None if n is None else ceil(n * expected.design_effect) for n in fixed]
    sequential: Cell = None
    if fixed[0] is not None and expected.design_effect == 1:
        looks = [*block_sizes(SEQUENTIAL * fixed[0])]
        sequential_level = level_of_case(alpha, models) if verdict == LOSS else alpha
        loss = margin if verdict == LOSS else 0.0
        median, decided = sequential_samples(looks, share, loss, sequential_level, None if verdict == LOSS else margin)
        sequential = round(median) if decided > 0.5 else f"above {looks[-1]}"
    cells: list[Cell] = [verdict, NumberCell(share), *samples, sequential]
    most = samples[-1]
    if expected.seconds:
        cells.append(None if most is None else str(timedelta(seconds=round(models * most * expected.seconds))))
    if expected.cost:
        cells.append(None if most is None else f"{models * most * expected.cost:.2f}")
    return tuple(cells)


def _notes(expected: _Expectation, models: int, alpha: float, power: float) -> Iterator[str]:
    """Yield what the numbers mean, and what they rest on."""
    yield (
        f"Each model: samples with which a model has the verdict with a probability of {100 * power:.4g} %, by the "
        "exact power of the gate's tests."
    )
    if models > 1:
        yield f"All models: the same for all {models} models together, if their changes are independent."
        yield (
            f"A loss is tested at {alpha:g} / {models}, since each model may show one by chance, and no loss at "
            f"{alpha:g}, as the gate does."
        )
    yield f"{expected.source} Plan for the larger share: with more changes than supposed, the verdict is often missed."
    if expected.design_effect > 1:
        yield (
            f"Samples of one image or observation are alike: a design effect of {expected.design_effect:.3g}. "
            "The sequential gate needs independent samples."
        )
    else:
        yield "Sequential: the median of --eye-sequential, simulated; it may stop far earlier or later."
    if expected.seconds:
        yield "Time: of all models, as the tests of the run AFTER took; answers that it read from the store took none."

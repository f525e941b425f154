"""The effect of range lists: Figures 6 and 19 of arXiv 2603.27033."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from eyechart.metrics.intervals import t_interval

from ..oodbench.cases import nothing_to_show
from ..render import PERCENT, Cell, NumberCell, NumberFormat, Row, Table
from ..runs import CaseRun, Runs
from .cases import ELIGIBLE, RANGE, SPECIES, metric_estimate
from .model_families import SETS, TableCases, model_family, select_cases

MEASURES = {"IG": ("ig", "A"), "UA/A": ("ua_a", "all")}
CHANGED = NumberFormat(100, 2, signed=True)
EVERY = "All models"
MEANING = (
    "Without: every species of the taxonomy; with: of each image the species of its list alone. Both are about the "
    "same images, those with a location and candidates."
)
GAIN = "IG: the area under accuracy by information gain. UA/A: the area under unanswerable by answerable abstained on."
PAIRED = (
    "Δ: with less without, in % points. Brackets: 95 % intervals, bootstrap over observations, each with all its "
    "images; those of Δ paired."
)
OVER = "Mean and SD over models; brackets: Student's 95 % interval of the mean. Rose: models whose number rose."


@dataclass(frozen=True)
class Effect:
    """One metric of a model without and with range lists, over the same images."""

    model: str
    family: str
    measure: str
    without: NumberCell
    with_list: NumberCell
    delta: NumberCell

    @property
    def numbers(self) -> tuple[NumberCell, NumberCell, NumberCell]:
        """The numbers of a table row."""
        return self.without, self.with_list, self.delta


@dataclass(frozen=True)
class Effects:
    """The effects of the models on the same images, grouped by model."""

    table_cases: TableCases
    effects: tuple[Effect, ...]

    def of(self, measure: str, family: str = EVERY) -> list[Effect]:
        """Return the effects on one metric, of all models or of a family."""
        return [e for e in self.effects if e.measure == measure and family in (EVERY, e.family)]

    @property
    def has_values(self) -> bool:
        """Whether any effect has a value."""
        return any(number.is_defined for effect in self.effects for number in effect.numbers)


def collect_effects(pool: Runs, name: str) -> list[Effects]:
    """Return the effects of each table; raises ReportError if no model has a value."""
    every = [
        Effects(table_cases, tuple(iterate_effects(table_cases)))
        for table_cases in select_cases(pool, SPECIES, name, None, RANGE)
    ]
    kept = [effects for effects in every if effects.has_values]
    if not kept:
        raise nothing_to_show(pool, name, "needs answerable birds with a list", f'pytest -k "realbirdid and {SPECIES}"')
    return kept


def iterate_effects(table_cases: TableCases) -> Iterator[Effect]:
    """Yield the effects on both metrics for every model."""
    for entry in table_cases.group.cases:
        for measure, (name, of) in MEASURES.items():
            sides = [metric_estimate(entry, name, labels, of) for labels in (ELIGIBLE, RANGE)]
            change = change_estimate(entry, name, of, *sides)
            yield Effect(table_cases.names[id(entry)], model_family(entry), measure, sides[0], sides[1], change)


def change_estimate(entry: CaseRun, name: str, of: str, before: NumberCell, after: NumberCell) -> NumberCell:
    """Return the paired change of the record, or the difference if the record has none."""
    if (metric := entry.metric(f"{name}_change", RANGE, of)) is not None:
        return NumberCell(metric.value, metric.n, metric.ci, style=CHANGED)
    if before.value is None or after.value is None:
        return NumberCell(None, style=CHANGED)
    return NumberCell(after.value - before.value, after.n, style=CHANGED)


def f19(pool: Runs, _: str | None) -> list[Table]:
    """Return Figure 19 as a table, one row per model."""
    return [f19_table(table) for table in collect_effects(pool, "realbirdid-F19")]


def f19_table(effects: Effects) -> Table:
    """Return the table of models on the same images."""
    heads = [f"{measure} {side}" for measure in MEASURES for side in ("without", "with", "Δ")]
    effects_by_case = {
        id(e): effects.effects[2 * at : 2 * at + 2] for at, e in enumerate(effects.table_cases.group.cases)
    }

    def cells(entry: CaseRun) -> Sequence[Cell]:
        return [number for effect in effects_by_case[id(entry)] for number in effect.numbers]

    return effects.table_cases.sections("effect of range lists (%)", heads, cells, MEANING, GAIN, PAIRED, SETS)


def f6(pool: Runs, _: str | None) -> list[Table]:
    """Return Figure 6 as a table: mean and standard deviation over the models of a family."""
    return [f6_table(table) for table in collect_effects(pool, "realbirdid-F6")]


def f6_table(effects: Effects) -> Table:
    """Return the table of families on the same images, with both metrics."""
    names = [name for name, _ in effects.table_cases.families]
    groups = [*names, EVERY] if len(names) > 1 else names
    rows = [row for name in groups for measure in MEASURES for row in spread_rows(effects, name, measure)]
    columns = ("Models", "Metric", "Number", "n", "without", "SD", "with", "SD with", "Δ", "SD of Δ", "Rose")
    return effects.table_cases.table(
        "effect of range lists over models (%)", columns, rows, MEANING, GAIN, "Δ: with less without.", OVER, SETS
    )


def spread_rows(effects: Effects, name: str, measure: str) -> Iterator[Row]:
    """Yield the row of one family and metric."""
    complete = [e for e in effects.of(measure, name) if all(number.is_defined for number in e.numbers)]
    if complete:
        sides = zip(*(effect.numbers for effect in complete), strict=True)
        rose = sum((effect.delta.value or 0) > 0 for effect in complete)
        yield (
            name,
            measure,
            len(complete),
            complete[0].with_list.n,
            *(c for side in sides for c in mean_and_sd(side)),
            rose,
        )


def mean_and_sd(numbers: Sequence[NumberCell]) -> list[NumberCell]:
    """Return the mean over models with Student's interval, and the standard deviation; neither for one model."""
    values, style = [number.value or 0.0 for number in numbers], numbers[0].style
    if len(values) < 2:
        return [NumberCell(values[0], style=style), NumberCell(None)]
    low, high = t_interval(values)
    least = -1.0 if style is CHANGED else 0.0  # the range of the metric
    interval = (max(low, least), min(high, 1.0))
    return [NumberCell(fmean(values), ci=interval, style=style), NumberCell(stdev(values), style=PERCENT)]


TABLES: dict[str, Callable[[Runs, str | None], list[Table]]] = {"realbirdid-F6": f6, "realbirdid-F19": f19}

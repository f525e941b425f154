"""How often models abstain under equivalent prompts: Table 4 and Figure 7 of arXiv 2603.27033."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from eyechart.data.observations import REASONS

from ..oodbench.cases import nothing_to_show
from ..oodbench.pairs import Columns, read_artifact
from ..render import P_VALUE, PERCENT, Cell, NumberCell, NumberFormat, Row, Table
from ..runs import CaseRun, Runs
from .cases import ABSTENTION, WORDS
from .model_families import TableCases, select_cases, styled_metric

RATE, THOUSANDTHS, STATISTIC = "abstention", NumberFormat(1, 3), NumberFormat(1, 2)
ISSUES = {"quality": REASONS[0], "angle/occlusion": REASONS[1], "vocalization": REASONS[2]}  # as Table 4 calls them
SETS = {"UA": "unanswerable", "A": "answerable"}
P_ABSTAIN_NOTE = (
    "The share of answers that abstain, for whatever reason, of the unanswerable images with an issue, over all "
    "wordings of a level; n: such answers. Brackets: 95 % intervals, bootstrap over observations, each with all its "
    "images and their answers."
)
SPREAD_NOTE = (
    "Mean, SD, Min and Max: of the share of images abstained on, over a level's wordings; the SD is that of a sample. "
    "Brackets: 95 % intervals over observations, each with all its images, of Min and Max Wilson's."
)
COCHRAN_NOTE = (
    "Q: Cochran's, over the images that all wordings have an answer to, divided by the design effect of observations; "
    "p: of its chi-squared with df."
)


@dataclass(frozen=True)
class Level:
    """One model at one prompt level, on unanswerable (`UA`) or answerable (`A`) images."""

    entry: CaseRun
    model: str
    images: str
    name: str

    def number(self, name: str, style: NumberFormat = PERCENT) -> NumberCell:
        """Return one metric of the level."""
        return styled_metric(self.entry, name, WORDS, f"{self.images}/{self.name}", style)

    @property
    def mean(self) -> NumberCell:
        """The mean abstention rate over prompts."""
        return self.number(RATE)

    @property
    def sd(self) -> NumberCell:
        """The standard deviation of the rates over prompts."""
        return self.number(f"{RATE}_sd")

    @property
    def points(self) -> list[NumberCell]:
        """The abstention rate of each prompt."""
        rates = (m for m in self.entry.record.metrics if m.name == RATE and m.subset == self.images)
        metrics = [m for m in rates if m.prompt.startswith(f"{self.name}/")]
        return [NumberCell(m.value, m.n, m.ci) for m in sorted(metrics, key=lambda m: m.prompt)]

    @property
    def min_and_max(self) -> tuple[NumberCell, NumberCell]:
        """The lowest and the highest rate of a prompt."""
        some = [point for point in self.points if point.value is not None]
        if not some:
            return NumberCell(None), NumberCell(None)
        values = [point.value or 0.0 for point in some]
        return some[values.index(min(values))], some[values.index(max(values))]

    @property
    def cochran_test(self) -> tuple[NumberCell, int | None, NumberCell]:
        """Cochran's Q, its degrees of freedom, and its p-value."""
        statistic = self.number("cochran_q", STATISTIC)
        df = len(self.points) - 1 if statistic.is_defined else None
        return statistic, df, self.number("cochran_p", P_VALUE)


@dataclass(frozen=True)
class TableLevels:
    """The levels of all models on the same images, grouped by model."""

    table_cases: TableCases
    levels: tuple[Level, ...]


def collect_levels(pool: Runs, name: str) -> list[TableLevels]:
    """Return the levels of every group of comparable cases."""
    return [
        TableLevels(table_cases, tuple(iterate_levels(table_cases)))
        for table_cases in select_cases(pool, ABSTENTION, name, None, WORDS)
    ]


def unanswerable_levels(pool: Runs, name: str) -> list[TableLevels]:
    """Return the levels of groups with unanswerable images; raises ReportError if there are none."""
    tables = [table for table in collect_levels(pool, name) if any(level.images == "UA" for level in table.levels)]
    if not tables:
        what = "shows how models abstain on unanswerable images, and none was asked about"
        raise nothing_to_show(pool, name, what, "pytest -k realbirdid --eye-data=ROOT, with unanswerable birds")
    return tables


def iterate_levels(table_cases: TableCases) -> Iterator[Level]:
    """Yield the levels of every model in the order of the prompt set, unanswerable images first."""
    for entry in table_cases.group.cases:
        means = [m for m in entry.record.metrics if m.name == RATE and "/" not in m.prompt]
        for images in SETS:
            yield from (
                Level(entry, table_cases.names[id(entry)], images, m.prompt) for m in means if m.subset == images
            )


def t4(pool: Runs, _: str | None) -> list[Table]:
    """Return Table 4: the abstention rate by true reason."""
    return [t4_table(levels) for levels in unanswerable_levels(pool, "realbirdid-T4")]


def t4_table(levels: TableLevels) -> Table:
    """Return the table of models on the same images, one row per level."""
    rows: list[Row] = [
        (level.model, level.name, *(p_abstain(level, issue) for issue in ISSUES.values()))
        for level in levels.levels
        if level.images == "UA"
    ]
    return levels.table_cases.table(
        "P(abstain) by ground-truth issue", ("Model", "Level", *ISSUES), rows, P_ABSTAIN_NOTE
    )


def p_abstain(level: Level, issue: str, style: NumberFormat = THOUSANDTHS) -> NumberCell:
    """Return the abstention rate on images with a reason."""
    return styled_metric(level.entry, "p_abstain", WORDS, f"{issue}/{level.name}", style)


def f7(pool: Runs, _: str | None) -> list[Table]:
    """Return Figure 7 as a table: the spread of rates over prompts, and Cochran's Q."""
    return [f7_table(levels) for levels in collect_levels(pool, "realbirdid-F7")]


def f7_table(levels: TableLevels) -> Table:
    """Return the table of models on the same images, one row per level."""
    columns = ("Model", "Level", "Images", "Wordings", "Mean", "SD", "Min", "Max", "Q", "df", "p")
    rows = [(level.model, level.name, SETS[level.images], *spread_cells(level)) for level in levels.levels]
    return levels.table_cases.table("abstention over equivalent wordings (%)", columns, rows, SPREAD_NOTE, COCHRAN_NOTE)


def spread_cells(level: Level) -> list[Cell]:
    """Return the cells of a level."""
    return [len(level.points), level.mean, level.sd, *level.min_and_max, *level.cochran_test]


def prompt_tables(pool: Runs, _: str | None) -> list[Table]:
    """Return each prompt with its abstention rate on unanswerable images: the points of Figure 7."""
    return [
        prompt_table(table_cases) for table_cases in select_cases(pool, ABSTENTION, "realbirdid-wordings", None, WORDS)
    ]


def prompt_table(table_cases: TableCases) -> Table:
    """Return the table of models on the same images, one row per model and prompt."""
    rows = [
        (table_cases.names[id(e)], *row)
        for e in table_cases.group.cases
        for row in read_artifact(e.record, e.folder, "wordings", prompt_rows)
    ]
    columns = ("Model", "Level", "Wording", "Text", "abstained", "Abstention")
    note = "Of the unanswerable images with an answer. Brackets: 95 % Wilson intervals over observations."
    return table_cases.table("abstention by wording (%)", columns, rows, note)


def prompt_rows(columns: Columns) -> Sequence[Row]:
    """Return the rows of the csv."""
    places = range(len(columns["level"]))
    return [
        (
            *(columns[name][at] for name in ("level", "wording", "text")),
            int(columns["abstained"][at]),
            prompt_rate(columns, at),
        )
        for at in places
    ]


def prompt_rate(columns: Columns, at: int) -> NumberCell:
    """Return the rate of one prompt with its interval."""
    value, low, high = (float(columns[name][at] or "nan") for name in ("rate", "ci_low", "ci_high"))
    return NumberCell(value, int(columns["n"][at]), (low, high))


TABLES: dict[str, Callable[[Runs, str | None], list[Table]]] = {
    "realbirdid-T4": t4,
    "realbirdid-F7": f7,
    "realbirdid-wordings": prompt_tables,
}

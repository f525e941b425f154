"""Reasons of abstention against true reasons: Figure 8 of arXiv 2603.27033."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from eyechart.data.observations import REASONS
from eyechart.gate.evidence import RESAMPLES
from eyechart.metrics.degenerate_intervals import share_interval
from eyechart.metrics.resampling import cluster_bootstrap_totals, ratios
from eyechart.realbirdid.abstention import ABSTAIN

from ..answers import Floats, Ints
from ..oodbench.measures import interval_or_none
from ..oodbench.pairs import PREDICTIONS, Columns, read_artifact
from ..render import PERCENT, Cell, NumberCell, Row, Table
from ..runs import Runs
from .abstention import Level, TableLevels, p_abstain, unanswerable_levels
from .cases import WORDS
from .model_families import TableCases, styled_metric

ALL, UNKNOWN = "all", "not known"
INITIALS = {"image quality": "Q", "angle/occlusion": "A", "vocalization": "V"}
MEANING = (
    "Rows: what is the matter with an image (Q image quality, A angle or occlusion, V vocalization); columns: the "
    "reason that the model gives. Only answers that abstain, to unanswerable images, of all wordings of a level; % of "
    "the row, n answers. Brackets: 95 % intervals, bootstrap over observations, each with all its images and answers."
)
RATES = (
    "AR: the share of all answers to unanswerable images that abstain, in a row those with its issue (n answers), in "
    "the row of all the mean over wordings (n images). Right: of the answers that abstain, those that give the image's "
    "own issue."
)
Counts = Mapping[str, tuple[Ints, Ints]]  # by issue: (m, reasons) of each answer that abstains, and its observation


@dataclass(frozen=True)
class Confusion:
    """The confusion matrix of one model at one prompt level: true issues by given reasons."""

    level: Level
    reasons: tuple[str, ...]
    counts: Counts

    @property
    def issues(self) -> tuple[str, ...]:
        """The rows: the three issues, and unknown issues if there are any."""
        return (*REASONS, *[UNKNOWN] * (UNKNOWN in self.counts))

    def totals(self, issue: str) -> Ints:
        """Return the count of each reason for an issue, or for all issues."""
        chosen = self.issues if issue == ALL else (issue,)
        none = np.zeros(len(self.reasons), np.int64)
        totals: Ints = sum((self.counts[row][0].sum(axis=0) for row in chosen if row in self.counts), none)
        return totals

    def shares(self, issue: str) -> list[NumberCell]:
        """Return the share of each reason in the row of an issue."""
        totals = self.totals(issue)
        n = int(totals.sum())
        if not n:
            return [NumberCell(None, 0)] * len(totals)
        units = len({*self.counts[issue][1].tolist()})
        return [
            NumberCell(
                total / n, n, interval_or_none(share_interval(self.bootstrap_samples(issue, at), total / n, units))
            )
            for at, total in enumerate(totals.tolist())
        ]

    def bootstrap_samples(self, issue: str, at: int) -> Floats:
        """Return the share of one reason (times,) in resamples of observations, drawn as those of the record are."""
        rows, observations = self.counts[issue]
        counts = np.column_stack([rows[:, at], rows.sum(axis=1)])
        drawn = cluster_bootstrap_totals(counts, observations, RESAMPLES, self.level.entry.record.seed)
        return ratios(drawn[:, 0], drawn[:, 1])

    @cached_property
    def rate(self) -> NumberCell:
        """The abstention rate over all responses."""
        return self.level.mean

    @property
    def correct_rate(self) -> NumberCell:
        """The proportion of abstentions whose reason is the true issue."""
        return styled_metric(self.level.entry, "correct_reason", WORDS, self.level.name, PERCENT)


@dataclass(frozen=True)
class Confusions:
    """The matrices of the models on the same images."""

    table_cases: TableCases
    confusions: tuple[Confusion, ...]

    @property
    def reasons(self) -> tuple[str, ...]:
        """All reasons that any model gives, the three issues first."""
        return tuple(dict.fromkeys(reason for confusion in self.confusions for reason in confusion.reasons))


def collect_confusions(pool: Runs, name: str) -> list[Confusions]:
    """Return the matrices of every model, one per level."""
    return [
        Confusions(levels.table_cases, tuple(read_confusions(levels))) for levels in unanswerable_levels(pool, name)
    ]


def read_confusions(levels: TableLevels) -> Iterator[Confusion]:
    """The matrices of the models on the same images."""
    for entry in levels.table_cases.group.cases:
        wanted = [level for level in levels.levels if level.entry is entry and level.images == "UA"]
        yield from read_artifact(entry.record, entry.folder, PREDICTIONS, partial(parse_confusions, levels=wanted))


def parse_confusions(columns: Columns, levels: Sequence[Level]) -> list[Confusion]:
    """Return the matrix of each level, over abstentions on unanswerable images."""
    names = ("prompt_level", "observation", "reason", "stated_reason", "target", "prediction")
    rows = [row[:4] for row in zip(*(columns[name] for name in names), strict=True) if row[4:] == (ABSTAIN, ABSTAIN)]
    places = {name: place for place, name in enumerate(dict.fromkeys(columns["observation"]))}  # as the record has them
    return [build_confusion(level, [row[1:] for row in rows if row[0] == level.name], places) for level in levels]


def build_confusion(level: Level, rows: Sequence[tuple[str, ...]], observations: Mapping[str, int]) -> Confusion:
    """Return the matrix of one level from rows of observation, issue and given reason."""
    reasons = tuple(dict.fromkeys((*REASONS, *sorted(reason for *_, reason in rows))))
    issues: dict[str, list[tuple[str, str]]] = {}
    for observation, issue, reason in rows:
        issues.setdefault(issue or UNKNOWN, []).append((observation, reason))
    return Confusion(
        level, reasons, {issue: one_hot_reasons(answers, observations, reasons) for issue, answers in issues.items()}
    )


def one_hot_reasons(
    answers: list[tuple[str, str]], observations: Mapping[str, int], reasons: tuple[str, ...]
) -> tuple[Ints, Ints]:
    """Return the one-hot reasons (m, reasons) and the observations (m,) of m responses."""
    places = np.array([reasons.index(reason) for _, reason in answers], np.int64)
    return np.eye(len(reasons), dtype=np.int64)[places], np.array([observations[name] for name, _ in answers], np.int64)


def f8(pool: Runs, _: str | None) -> list[Table]:
    """Return Figure 8 as a table: one row per issue with counts, shares and abstention rate."""
    return [f8_table(confusions) for confusions in collect_confusions(pool, "realbirdid-F8")]


def f8_table(confusions: Confusions) -> Table:
    """The models about the same images."""
    heads = [INITIALS.get(reason, reason) for reason in confusions.reasons]
    columns = ("Model", "Level", "Issue", *heads, *(f"{head} %" for head in heads), "AR", "Right")
    rows = [row for confusion in confusions.confusions for row in matrix_rows(confusion, confusions.reasons)]
    return confusions.table_cases.table("confusion of reasons", columns, rows, MEANING, RATES)


def matrix_rows(confusion: Confusion, reasons: tuple[str, ...]) -> Iterator[Row]:
    """Yield the rows of one matrix, then their total."""
    level = confusion.level
    for issue in confusion.issues:
        name = INITIALS.get(issue, issue)
        yield (
            level.model,
            level.name,
            name,
            *matrix_cells(confusion, issue, reasons),
            abstention_rate(confusion, issue),
            None,
        )
    totals = align_reasons(confusion, reasons, confusion.totals(ALL).tolist(), 0)
    yield level.model, level.name, ALL, *totals, *([None] * len(reasons)), confusion.rate, confusion.correct_rate


def matrix_cells(confusion: Confusion, issue: str, reasons: tuple[str, ...]) -> list[Cell]:
    """Return the counts and shares of one row, for all reasons of the table."""
    nothing = confusion.shares(issue)[0].n
    counts, shares = confusion.totals(issue).tolist(), confusion.shares(issue)
    return [
        *align_reasons(confusion, reasons, counts, 0),
        *align_reasons(confusion, reasons, shares, NumberCell(0.0 if nothing else None, nothing)),
    ]


def align_reasons(confusion: Confusion, reasons: tuple[str, ...], cells: Sequence[Cell], default: Cell) -> list[Cell]:
    """Return the cells of a model in the order of the reasons of all models."""
    own = dict(zip(confusion.reasons, cells, strict=True))
    return [own.get(reason, default) for reason in reasons]


def abstention_rate(confusion: Confusion, issue: str) -> NumberCell:
    """Return the abstention rate on images with an issue."""
    return p_abstain(confusion.level, issue, PERCENT)


TABLES: dict[str, Callable[[Runs, str | None], list[Table]]] = {"realbirdid-F8": f8}

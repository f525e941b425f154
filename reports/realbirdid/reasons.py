"""Why models say they abstain, and why they should: Figure 8 of arXiv 2603.27033."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from eyechart.data.observations import REASONS
from eyechart.gate.evidence import RESAMPLES
from eyechart.metrics.degenerate_intervals import share_interval
from eyechart.metrics.resampling import cluster_bootstrap_totals, ratios

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
    """One model at one level: issues and the reasons it gives for them."""

    level: Level
    reasons: tuple[str, ...]
    counts: Counts

    @property
    def issues(self) -> tuple[str, ...]:
        """The rows: the three issues, then images whose issue is not known."""
        return (*REASONS, *[UNKNOWN] * (UNKNOWN in self.counts))

    def totals(self, issue: str) -> Ints:
        """How often each reason is given for an issue, or for all."""
        chosen = self.issues if issue == ALL else (issue,)
        none = np.zeros(len(self.reasons), np.int64)
        found: Ints = sum((self.counts[each][0].sum(axis=0) for each in chosen if each in self.counts), none)
        return found

    def shares(self, issue: str) -> list[NumberCell]:
        """The same as shares of the row."""
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
        """The share of all answers that abstain."""
        return self.level.mean

    @property
    def correct_rate(self) -> NumberCell:
        """How often the reason is the image's own issue."""
        return styled_metric(self.level.entry, "correct_reason", WORDS, self.level.name, PERCENT)


@dataclass(frozen=True)
class Confusions:
    """The matrices of the models about the same images."""

    table_cases: TableCases
    confusions: tuple[Confusion, ...]

    @property
    def reasons(self) -> tuple[str, ...]:
        """Every reason that some model gives, the three first."""
        return tuple(dict.fromkeys(reason for each in self.confusions for reason in each.reasons))


def collect_confusions(pool: Runs, name: str) -> list[Confusions]:
    """Every model's matrices, one a level."""
    return [Confusions(each.table_cases, tuple(read_confusions(each))) for each in unanswerable_levels(pool, name)]


def read_confusions(each: TableLevels) -> Iterator[Confusion]:
    """The matrices of the models about the same images."""
    for entry in each.table_cases.group.cases:
        wanted = [level for level in each.levels if level.entry is entry and level.images == "UA"]
        yield from read_artifact(entry.record, entry.folder, PREDICTIONS, partial(parse_confusions, levels=wanted))


def parse_confusions(found: Columns, levels: Sequence[Level]) -> list[Confusion]:
    """The answers that abstain on an unanswerable image, level by level."""
    names = ("level", "observation", "reason", "extracted", "answerable", "abstained")
    rows = [row[:4] for row in zip(*(found[name] for name in names), strict=True) if row[4:] == ("0", "1")]
    places = {name: place for place, name in enumerate(dict.fromkeys(found["observation"]))}  # as the record has them
    return [build_confusion(level, [row[1:] for row in rows if row[0] == level.name], places) for level in levels]


def build_confusion(level: Level, rows: Sequence[tuple[str, ...]], observations: Mapping[str, int]) -> Confusion:
    """The answers of one level, each an observation, its issue and the reason that is given."""
    reasons = tuple(dict.fromkeys((*REASONS, *sorted(reason for *_, reason in rows))))
    issues: dict[str, list[tuple[str, str]]] = {}
    for observation, issue, reason in rows:
        issues.setdefault(issue or UNKNOWN, []).append((observation, reason))
    return Confusion(
        level, reasons, {issue: one_hot_reasons(given, observations, reasons) for issue, given in issues.items()}
    )


def one_hot_reasons(
    given: list[tuple[str, str]], observations: Mapping[str, int], reasons: tuple[str, ...]
) -> tuple[Ints, Ints]:
    """(m, reasons) which reason each answer gives, and (m,) the observation that it is about."""
    places = np.array([reasons.index(reason) for _, reason in given], np.int64)
    return np.eye(len(reasons), dtype=np.int64)[places], np.array([observations[name] for name, _ in given], np.int64)


def f8(pool: Runs, _: str | None) -> list[Table]:
    """Figure 8 as a table: a row an issue, with counts, shares of the row, and how often the model abstains."""
    return [f8_table(each) for each in collect_confusions(pool, "realbirdid-F8")]


def f8_table(each: Confusions) -> Table:
    """The models about the same images."""
    heads = [INITIALS.get(reason, reason) for reason in each.reasons]
    columns = ("Model", "Level", "Issue", *heads, *(f"{head} %" for head in heads), "AR", "Right")
    rows = [row for confusion in each.confusions for row in matrix_rows(confusion, each.reasons)]
    return each.table_cases.table("confusion of reasons", columns, rows, MEANING, RATES)


def matrix_rows(found: Confusion, reasons: tuple[str, ...]) -> Iterator[Row]:
    """One matrix, then all its rows together."""
    level = found.level
    for issue in found.issues:
        name = INITIALS.get(issue, issue)
        yield level.model, level.name, name, *matrix_cells(found, issue, reasons), abstention_rate(found, issue), None
    totals = align_reasons(found, reasons, found.totals(ALL).tolist(), 0)
    yield level.model, level.name, ALL, *totals, *([None] * len(reasons)), found.rate, found.correct_rate


def matrix_cells(found: Confusion, issue: str, reasons: tuple[str, ...]) -> list[Cell]:
    """Counts and shares of one row, under every reason that a table has."""
    nothing = found.shares(issue)[0].n
    counts, shares = found.totals(issue).tolist(), found.shares(issue)
    return [
        *align_reasons(found, reasons, counts, 0),
        *align_reasons(found, reasons, shares, NumberCell(0.0 if nothing else None, nothing)),
    ]


def align_reasons(found: Confusion, reasons: tuple[str, ...], cells: Sequence[Cell], default: Cell) -> list[Cell]:
    """The cells of a model's own reasons under those of all models."""
    own = dict(zip(found.reasons, cells, strict=True))
    return [own.get(reason, default) for reason in reasons]


def abstention_rate(found: Confusion, issue: str) -> NumberCell:
    """How often the model abstains on an issue."""
    return p_abstain(found.level, issue, PERCENT)


TABLES: dict[str, Callable[[Runs, str | None], list[Table]]] = {"realbirdid-F8": f8}

"""Compare degradations on OOD-H with those on hard samples: Figure 12 and Section C.1 of arXiv 2602.18094."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from eyechart.errors import ReportError
from eyechart.messages.plurals import count_of
from eyechart.oodbench.division.pairs import HARD_SAMPLES, ID, OOD_H
from eyechart.oodbench.statistics.statistical_tests import correlation, f_test, monte_carlo_p_value
from eyechart.oodbench.tables.division_tables import DIVISION
from eyechart.oodbench.tables.hard_sample_tables import COMMAND, hard_sample_pages
from eyechart.oodbench.tables.pair_frames import CONFUSION, read_pairs
from eyechart.oodbench.tables.pair_pages import PAPER
from eyechart.reports.figures.charts import CustomFigure
from eyechart.reports.figures.panels import create_panels, legend_above
from eyechart.reports.runs import CaseRun
from eyechart.reports.tables.definition import TableDefinition
from eyechart.reports.tables.render import FRACTION, PERCENT, NumberFormat, one_line
from eyechart.reports.tables.selection import Page
from eyechart.results.frames import clustered_share
from eyechart.statistics.array_types import Floats, Ints
from eyechart.statistics.intervals import Interval, clopper_pearson
from eyechart.statistics.resampling import percentile_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TIMES, SIZE = 1000, 500
POINTS = NumberFormat(10_000, 2)  # a variance of fractions in squared percentage points
COEFFICIENT = NumberFormat(1, 2)
VARIANCE, PEARSON, SPEARMAN = "variance", "Pearson", "Spearman"
EVIDENCE, STATISTIC, VALUE, BASELINE, P = "Evidence", "Statistic", "Value", "Baseline", "p"
SCALES = {
    VARIANCE: (10_000, "variance of falls (squared percentage points)"),
    PEARSON: (1, "Pearson's correlation"),
    SPEARMAN: (1, "Spearman's correlation"),
}
OWN = (
    "Own hard samples are the first detector's most probable categories, on which it hardly ever fails itself: that "
    "hardly any is in OOD-H (5) follows from this. Give an object detector's results: "
    "--eye-set=existence.hard_samples=FILE.json."
)


@dataclass(frozen=True)
class _ResamplingTest:
    """A statistic of OOD-H, and the values (times,) of the same statistic for resampled hard samples."""

    statistic: float
    baseline: Floats

    @property
    def p(self) -> float:
        """The left-tail p-value."""
        return monte_carlo_p_value(self.statistic, self.baseline)

    @property
    def p_ci(self) -> Interval:
        """The Monte Carlo interval of the p-value."""
        times = len(self.baseline)
        return clopper_pearson(round(self.p * (times + 1)) - 1, times) if not np.isnan(self.p) else Interval(0, 1)


@dataclass(frozen=True)
class _Degradations:
    """The degradations of models: on hard samples and on OOD-H (models,), on resampled hard samples (times, models)."""

    hard: Floats
    ood: Floats
    resampled: Floats

    @property
    def tests(self) -> dict[str, _ResamplingTest]:
        """The tests of the variance of degradations on OOD-H, and of their correlations with those on hard samples."""
        baseline, observed = [correlation(self.hard, row) for row in self.resampled], correlation(self.hard, self.ood)
        variances = self.resampled.var(axis=1, ddof=1)
        return {
            VARIANCE: _ResamplingTest(float(self.ood.var(ddof=1)), variances),
            PEARSON: _ResamplingTest(observed.pearson, np.array([result.pearson for result in baseline])),
            SPEARMAN: _ResamplingTest(observed.spearman, np.array([result.spearman for result in baseline])),
        }


def _correct_counts(case: CaseRun, name: str) -> Ints:
    """Return the numbers of correct answers and of answers to each pair of a set, (m, 2), in the division's order."""
    pairs = case.compute(read_pairs)
    pairs = pairs[pairs["main"] & (pairs["subset"] == name)].sort_values("pair")
    return np.column_stack([pairs["tp"] + pairs["tn"], pairs[CONFUSION].sum(axis=1)]).astype(np.int64)


def accuracy(totals: Ints) -> Floats:
    """Return the accuracy of (correct, answers) counts (..., 2); NaN without answers."""
    with np.errstate(invalid="ignore"):
        return np.asarray(totals[..., 0] / totals[..., 1], np.float64)


def _hard_sample_numbers(case: CaseRun) -> list[int]:
    pairs = case.compute(read_pairs)
    return sorted(pairs.loc[pairs["main"] & (pairs["subset"] == HARD_SAMPLES), "pair"])


def _compute_degradations(page: Page) -> _Degradations:
    """Return the degradations of the models of a page. Raises ReportError if they have different hard samples."""
    first = page.cases[0]
    for case in page.cases:
        if _hard_sample_numbers(case) != _hard_sample_numbers(first):
            raise ReportError(
                f"{case.folder}: the answers to {case.record.case} are not about the same hard samples as those of "
                f"{first.model}, though the division is. Run both again."
            )
    hard = np.stack([_correct_counts(case, HARD_SAMPLES) for case in page.cases])
    start, far = (
        np.array([accuracy(_correct_counts(case, name).sum(axis=0)) for case in page.cases]) for name in (ID, OOD_H)
    )
    totals = np.stack([hard[:, rows].sum(axis=1) for rows in _draw_baseline(hard.shape[1])])
    return _Degradations(start - accuracy(hard.sum(axis=1)), start - far, start - accuracy(totals))


def _draw_baseline(n: int) -> Ints:
    """Return indices (times, size) of resamples of n hard samples.

    The size is 500 without replacement, or n with replacement if n is at most 500. Pairs are resampled, because the
    published test compares sets with the same number of pairs.
    """
    rng = np.random.default_rng(0)
    if n <= SIZE:
        return rng.integers(0, n, (TIMES, n))
    return np.stack([rng.choice(n, SIZE, replace=False) for _ in range(TIMES)])


def _baseline_label(page: Page) -> str:
    """Return the size of the resamples and how they were drawn, such as `500 of 900 hard samples`."""
    n = len(_hard_sample_numbers(page.cases[0]))
    return f"{min(n, SIZE):,} of {n:,} hard samples{', with replacement' if n <= SIZE else ''}"


def _evidence_cells(page: Page) -> pd.DataFrame:
    """Return the five comparisons of the paper."""
    degradations = _compute_degradations(page)
    return pd.DataFrame(
        [
            {"row": 0, EVIDENCE: evidence, STATISTIC: name, "column": column, **cell}
            for evidence, name, cells in (
                *_compare_full_sets(degradations), *_compare_resamples(degradations), *_overlap_shares(page)
            )
            for column, cell in cells.items()
        ]
    )  # fmt: skip


Evidence = tuple[str, str, dict[str, dict[str, Any]]]  # its number, the statistic, and the cell of each column


def number(
    value: float, n: int | None = None, ci: tuple[float, float] = (np.nan, np.nan), style: NumberFormat | None = None
) -> dict[str, Any]:
    """Return the fields of a cell."""
    return {"value": value, "n": n, "low": ci[0], "high": ci[1], "format": style}


def _compare_full_sets(degradations: _Degradations) -> Iterator[Evidence]:
    test, both = f_test(degradations.hard, degradations.ood), correlation(degradations.hard, degradations.ood)
    head = f"F({test.df1}, {test.df2}), variance on hard samples to that on OOD-H"
    yield "1", head, {VALUE: number(test.f, both.n), P: number(test.p)}
    yield "2", PEARSON, {VALUE: number(both.pearson, both.n, both.pearson_ci), P: number(both.pearson_p)}
    yield "2", SPEARMAN, {VALUE: number(both.spearman, both.n, both.spearman_ci), P: number(both.spearman_p)}


def _compare_resamples(degradations: _Degradations) -> Iterator[Evidence]:
    for name, test in degradations.tests.items():
        varies = name == VARIANCE
        evidence, of, style = (
            ("3", "of falls on OOD-H", POINTS) if varies else ("4", "of OOD-H with hard samples", None)
        )
        baseline = number(float(np.median(test.baseline)), ci=percentile_interval(test.baseline, 0.9), style=style)
        cells = {VALUE: number(test.statistic, style=style), BASELINE: baseline, P: number(test.p, ci=test.p_ci)}
        yield evidence, f"{name} {of}", cells


def _overlap_shares(page: Page) -> Iterator[Evidence]:
    """Yield the share of OOD-H pairs that are hard samples, and the share of hard samples that are OOD-H pairs.

    A hard sample is an OOD-H pair if all detectors fail on it, even if the set OOD-H does not list it.
    """
    pair = ["key", "category"]
    pairs = page.cases[0].samples([*pair, "set", "flags"], DIVISION)
    hard = pairs[pairs["set"] == HARD_SAMPLES]
    failed = hard[(hard["flags"] != "") & ~hard["flags"].str.contains("0")]
    sets = {HARD_SAMPLES: hard, OOD_H: pd.concat([pairs[pairs["set"] == OOD_H], failed])}
    sets = {name: part[pair].drop_duplicates().sort_values(pair) for name, part in sets.items()}
    names = {OOD_H: "OOD-H that is hard samples (%)", HARD_SAMPLES: "hard samples that are OOD-H (%)"}
    for (name, label), other in zip(names.items(), (HARD_SAMPLES, OOD_H), strict=True):
        both = sets[name].merge(sets[other], "left", pair, indicator=True)
        share = clustered_share((both["_merge"] == "both").to_numpy(), pd.factorize(both["key"])[0])
        yield "5", label, {VALUE: {**share, "format": PERCENT}}


def _resampling_note(page: Page) -> str:
    n = len(_hard_sample_numbers(page.cases[0]))
    how = "with replacement" if n <= SIZE else "without replacement"
    return f"3 and 4: OOD-H against a baseline of {TIMES:,} times {min(n, SIZE):,} of {n:,} hard samples, {how}."


def _own_note(page: Page) -> Iterator[str]:
    if page.cases[0].option("hard_samples") == "own":
        yield OWN


EVIDENCE_TABLE = TableDefinition(
    name="oodbench-hard-sample-evidence",
    alias="oodbench-F12",
    source=PAPER,
    summary="Whether models fall on OOD-H as they do on hard samples: variance, correlation, resampling and overlap.",
    pages=partial(hard_sample_pages, models=2),
    needs="compares hard samples with pairs out of distribution, in 2 models or more",
    command=f"{COMMAND} --eye-model=A --eye-model=B",
    title="{page}: hard samples against OOD-H",
    cells=_evidence_cells,
    rows=(EVIDENCE, STATISTIC),
    columns=(VALUE, BASELINE, P),
    notes=(
        "1: do falls (ID − set, accuracy) vary more between models on hard samples? One-sided F-test.",
        "2: do the same models fall? Two-sided; brackets: 95 % intervals by Fisher's transformation; n: models.",
        _resampling_note,
        "Baseline: its median and its 5 % and 95 % quantiles; p: of the left tail, with its Monte Carlo interval.",
        "A variance is in squared percentage points.",
        "5: hard samples that are in OOD-H before downsampling; brackets: 95 % intervals, Wilson over images.",
        _own_note,
    ),
    formats={VALUE: COEFFICIENT, BASELINE: COEFFICIENT, P: FRACTION},
)
TABLES = (EVIDENCE_TABLE,)


def _draw_evidence(pages: Sequence[Page]) -> "Figure":
    figure, axes = create_panels([2.8] * len(pages), 3, 11)
    for row, page in zip(axes, pages, strict=True):
        models = count_of(len(page.cases), "model")
        title = f"{fill(one_line(page.title + page.suffix), 44)}, {models}\n{_baseline_label(page)}"
        for ax, (name, test) in zip(row, _compute_degradations(page).tests.items(), strict=True):
            _draw_histogram(ax, name, test)
            ax.set_title(title, fontsize=8)
    return figure


def _draw_histogram(ax: "Axes", name: str, test: _ResamplingTest) -> None:
    """Draw a histogram of resampled hard samples, with OOD-H as a line."""
    scale, label = SCALES[name]
    drawn = scale * test.baseline[~np.isnan(test.baseline)]
    ax.hist(drawn, 30, histtype="stepfilled", color="tab:blue", label="hard samples")
    if not np.isnan(test.statistic):
        ax.axvline(scale * test.statistic, color="red", linestyle="--", label=f"OOD-H, p = {test.p:.4f}")
    ax.set_xlabel(label, fontsize=8)
    ax.set_ylabel("resamples", fontsize=8)
    legend_above(ax)


FIGURES = (
    CustomFigure(
        table=EVIDENCE_TABLE,
        summary="The variance and both correlations of resampled hard samples, with the value of OOD-H.",
        make=_draw_evidence,
    ),
)

"""Compare degradations on OOD-H with those on hard samples: Figure 12 and Section C.1 of arXiv 2602.18094."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from eyechart.errors import ReportError
from eyechart.metrics.intervals import Interval, clopper_pearson
from eyechart.metrics.resampling import percentile_interval
from eyechart.metrics.statistical_tests import Correlation, FTest, correlation, f_test, monte_carlo_p_value
from eyechart.oodbench.division import HARD_SAMPLES, ID, OOD_H

from ..answers import Floats, Ints
from ..render import FRACTION, NumberCell, NumberFormat, Row, Table
from ..runs import ComparableCases, Runs
from .cases import with_unique_titles
from .hard_samples import hard_sample_groups, overlap_rows
from .pages import data_notes
from .pairs import Pairs

TIMES, SIZE = 1000, 500
POINTS = NumberFormat(10_000, 2)  # a variance of fractions in squared percentage points
COEFFICIENT = NumberFormat(1, 2)
VARIANCE, PEARSON, SPEARMAN = "variance", "Pearson", "Spearman"
OWN = (
    "Own hard samples are the first detector's most probable categories, on which it hardly ever fails itself: that "
    "hardly any is in OOD-H (5) follows from this. Give an object detector's results: "
    "--eye-set=existence.hard_samples=FILE.json."
)
BESIDE = "of OOD-H with hard samples"


@dataclass(frozen=True)
class ResamplingTest:
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
class Spread:
    """The degradations of a division's models on hard samples and on OOD-H (models,), and the tests."""

    group: ComparableCases
    hard: Floats
    ood: Floats
    size: int
    with_replacement: bool
    n_samples: int
    tests: Mapping[str, ResamplingTest]

    @property
    def variance_test(self) -> FTest:
        """The F-test of a larger variance on hard samples."""
        return f_test(self.hard, self.ood)

    @property
    def correlations(self) -> Correlation:
        """The correlations between both degradations."""
        return correlation(self.hard, self.ood)

    @property
    def baseline_label(self) -> str:
        """How the baseline was sampled."""
        how = "with replacement" if self.with_replacement else "without replacement"
        return f"{TIMES:,} times {self.size:,} of {self.n_samples:,} hard samples, {how}"


def spreads(pool: Runs) -> list[Spread]:
    """Return the comparison for every division with hard samples and two or more models."""
    return [compute_spread(group) for group in hard_sample_groups(pool, "oodbench-F12", least=2)]


def compute_spread(group: ComparableCases) -> Spread:
    """Return the degradations of one division's models, and the tests against resampled hard samples."""
    pairs = [entry.pairs for entry in group.cases]
    mined = np.stack([correct_counts(case_pairs, HARD_SAMPLES) for case_pairs in check_same_hard_samples(group, pairs)])
    start, far = (
        np.array([accuracy(correct_counts(case_pairs, name).sum(axis=0)) for case_pairs in pairs])
        for name in (ID, OOD_H)
    )
    falls, ood = start - accuracy(mined.sum(axis=1)), start - far
    chosen, replaced = draw_baseline(mined.shape[1])
    totals = np.stack([mined[:, rows].sum(axis=1) for rows in chosen])
    tested = resampling_tests(start - accuracy(totals), falls, ood)
    return Spread(group, falls, ood, chosen.shape[1], replaced, mined.shape[1], tested)


def check_same_hard_samples(group: ComparableCases, pairs: list[Pairs]) -> list[Pairs]:
    """Return the pairs; raise ReportError if the models have different hard samples."""
    wanted = pairs[0].numbers[pairs[0].in_set(HARD_SAMPLES)].tolist()
    for entry, case_pairs in zip(group.cases, pairs, strict=True):
        if case_pairs.numbers[case_pairs.in_set(HARD_SAMPLES)].tolist() != wanted:
            raise ReportError(
                f"{entry.folder}: the answers to {entry.record.case} are not about the same hard samples as those of "
                f"{group.cases[0].model}, though the division is. Run both again."
            )
    return pairs


def correct_counts(pairs: Pairs, name: str) -> Ints:
    """Return the numbers of correct answers and of answers to each pair of a set, (m, 2)."""
    counts = pairs.tables[pairs.in_set(name)]
    return np.column_stack((counts[:, 0] + counts[:, 3], counts.sum(axis=1)))


def accuracy(totals: Ints) -> Floats:
    """Return the accuracy of (correct, answers) counts (..., 2); NaN without answers."""
    with np.errstate(invalid="ignore"):
        return np.asarray(totals[..., 0] / totals[..., 1], np.float64)


def draw_baseline(n: int) -> tuple[Ints, bool]:
    """Return indices (times, size) of resamples of n hard samples, and whether they are drawn with replacement.

    The size is 500 without replacement, or n with replacement if n is at most 500. Pairs are resampled, because the
    published test compares sets with the same number of pairs.
    """
    rng = np.random.default_rng(0)
    if n <= SIZE:
        return rng.integers(0, n, (TIMES, n)), True
    return np.stack([rng.choice(n, SIZE, replace=False) for _ in range(TIMES)]), False


def resampling_tests(baseline: Floats, falls: Floats, ood: Floats) -> dict[str, ResamplingTest]:
    """Return the tests of the variance of OOD-H degradations and of their correlations with those on hard samples.

    `falls` and `ood` (models,) are the degradations on all hard samples and on OOD-H. `baseline` (times, models) are
    the degradations on resampled hard samples.
    """
    resampled, observed = [correlation(falls, row) for row in baseline], correlation(falls, ood)
    return {
        VARIANCE: ResamplingTest(float(ood.var(ddof=1)), baseline.var(axis=1, ddof=1)),
        PEARSON: ResamplingTest(observed.pearson, np.array([result.pearson for result in resampled])),
        SPEARMAN: ResamplingTest(observed.spearman, np.array([result.spearman for result in resampled])),
    }


def f12(pool: Runs, _: str | None) -> list[Table]:
    """Return Figure 12 as a table, with the tests on full sets and the overlap of hard samples with OOD-H."""
    divisions = spreads(pool)
    return with_unique_titles(list(map(spread_table, divisions)), [spread.group.cases for spread in divisions])


def spread_table(spread: Spread) -> Table:
    """Return the table of one division with the five comparisons of the paper."""
    notes = (
        "1: do falls (ID − set, accuracy) vary more between models on hard samples? One-sided F-test.",
        "2: do the same models fall? Two-sided; brackets: 95 % intervals by Fisher's transformation; n: models.",
        f"3 and 4: OOD-H against a baseline of {spread.baseline_label}.",
        "Baseline: its median and its 5 % and 95 % quantiles; p: of the left tail, with its Monte Carlo interval.",
        "A variance is in squared percentage points.",
        "5: hard samples that are in OOD-H before downsampling; brackets: 95 % intervals, Wilson over images.",
    )
    return Table(
        f"{spread.group.title}: hard samples against OOD-H over {len(spread.hard)} models",
        ("Evidence", "Statistic", "Value", "Baseline", "p"),
        (*full_sets(spread), *baselines(spread), *overlap_rows(spread.group.cases[0])),
        (
            *notes,
            *[OWN] * (spread.group.cases[0].option("hard_samples") == "own"),
            *data_notes(spread.group.cases),
        ),
        {"split": spread.group.title, "asked": spread.group.cases[0].prompt_settings},
    )


def full_sets(spread: Spread) -> list[Row]:
    """Return the rows of the F-test and of both correlations."""
    test, both = spread.variance_test, spread.correlations
    head = f"F({test.df1}, {test.df2}), variance on hard samples to that on OOD-H"
    r, rho = coefficient(both.pearson, both.pearson_ci, both.n), coefficient(both.spearman, both.spearman_ci, both.n)
    return [
        ("1", head, NumberCell(test.f, both.n, style=COEFFICIENT), None, NumberCell(test.p, style=FRACTION)),
        ("2", PEARSON, r, None, NumberCell(both.pearson_p, style=FRACTION)),
        ("2", SPEARMAN, rho, None, NumberCell(both.spearman_p, style=FRACTION)),
    ]


def coefficient(value: float, ci: Interval, n: int) -> NumberCell:
    """Return a correlation over n models."""
    return NumberCell(value, n, None if np.isnan(ci.low) else (ci.low, ci.high), style=COEFFICIENT)


def baselines(spread: Spread) -> list[Row]:
    """Return the rows of the three resampling tests."""
    rows: list[Row] = []
    for name, test in spread.tests.items():
        evidence, what, style = ("3", "of falls on OOD-H", POINTS) if name == VARIANCE else ("4", BESIDE, COEFFICIENT)
        low, high = percentile_interval(test.baseline, 0.9)
        baseline = NumberCell(float(np.median(test.baseline)), ci=(low, high), style=style)
        p = NumberCell(test.p, ci=(test.p_ci.low, test.p_ci.high), style=FRACTION)
        rows.append((evidence, f"{name} {what}", NumberCell(test.statistic, style=style), baseline, p))
    return rows

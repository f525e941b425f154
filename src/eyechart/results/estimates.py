"""Estimates: what a metric yields, a value with its interval, its direction and its evidence."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eyechart.results.metric_definitions import direction_of, range_of
from eyechart.results.records import WHOLE, Metric
from eyechart.statistics.clusters import clustered_t_interval, clustered_wilson
from eyechart.statistics.intervals import Interval
from eyechart.statistics.proper_scores import brier_scores

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
ROUNDING = 1e-9  # a sum of shares may leave its range by so much
AS_DEFINED: Any = object()  # until `__post_init__` reads the direction in the metric's definition


@dataclass(frozen=True, eq=False)
class Separation:
    """Scores (samples,) that separate samples of two classes: `positive` (samples,) is 1 for one class, else 0.

    A sample that does not count is NaN in both. Only the order of the scores matters.
    """

    scores: Floats
    positive: Floats


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """One value of a case, with the evidence by which it is compared with another run.

    `value` is None where the metric is not defined; NaN becomes None. It is within its interval, and both are within
    the metric's range (`metric_definitions.range_of`), without errors of rounding. `subset` names the samples that the
    value is computed on, `level` the level of the taxonomy and `prompt` the prompts of a prompt set (see
    `records.Metric`). `title` names the row of the value in the terminal, "" for a value without a row.
    `higher_is_better` is None for a value that the gate does not judge; it is that of the metric's definition
    (`metric_definitions`) unless it is given, as for another tool's.

    `correct` (samples,) has 1 for a correct sample, 0 for a wrong one and NaN for one that does not count: the value is
    its mean, and two runs are compared by McNemar's exact test. `bootstrap` returns the values (`evidence.RESAMPLES`,)
    of resamples of all samples of the case, the same ones in every run with one seed: two runs are compared by the
    paired bootstrap. `scores` (samples,) are log scores, NaN for a sample that does not count: two runs are compared by
    signs of their changes. `separation` is the order of samples of two classes: the value is its AUROC, and two runs
    are compared by DeLong's paired test. A value with none of these is compared by its interval. `n_clusters` is the
    number of independent sampling units (images, observations), None if every sample is one.

    >>> Estimate(name="acc1", value=float("nan"), n=0, interval=Interval(float("nan"), float("nan"))).value
    """

    name: str
    value: float | None
    n: int
    interval: Interval | None = None
    method: str = ""
    labels: str = ""
    subset: str = WHOLE
    level: str = ""
    prompt: str = ""
    title: str = ""
    higher_is_better: bool | None = AS_DEFINED
    correct: Floats | None = field(default=None, repr=False, compare=False)
    bootstrap: Callable[[], Floats] | None = field(default=None, repr=False, compare=False)
    scores: Floats | None = field(default=None, repr=False, compare=False)
    separation: Separation | None = field(default=None, repr=False, compare=False)
    n_clusters: int | None = None
    epochs_interval: Interval | None = None

    def __post_init__(self) -> None:
        if self.higher_is_better is AS_DEFINED:
            object.__setattr__(self, "higher_is_better", direction_of(self.name))
        value = float("nan") if self.value is None else float(self.value)
        no_interval = np.isnan(value) or self.interval is None or bool(np.isnan(self.interval).any())
        ends = None if no_interval or self.interval is None else (float(self.interval.low), float(self.interval.high))
        value, low, high = _keep_in_range(self.name, value, ends)
        object.__setattr__(self, "value", None if np.isnan(value) else value)
        object.__setattr__(self, "interval", None if ends is None else Interval(low, high))
        if self.epochs_interval is not None and not np.isnan(self.epochs_interval).any():
            object.__setattr__(
                self, "epochs_interval", Interval(*_keep_in_range(self.name, value, self.epochs_interval)[1:])
            )

    @classmethod
    def proportion(
        cls, name: str, outcomes: Floats, clusters: Ints | None = None, *, compared: bool = True, **identity: Any
    ) -> "Estimate":
        """Return the proportion of correct samples, with Wilson's interval at their effective number.

        Args:
            name: The name of the metric.
            outcomes: (samples,) of 1, 0 and, for a sample that does not count, NaN.
            clusters: (samples,), the sampling unit of each sample; None if each sample is one.
            compared: Whether two runs are compared by the outcomes.
            identity: Further fields of the estimate, such as its labels, subset and level.

        >>> Estimate.proportion("acc1", np.array([1.0, 0.0, np.nan]), labels="ImGT").value
        0.5
        """
        known = ~np.isnan(outcomes)
        hits, n = int(outcomes[known].sum()), int(known.sum())
        units = np.arange(len(outcomes)) if clusters is None else clusters
        n_clusters = n if clusters is None else len(np.unique(units[known]))
        return cls(
            name=name,
            value=hits / n if n else None,
            n=n,
            n_clusters=None if clusters is None else n_clusters,
            interval=clustered_wilson(outcomes, units) if n else None,
            method="wilson" if n_clusters == n else "clustered wilson",
            correct=outcomes if compared else None,
            **identity,
        )

    @property
    def key(self) -> tuple[str, str, str, str, str]:
        """The name, labels, subset, level and prompt, which identify the estimate within its case."""
        return self.name, self.labels, self.subset, self.level, self.prompt

    @property
    def metric(self) -> Metric:
        """The estimate as a record stores it."""
        return Metric(
            *self.key,
            title=self.title,
            value=self.value,
            n=self.n,
            n_clusters=self.n if self.n_clusters is None else self.n_clusters,
            ci=None if self.interval is None else (self.interval.low, self.interval.high),
            ci_method=self.method,
            epochs_ci=self.epochs_interval and (self.epochs_interval.low, self.epochs_interval.high),
            higher_is_better=self.higher_is_better,
        )


def score_estimates(
    labels: str, scores: Floats, clusters: Ints | None = None, *, subset: str = WHOLE, level: str = ""
) -> Iterator[Estimate]:
    """Yield `log_score` and `target_brier` of log scores (samples,), NaN for a sample that does not count.

    `clusters` (samples,) are the sampling units, None where every sample is one. The intervals are Student's.

    >>> [(one.name, one.value) for one in score_estimates("ImGT", np.array([0.0, np.nan]))]
    [('log_score', 0.0), ('target_brier', 0.0)]
    """
    units = np.arange(len(scores)) if clusters is None else clusters
    known = ~np.isnan(scores)
    n = int(known.sum())
    n_clusters = n if clusters is None else len(np.unique(units[known]))
    for name, values in (("log_score", scores), ("target_brier", brier_scores(scores))):
        yield Estimate(
            name=name,
            labels=labels,
            subset=subset,
            level=level,
            value=float(values[known].mean()) if n else None,
            n=n,
            n_clusters=n_clusters,
            interval=clustered_t_interval(values, units),
            method="student" if n_clusters == n else "clustered student",
            scores=scores,
        )


def _keep_in_range(name: str, value: float, interval: tuple[float, float] | None) -> tuple[float, float, float]:
    """Return a value of a metric and the ends of its interval, within the metric's range and the value within both.

    Rounding is removed from every metric: no share is -1e-16. A metric of another tool may have the name of one of ours
    and another scale: a value beyond the range stays as it is, and so does its interval. Without an interval its ends
    are NaN.

    >>> _keep_in_range("aurc", 0.0, (-2e-16, 0.1)), _keep_in_range("f1", 85.0, (80.0, 90.0))
    ((0.0, 0.0, 0.1), (85.0, 80.0, 90.0))
    """
    value = _without_rounding(value)
    if interval is None:
        return value, float("nan"), float("nan")
    low, high = (_without_rounding(end) for end in interval)
    least, most = range_of(name)
    if least <= value <= most:
        low, high = max(low, least), min(high, most)
    return value, min(low, value), max(high, value)


def _without_rounding(value: float) -> float:
    """Return a number that is beyond -1, 0 or 1 by an error of rounding as this whole number.

    >>> _without_rounding(1.0000000000000007), _without_rounding(-2.2e-16), _without_rounding(0.25)
    (1.0, 0.0, 0.25)
    """
    whole = float(round(value)) if abs(value) < 2 else value
    beyond = value < 0 if whole == 0 else abs(value) > abs(whole)
    return abs(whole) * (1 if whole > 0 else -1 if whole else 0) if beyond and abs(value - whole) <= ROUNDING else value

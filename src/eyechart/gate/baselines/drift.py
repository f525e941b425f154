"""Drift: losses of accepted baselines, each too small to be detected, add up to an alarm.

A baseline file counts the images that its accepted versions lost and gained. Under the hypothesis that no version lost,
a change is as likely a loss as a gain, and the counts have an e-value (`statistics.e_values`). The counts start again
when the e-value is below 1, so that an early gain hides no later loss: the e-detector of Shin, Ramdas and Rinaldo,
"E-detectors", New England Journal of Statistics in Data Science 2 (2024) 229-260, whose mean time to a false alarm is
at least 1/alpha versions.
"""

from collections.abc import Iterable, Sequence
from math import exp, log

import msgspec

from eyechart.gate.comparison.compare_metrics import MetricComparison, compare_metrics, differences
from eyechart.gate.comparison.pooled import pool_changes
from eyechart.messages.plurals import count_of
from eyechart.results.evidence import Evidence
from eyechart.results.shared_samples import share_samples
from eyechart.statistics.e_values import loss_log_e_value


class Drift(msgspec.Struct, frozen=True, kw_only=True):
    """The images that became wrong and correct over the accepted versions of a baseline, since the count began."""

    updates: int = 0
    lost: int = 0
    gained: int = 0

    @property
    def log_e_value(self) -> float:
        """The logarithm of the evidence that the versions lost more than they gained."""
        return float(loss_log_e_value(self.lost, self.gained))

    def add(self, lost: int, gained: int) -> "Drift":
        """Return the counts with one more version; one in which no outcome changed is not counted."""
        if not lost and not gained:
            return self
        total = Drift(updates=self.updates + 1, lost=self.lost + lost, gained=self.gained + gained)
        return total if total.log_e_value >= 0 else NO_DRIFT

    def is_alarm(self, alpha: float) -> bool:
        """Return whether several versions together have lost, at a level."""
        return self.updates > 1 and self.log_e_value >= -log(alpha)

    def __str__(self) -> str:
        counts = f"{count_of(self.lost, 'image')} lost and {self.gained:,} gained"
        return f"{counts} over {count_of(self.updates, 'version')} (e-value {exp(min(self.log_e_value, 700)):.3g})"


NO_DRIFT = Drift()


def count_changes(comparisons: Iterable[MetricComparison]) -> tuple[int, int]:
    """Return how many images lost and gained more than the contrary over the primary proportions of one model."""
    primary = [comparison for comparison in comparisons if comparison.primary and comparison.is_proportion]
    changes = [part.changes for part in pool_changes(primary)]
    lost, gained = (sum(int((sign * images > 0).sum()) for images in changes) for sign in (-1, 1))
    return lost, gained


def add_version(drift: Drift, before: Sequence[Evidence], after: Sequence[Evidence]) -> Drift:
    """Return the counts after the cases of a baseline were replaced; cases that cannot be compared do not count."""
    old = {(evidence.case, evidence.protocol): evidence for evidence in before}
    pairs = [(old[key], now) for now in after if (key := (now.case, now.protocol)) in old]
    shared = (share_samples(*pair)[:2] for pair in pairs)
    comparisons = [metric for pair in shared if not differences(*pair) for metric in compare_metrics(*pair)]
    return drift.add(*count_changes(comparisons))

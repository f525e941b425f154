"""The sequential gate: a case asks about images in random order, in blocks, until its baseline decides."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import log

import msgspec

from eyechart.gate.comparison.compare_metrics import MCNEMAR, MetricComparison, compare_metrics, differences
from eyechart.results.evidence import Evidence
from eyechart.results.shared_samples import share_samples
from eyechart.statistics.e_values import loss_log_e_value, margin_log_e_value

BLOCK, GROWTH = 100, 1.1  # images: the first block, and the growth of what was asked
LOSS, NO_LOSS = "a loss", "no loss of the margin"


def block_sizes(size: int) -> Iterator[int]:
    """Yield how many of `size` images are asked after each block, ascending.

    >>> [*block_sizes(450)]
    [100, 200, 300, 400, 450]
    """
    count = BLOCK
    while count < size:
        yield count
        count = max(count + BLOCK, int(count * GROWTH))
    yield size


@dataclass(frozen=True)
class SequentialTest:
    """Decides after each block of a case whether to stop: its baseline, the level of a loss, and that of the margin.

    `loss_alpha` is the level of one of all cases, `alpha` that of the session.
    """

    baseline: Evidence
    loss_alpha: float
    alpha: float
    margin: float | None

    def decide(self, now: Evidence) -> str:
        """Return what the images show so far: `LOSS`, `NO_LOSS`, or ""."""
        # 1. Only the images that were asked so far are compared, and only if they were asked in the same way.
        before, after, _ = share_samples(self.baseline, now)
        if differences(before, after):
            return ""
        comparison = _primary_comparison(before, after)
        if comparison is None:
            return ""
        # 2. A loss has the smaller level, since every case may claim one. An e-value may be looked at after each block.
        lost, gained = comparison.worse_and_better
        if loss_log_e_value(lost, gained) >= -log(self.loss_alpha):
            return LOSS
        # 3. Without a margin, nothing shows that there is no loss, and the case asks about all images.
        excluded = self.margin and margin_log_e_value(lost, gained, comparison.n, self.margin) >= -log(self.alpha)
        return NO_LOSS if excluded else ""


def _primary_comparison(before: Evidence, after: Evidence) -> MetricComparison | None:
    """Return the comparison of the primary metric; None if there is none, or it is no proportion of single images."""
    plain = (msgspec.structs.replace(side, sequential=msgspec.UNSET) for side in (before, after))
    primary = (comparison for comparison in compare_metrics(*plain) if comparison.primary)
    return next((comparison for comparison in primary if comparison.method == MCNEMAR), None)


def can_be_sequential(baseline: Evidence) -> bool:
    """Return whether the primary metric of a baseline is a proportion, and its images are independent."""
    return _primary_comparison(baseline, baseline) is not None


def level_of_case(alpha: float, cases: int) -> float:
    """Return the level of one of several cases, which keeps that of the session.

    Half of it is left for metrics that are tested in another way.

    >>> level_of_case(0.01, 1), level_of_case(0.01, 5)
    (0.01, 0.001)
    """
    return alpha if cases == 1 else alpha / (2 * cases)


FindTest = Callable[[str, str], SequentialTest | None]  # by case and protocol

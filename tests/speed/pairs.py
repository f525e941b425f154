"""What the statistics of 40,000 answers cost beside a plain loop that shuffles and resamples them."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from eyechart.oodbench.statistics.degradation import degradation
from eyechart.statistics.yes_no import confusion_tables

from .paired import ratio, seconds

PAIRS = 10_000  # a set; two questions each
TIMES = 2000
FEW = 20  # of the peer's shuffles and resamples: one costs as much as another
EXPECTED = np.tile([True, False], (PAIRS, 1))
Answers = NDArray[np.int64]


def facts(pairs: int) -> Iterator[str]:
    """The ratio, and the wall time itself."""
    random = np.random.default_rng(0)
    sets = [np.where(random.random(EXPECTED.shape) < right, EXPECTED, ~EXPECTED).astype(int) for right in (0.9, 0.7)]
    found = ratio(lambda: ours(*sets), lambda: plain(*sets), pairs, TIMES / FEW)
    wall = min(seconds(lambda: ours(*sets)) for _ in range(pairs))
    yield (
        f"five measures of {4 * PAIRS:,} answers with {TIMES:,} permutations and {TIMES:,} resamples: {wall:.2f} s, "
        "{:.0f} ({:.0f}–{:.0f}) times faster than a loop over both".format(*found)
    )


def ours(first: Answers, second: Answers) -> object:
    """Everything, from the answers on."""
    return degradation(confusion_tables(first, EXPECTED), confusion_tables(second, EXPECTED), TIMES)


def plain(first: Answers, second: Answers) -> object:
    """The peer: every permutation and resample made of the answers and counted anew."""
    random, both = np.random.default_rng(0), np.concatenate([first, second])
    found = []
    for _ in range(FEW):
        mixed = random.permutation(both)
        again = [answers[random.integers(0, PAIRS, PAIRS)] for answers in (first, second)]
        found += [(measured(one), measured(other)) for one, other in ((mixed[:PAIRS], mixed[PAIRS:]), again)]
    return found


def measured(answers: Answers) -> tuple[float, ...]:
    """The five measures in numpy."""
    yes = answers == 1
    tp, fp, fn, tn = (int(cell.sum()) for cell in (yes & EXPECTED, yes & ~EXPECTED, ~yes & EXPECTED, ~yes & ~EXPECTED))
    precision, recall = tp / (tp + fp), tp / (tp + fn)
    mcc = (tp * tn - fp * fn) / ((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)) ** 0.5
    return (tp + tn) / (tp + fp + fn + tn), 2 * tp / (2 * tp + fp + fn), precision, recall, mcc


if __name__ == "__main__":
    for line in facts(5):
        print(line, flush=True)

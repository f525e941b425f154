"""Two pieces of work in turn, so that whatever slows the machine slows both."""

from collections.abc import Callable
from contextlib import redirect_stderr
from io import StringIO
from statistics import median
from time import perf_counter

Work = Callable[[], object]


def ratio(
    ours: Work, theirs: Work, pairs: int, times: float = 1, clock: Callable[[], float] = perf_counter
) -> tuple[float, float, float]:
    """Run the two in turn; the median of theirs/ours, and the smallest and largest. `times` is what is left of theirs:
    it is one in so many equal parts of the whole.
    """
    with redirect_stderr(StringIO()):
        found = [seconds(theirs, clock) * times / seconds(ours, clock) for _ in range(pairs)]
    return median(found), min(found), max(found)


def seconds(work: Work, clock: Callable[[], float] = perf_counter) -> float:
    """The time of one run, by the clock of the wall or of the processor."""
    started = clock()
    work()
    return clock() - started

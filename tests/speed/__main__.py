"""How fast the suite is beside its peers: `python -m tests.speed [PAIRS]`, medians of paired runs, ratios only.

Needs `pip install -e '.[speed]'`. Both sides get one model with random weights, the same images and the same names, and
take turns in one process.
"""

import sys
import tempfile
from collections.abc import Callable
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path
from statistics import median
from time import perf_counter

from . import collection, reading, zero_shot


def ratio(ours: Callable[[], object], theirs: Callable[[], object], pairs: int) -> tuple[float, float, float]:
    """Run the two in turn; the median of theirs/ours, and the smallest and largest."""
    with redirect_stderr(StringIO()):
        found = [seconds(theirs) / seconds(ours) for _ in range(pairs)]
    return median(found), min(found), max(found)


def seconds(work: Callable[[], object]) -> float:
    """The wall time of one run."""
    started = perf_counter()
    work()
    return perf_counter() - started


def main(pairs: int) -> None:
    """Measure everything and print a table."""
    with tempfile.TemporaryDirectory() as folder:
        bench = zero_shot.Bench(Path(folder))
        print("| what | beside | median ratio | range |\n|---|---|---|---|")
        for what, beside, ours, theirs in bench.comparisons():
            print(
                f"| {what} | {beside} | {{:.2f}} | {{:.2f}}–{{:.2f}} |".format(*ratio(ours, theirs, pairs)), flush=True
            )
        for line in (*bench.facts(pairs), *collection.facts(pairs), *reading.facts(pairs)):
            print(f"- {line}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)

"""How fast the suite is beside its peers: `python -m tests.speed [PAIRS]`, medians of paired runs, ratios only.

Needs `pip install -e '.[speed,models]'`. Both sides get one model, mostly with random weights, the same images
and the same names, and take turns.
"""

import sys
import tempfile
from itertools import chain
from pathlib import Path

from . import feeding, gate_memory, page, posterior, zero_shot
from .paired import ratio


def main(pairs: int) -> None:
    """Measure everything and print a table."""
    with tempfile.TemporaryDirectory() as folder:
        bench = zero_shot.Bench(Path(folder))
        print("| what | beside | median ratio | range |\n|---|---|---|---|")
        for what, beside, ours, theirs in bench.comparisons():
            print(
                f"| {what} | {beside} | {{:.2f}} | {{:.2f}}–{{:.2f}} |".format(*ratio(ours, theirs, pairs)), flush=True
            )
        others = (measurement.facts(pairs) for measurement in (feeding, gate_memory, posterior, page))
        for line in chain(bench.facts(pairs), *others):
            print(f"- {line}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)

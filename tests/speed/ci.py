"""What `.ci/run` takes: `python -m tests.speed.ci` prints the times of its parts, and which tests take longest.

Measure on a machine that does nothing else. The time of a test is that of its phase on one of two workers, so that it
contains what it waits for the other one.
"""

import re
import resource
import subprocess
from pathlib import Path
from time import perf_counter

ROOT = Path(__file__).resolve().parents[2]
LINES = r"CI:|=+ .*(?:passed|failed)|[\d.]+s (?:call|setup|teardown) |[\d,]+ tests, "


def main() -> None:
    """Print the wall time and CPU seconds of the whole command and of its parts, and the slowest phases of tests."""
    started = perf_counter()
    done = subprocess.run(["bash", ".ci/run"], cwd=ROOT, capture_output=True, text=True, check=False)
    minutes, usage = (perf_counter() - started) / 60, resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f".ci/run: status {done.returncode}, {minutes:.0f} minutes, {usage.ru_utime + usage.ru_stime:.0f} CPU s")
    print(*(line for line in f"{done.stdout}\n{done.stderr}".splitlines() if re.match(LINES, line)), sep="\n")


if __name__ == "__main__":
    main()

"""What `.ci/run` takes and which tests take longest: `python -m tests.speed.ci`.

Measure on a machine that does nothing else. The time of a test is that of its phase on one of two workers, so that it
contains what it waits for the other one.
"""

import os
import re
import resource
import subprocess
from pathlib import Path
from time import perf_counter

ROOT = Path(__file__).resolve().parents[2]
SLOWEST = 20


def main() -> None:
    """Print the wall time and CPU seconds of the whole command, and the slowest phases of tests."""
    environment = os.environ | {"PYTEST_ADDOPTS": f"--durations={SLOWEST} --durations-min=1"}
    started = perf_counter()
    done = subprocess.run(["bash", ".ci/run"], cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    minutes, usage = (perf_counter() - started) / 60, resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f".ci/run: status {done.returncode}, {minutes:.0f} minutes, {usage.ru_utime + usage.ru_stime:.0f} CPU s")
    print(*re.findall(r"^=+ (.*(?:passed|failed).*) =+$", done.stdout, re.MULTILINE), sep="\n")
    print(*re.findall(r"^[\d.]+s (?:call|setup|teardown) .*$", done.stdout, re.MULTILINE), sep="\n")


if __name__ == "__main__":
    main()

"""`eyechart run`: pytest over the packaged benchmarks."""

import os
import subprocess
import sys

import click


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("arguments", metavar="[PYTEST ARGUMENTS]…", nargs=-1, type=click.UNPROCESSED)
def run(arguments: tuple[str, ...]) -> int:
    """Evaluate models on benchmarks with pytest.

    Runs `python -m pytest --pyargs eyechart.benchmarks` with the given arguments, such as -k imagenet/sample
    --eye-model=SPEC --eye-data=ROOT, and ends with the exit status of pytest. `eyechart ls options` lists the options
    of eyechart; `pytest --help` lists all.
    """
    command = [sys.executable, "-m", "pytest", "--pyargs", "eyechart.benchmarks", *arguments]
    if sys.platform != "win32":  # where exec would return to the shell at once
        os.execv(sys.executable, command)  # so that signals reach pytest
    return subprocess.call(command)
